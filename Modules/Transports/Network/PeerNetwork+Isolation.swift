import Links
import Logging
import NIOConcurrencyHelpers

/// The warning of a network that can meet nobody.
extension PeerNetwork {
  /// Logs one warning if the network still has no way to meet a peer a moment after its start.
  ///
  /// Addresses and links may be given after the start, so the network waits for them.
  func warnIfIsolated() {
    guard let delay = options.isolationDelay, state.withLockedValue({ $0.isIsolated }) else { return }
    spawn(isTimer: true) { network in
      guard (try? await network.setup.clock.sleep(for: delay)) != nil else { return }
      let warns = network.state.withLockedValue { state in
        guard state.isRunning, state.isIsolated, !state.hasWarnedOfIsolation else { return false }
        state.hasWarnedOfIsolation = true
        return true
      }
      guard warns else { return }
      network.options.logger.warning(
        """
        Sync runs, but this peer cannot meet another one: it listens on no address, connects to none, and \
        does not search the local network. Call listen, connect or updateTransportConfig, or adopt a link
        """)
    }
  }
}

extension NetworkState {
  /// Whether no peer can connect to this one, and it has none to connect to.
  fileprivate var isIsolated: Bool {
    listening.isEmpty && listeners.isEmpty && connecting.isEmpty && discovery == nil && candidates.isEmpty
      && sessions.isEmpty
  }
}
