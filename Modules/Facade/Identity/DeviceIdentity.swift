#if TLS
  import CRDTCore
  import DocStore
  import Synchronization
  import Transports

  /// What a database proves itself with: its device key, and what follows from its identity.
  final class DeviceIdentity: Sendable {
    private let identity: DunlinIdentity
    private let keys: any DunlinKeyStore
    private let known = Mutex<DeviceKey?>(nil)

    /// - Returns: `nil` for an identity that proves nothing.
    init?(_ identity: DunlinIdentity, keys: any DunlinKeyStore) {
      if case .none = identity.proof { return nil }
      self.identity = identity
      self.keys = keys
    }

    /// The device's key, which is made when it is needed for the first time.
    func key() throws -> DeviceKey {
      try known.withLock { known in
        if let known { return known }
        if let bytes = try keys.loadKey() {
          let key = try DeviceKey(bytes: bytes)
          known = key
          return key
        }
        return try Self.make(&known, keys)
      }
    }

    private static func make(_ known: inout DeviceKey?, _ keys: any DunlinKeyStore) throws -> DeviceKey {
      let key = DeviceKey()
      try keys.saveKey(key.bytes)
      known = key
      return key
    }

    /// The site of a store that was just made, or that becomes another one for a reason; a store that is a copy takes a key
    /// of its own.
    func site(salt: SiteSalt, for reason: IdentityChange.Reason?) throws(StoreError) -> SiteID {
      do {
        if reason == .copied || reason == .cloned && isFree {
          return try known.withLock { try Self.make(&$0, keys) }.peerKey.site(salt: salt)
        }
        return try key().peerKey.site(salt: salt)
      } catch let error as StoreError {
        throw error
      } catch {
        throw StoreError(.io, "The device's key could not be had: \(error)", operation: "open")
      }
    }

    /// Whether the device may take another key by itself: a certificate is for one.
    private var isFree: Bool { if case .sharedKey = identity.proof { true } else { false } }

    /// Sees to it that the store's site follows from the device's key.
    func claimSite(of store: Store) throws {
      guard try key().peerKey.site(salt: store.siteSalt) != store.site else { return }
      try store.renewSite(.key)
    }

    /// What the peer proves itself with.
    ///
    /// - Throws: `identity`, saying what is wrong with key or certificate.
    func credentials() throws -> PeerCredentials {
      let key = try key()
      switch identity.proof {
      case .none: throw DunlinError(.identity, "the development identity proves nothing")
      case .sharedKey(let sharedKey):
        return try PeerCredentials(sharedKey: sharedKey.bytes, application: identity.appID, key: key)
      case .certificate(let authority, let certificate):
        let credentials = try PeerCredentials(
          key: key, certificate: PeerCertificate(pem: certificate), trusted: TrustedAuthority(pem: authority))
        guard credentials.application == identity.appID else {
          throw DunlinError(
            .identity,
            "the certificate is for the application \(credentials.application), and not for \(identity.appID)"
          )
        }
        return credentials
      }
    }
  }
#endif
