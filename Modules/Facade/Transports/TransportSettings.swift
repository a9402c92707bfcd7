import Synchronization
import Transports

/// Applies the latest transport configuration to the network.
final class TransportSettings: Sendable {
  private struct State {
    var config = DunlinTransportConfig()
    var plan = TransportPlan()
    var updates = 0
  }

  private let network: PeerNetwork
  private let state = Mutex(State())

  init(_ network: PeerNetwork) { self.network = network }

  var config: DunlinTransportConfig { state.withLock { $0.config } }

  /// Changes the configuration; connections that both configurations have go on undisturbed.
  ///
  /// - Throws: The mistake in the configuration, or why the network cannot listen on an address; then nothing
  ///   has changed.
  func update(_ change: (inout DunlinTransportConfig) throws -> Void) throws {
    while true {
      var (config, updates) = state.withLock { ($0.config, $0.updates) }
      // Outside the lock, so that `change` may read the current configuration.
      try change(&config)
      let plan = try TransportPlan(config)
      let isDone = try state.withLock { state in
        guard state.updates == updates else { return false }
        try apply(plan, after: state.plan)
        state = State(config: config, plan: plan, updates: updates + 1)
        return true
      }
      if isDone { return }
    }
  }

  private func apply(_ plan: TransportPlan, after old: TransportPlan) throws(DunlinError) {
    try listen(plan.listening, after: old.listening)
    do {
      try discover(plan.discoveredGroup, after: old.discoveredGroup)
    } catch {
      // Restores the old listeners, except for a port that another program has taken meanwhile.
      try? listen(old.listening, after: plan.listening)
      throw error
    }
    for address in old.dialing.subtracting(plan.dialing) { network.disconnect(address, for: .configuration) }
    network.longestDelay = plan.longestDelay
    for address in plan.dialing.subtracting(old.dialing) { network.connect(address, for: .configuration) }
  }

  /// Discovers nearby members of the new group instead of the old one, or stops discovery.
  private func discover(_ new: UInt32?, after old: UInt32?) throws(DunlinError) {
    guard new != old else {
      // The port that was announced to neighbours may have been closed.
      do { try network.renewDiscovery() } catch { throw DunlinError(error) }
      return
    }
    guard let new else { return network.stopDiscovering() }
    do throws(LinkError) {
      try network.discover(group: new)
    } catch {
      if let old { try? network.discover(group: old) }
      throw DunlinError(error)
    }
  }

  /// Listens on the new addresses instead of the old ones; if that fails, goes on with the old ones.
  private func listen(
    _ new: Set<ListeningAddress>, after old: Set<ListeningAddress>
  ) throws(DunlinError) {
    // First, so that its port is free for another carrier or interface.
    let closed = old.subtracting(new)
    for address in closed { network.stopListening(on: address) }
    var opened: [ListeningAddress] = []
    do throws(LinkError) {
      for address in new.subtracting(old) {
        try network.listen(on: address)
        opened.append(address)
      }
    } catch {
      for address in opened { network.stopListening(on: address) }
      for address in closed {
        // The port was free a moment ago; if another program has taken it, the error below reports that.
        _ = try? network.listen(on: address)
      }
      throw DunlinError(error)
    }
  }
}
