import ScopePolicy
import Transports

/// The part of an open database that syncs: its network, and what may leave it.
final class PeerSync: Sendable {
  let network: PeerNetwork
  let scopes: SyncScopes
  private let state: OpenState
  #if TLS
    /// Proves this peer's identity; `nil` with the development identity.
    let identity: IdentityKeeper?
  #endif

  #if TLS
    init(_ network: PeerNetwork, _ scopes: SyncScopes, _ state: OpenState, _ identity: IdentityKeeper?) {
      (self.network, self.scopes, self.state, self.identity) = (network, scopes, state, identity)
    }
  #else
    init(_ network: PeerNetwork, _ scopes: SyncScopes, _ state: OpenState) {
      (self.network, self.scopes, self.state) = (network, scopes, state)
    }
  #endif

  var isOpen: Bool { state.isOpen }

  var isActive: Bool { state.isSyncing }

  /// The number of the sync start that is in effect.
  ///
  /// - Throws: `closed`; `notSyncing` while it does not run.
  func currentRun() throws(DunlinError) -> UInt64 { try state.currentRun() }

  /// Starts to listen, to connect and to sync; has no effect while sync runs.
  ///
  /// - Throws: `closed`, `identity`; why the peer cannot listen on an address.
  func start() throws {
    let mustStart = try state.beginRun { () throws(DunlinError) in
      #if TLS
        try identity?.check()
      #endif
    }
    guard mustStart else { return }
    do {
      try network.start()
    } catch {
      state.endRun()
      throw DunlinError(error)
    }
    #if TLS
      identity?.syncBegins()
    #endif
    // The database may have been closed in between; sync would then go on running.
    guard isOpen else {
      stop()
      throw DunlinError(.closed, "the database is closed")
    }
  }

  func stop() {
    state.endRun()
    network.requestStop()
  }
}
