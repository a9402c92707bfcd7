import DocStore
public import Links
import NIOConcurrencyHelpers
import SyncProtocol

#if TLS
  extension PeerNetwork {
    /// Sets the credentials by which this peer proves itself in later connections.
    ///
    /// If they renew the former ones, running sessions stay until the certificates expire that they were made
    /// with. If they are for another key, user or authority, running sessions end now.
    public func prove(with credentials: PeerCredentials) {
      revocations.trust(credentials)
      replaceCredentials { old in
        defer { old = credentials }
        return old.map { !credentials.isRenewal(of: $0) } ?? false
      }
      // Lists that were stored have an effect only now.
      endRevoked()
    }

    /// Removes this peer's credentials: sessions end, and none begins before there are new ones.
    public func proveNothing() {
      revocations.trust(nil)
      replaceCredentials { old in
        old = nil
        return true
      }
    }

    /// Stops trusting peers with these keys, whatever their certificates say, until this network is released.
    ///
    /// Their sessions end at once, as when a certificate expires, and no new one begins. Other peers of the
    /// application do not learn of it, unless a revocation list names the keys, too.
    package func revoke(_ keys: Set<PeerKey>) {
      revoked.insert(keys)
      endRevoked()
    }

    /// Ends the sessions of peers that are no longer trusted.
    func endRevoked() {
      let links = state.withLockedValue { state in state.sessions.values.map(\.driver.link) }
      for link in links { (link as? any ProvenLink)?.endIfRevoked() }
    }

    /// Replaces the credentials.
    ///
    /// - Parameter replace: Replaces the old ones with new ones, and returns whether sessions end.
    private func replaceCredentials(_ replace: (inout PeerCredentials?) -> Bool) {
      let (drivers, parked) = state.withLockedValue { state in
        let endsSessions = replace(&state.credentials)
        state.credentialsNumber += 1
        // The former presence is signed with another key, or not at all.
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
  /// The secret by which neighbours recognize this peer; `nil` while it lacks required credentials.
  func discoverySecret(_ state: borrowing NetworkState) -> DiscoverySecret? {
    #if TLS
      if let credentials = state.credentials { return credentials.discoverySecret }
    #endif
    guard !options.requiresProof else { return nil }
    return .unsafeDevelopment(application: setup.configuration.appID)
  }

  /// The identity that this peer proves; `nil` if it proves nothing.
  public var ownIdentity: PeerIdentity? {
    #if TLS
      state.withLockedValue { $0.credentials?.identity }
    #else
      nil
    #endif
  }

  /// Whether the certificate by which this peer proves itself has a grant.
  func hasOwnGrant(_ state: borrowing NetworkState) -> Bool {
    #if TLS
      state.credentials?.identity?.grantHash != nil
    #else
      false
    #endif
  }

  /// Whether this peer must prove its identity and cannot yet.
  ///
  /// Then it connects to nobody.
  public var waitsForCredentials: Bool {
    #if TLS
      options.requiresProof && state.withLockedValue { $0.credentials == nil }
    #else
      options.requiresProof
    #endif
  }

  /// Waits until this peer has credentials, if it needs them; returns early when the task is cancelled.
  func waitForCredentials() async {
    #if TLS
      guard options.requiresProof else { return }
      await park { [state] latch in
        while !Task.isCancelled, state.withLockedValue({ $0.credentials == nil }) { await latch.wait() }
      }
    #endif
  }

  /// The link that a session runs over.
  ///
  /// If this peer has credentials, both ends prove their identities inside it.
  ///
  /// - Returns: `nil` when they must prove their identities, and this peer cannot.
  func secured(
    _ link: any Link, _ direction: PeerConnection.Direction, _ state: borrowing NetworkState
  ) -> (any Link)? {
    #if TLS
      guard let credentials = state.credentials else { return options.requiresProof ? nil : link }
      return credentials.secure(
        link, isDialing: direction == .outgoing, instance: instance, site: setup.store.site,
        salt: setup.store.siteSalt, refusing: revoked, keeping: grants)
    #else
      return options.requiresProof ? nil : link
    #endif
  }
}
