import DocStore
import NIOConcurrencyHelpers
import SyncProtocol

#if TLS
  extension PeerNetwork {
    /// Takes what this peer proves itself with in the connections that are made from now on.
    ///
    /// Where that is a renewed certificate, sessions that run stay until the certificates end with which they were made. They
    /// end now where it is for another key, user or authority.
    public func prove(with credentials: PeerCredentials) {
      replaceCredentials { old in
        defer { old = credentials }
        return old.map { !credentials.isRenewal(of: $0) } ?? false
      }
    }

    /// Forgets what this peer proves itself with: sessions end, and none is begun before there is something else.
    public func proveNothing() {
      replaceCredentials { old in
        old = nil
        return true
      }
    }

    /// Believes peers with these keys no more, whatever their certificates say, for as long as this network is there.
    ///
    /// Their sessions end at once, as when a certificate ends, and no other one begins. Other peers of the application know nothing of it.
    package func revoke(_ keys: Set<PeerKey>) {
      revoked.insert(keys)
      let links = state.withLockedValue { state in state.sessions.values.map(\.driver.link) }
      for link in links { (link as? SecureLink)?.endIfRevoked() }
    }

    /// - Parameter replace: Puts new ones in the place of the old ones, and returns whether sessions end.
    private func replaceCredentials(_ replace: (inout PeerCredentials?) -> Bool) {
      let (drivers, parked) = state.withLockedValue { state in
        let endsSessions = replace(&state.credentials)
        state.credentialsNumber += 1
        // What was told before is signed otherwise, or not at all.
        state.presence.own = nil
        return (endsSessions ? state.sessions.values.map(\.driver) : [], Array(state.parked.values))
      }
      for driver in drivers { driver.close() }
      for latch in parked { latch.signal() }
      candidateWake.signal()
      gatherPresence()
    }
  }
#endif

extension PeerNetwork {
  /// What this peer's neighbours know it by; `nil` where it has yet to prove who it is.
  func discoverySecret(_ state: borrowing NetworkState) -> DiscoverySecret? {
    #if TLS
      if let credentials = state.credentials { return credentials.discoverySecret }
    #endif
    guard !options.requiresProof else { return nil }
    return .unsafeDevelopment(application: setup.configuration.appID)
  }

  /// Who this peer proves to be; `nil` where it proves nothing.
  public var ownIdentity: PeerIdentity? {
    #if TLS
      state.withLockedValue { $0.credentials?.identity }
    #else
      nil
    #endif
  }

  /// Whether this peer must prove who it is and cannot yet, so that it meets nobody.
  public var waitsForCredentials: Bool {
    #if TLS
      options.requiresProof && state.withLockedValue { $0.credentials == nil }
    #else
      options.requiresProof
    #endif
  }

  /// Waits until this peer can prove who it is, where it must; returns early where the task is cancelled.
  func waitForCredentials() async {
    #if TLS
      guard options.requiresProof else { return }
      await park { [state] latch in
        while !Task.isCancelled, state.withLockedValue({ $0.credentials == nil }) { await latch.wait() }
      }
    #endif
  }

  /// The link that a session runs over: one inside whose bytes both ends prove who they are, where this peer has credentials.
  ///
  /// - Returns: `nil` where they must prove that, and this peer cannot.
  func secured(
    _ link: any Link, _ direction: PeerConnection.Direction, _ state: borrowing NetworkState
  ) -> (any Link)? {
    #if TLS
      guard var credentials = state.credentials else { return options.requiresProof ? nil : link }
      credentials.check.revoked = revoked
      let own = SecureLink.Own(
        credentials: credentials, instance: instance, site: setup.store.site, salt: setup.store.siteSalt)
      return SecureLink(over: link, as: own, isDialing: direction == .outgoing)
    #else
      return options.requiresProof ? nil : link
    #endif
  }
}
