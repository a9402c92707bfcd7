import DocStore
import NIOConcurrencyHelpers
import SyncProtocol

#if TLS
  extension PeerNetwork {
    /// Takes what this peer proves itself with in the connections that are made from now on; those that there are stay.
    public func prove(with credentials: PeerCredentials) {
      state.withLockedValue { state in
        state.credentials = credentials
        state.discovery?.credentialsChanged()
      }
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

  /// The link that a session runs over: one inside whose bytes both ends prove who they are, where this peer has credentials.
  ///
  /// - Returns: `nil` where they must prove that, and this peer cannot.
  func secured(
    _ link: any Link, _ direction: PeerConnection.Direction, _ state: borrowing NetworkState
  ) -> (any Link)? {
    #if TLS
      guard let credentials = state.credentials else { return options.requiresProof ? nil : link }
      let own = SecureLink.Own(
        credentials: credentials, instance: instance, site: setup.store.site, salt: setup.store.siteSalt)
      return SecureLink(over: link, as: own, isDialing: direction == .outgoing)
    #else
      return options.requiresProof ? nil : link
    #endif
  }
}
