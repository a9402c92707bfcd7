import Synchronization
import Transports

/// Keeps the network to the transport configuration that was set last.
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

  /// Changes the configuration; what stays the same goes on undisturbed.
  ///
  /// - Throws: What is wrong with it, or why an address cannot be listened on; then all is as it was.
  func update(_ change: (inout DunlinTransportConfig) throws -> Void) throws {
    while true {
      var (config, updates) = state.withLock { ($0.config, $0.updates) }
      // Outside the lock, so that it may look at the configuration that there is.
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
      // All is as it was, but for what somebody else has taken meanwhile.
      try? listen(old.listening, after: plan.listening)
      throw error
    }
    for address in old.dialing.subtracting(plan.dialing) { network.disconnect(address, for: .configuration) }
    network.longestDelay = plan.longestDelay
    for address in plan.dialing.subtracting(old.dialing) { network.connect(address, for: .configuration) }
  }

  /// Finds the members of a new group near by in place of the old one's, or nobody.
  private func discover(_ new: UInt32?, after old: UInt32?) throws(DunlinError) {
    guard new != old else {
      // The port that neighbours were told of may have been closed.
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

  /// Listens on the new addresses in place of the old ones, or goes on with these.
  private func listen(
    _ new: Set<ListeningAddress>, after old: Set<ListeningAddress>
  ) throws(DunlinError) {
    // First, so that a port is free for another carrier or interface.
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
        // It was free a moment ago; whoever has taken it is told of by the error below.
        _ = try? network.listen(on: address)
      }
      throw DunlinError(error)
    }
  }
}

extension Dunlin {
  /// How this peer meets others, as it was set last.
  public var transportConfig: DunlinTransportConfig { core.transports.config }

  /// Changes how this peer meets others: at once while sync runs, else from `startSync()` on.
  ///
  /// Connections that the new configuration has too go on undisturbed.
  /// - Parameter change: Changes a copy of the configuration, again if another update comes between; when it throws, nothing happens.
  /// - Throws: `argument`, `unreachable` with what is wrong; `unsupported` for what this system cannot do; `portInUse`, `permission`
  ///   or `io` for an address that cannot be listened on; `closed`. Then all is as it was.
  public func updateTransportConfig(_ change: (inout DunlinTransportConfig) throws -> Void) throws {
    guard core.isOpen else { throw DunlinError(.closed, "the database is closed") }
    try core.transports.update(change)
  }

  /// Replaces how this peer meets others, as `updateTransportConfig` changes it.
  public func setTransportConfig(_ config: DunlinTransportConfig) throws {
    try updateTransportConfig { $0 = config }
  }
}
