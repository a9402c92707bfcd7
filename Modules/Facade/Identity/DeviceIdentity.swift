#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import Synchronization
  import Transports

  /// What a database proves itself with: its device key, and what follows from its identity.
  final class DeviceIdentity: Sendable {
    private let application: String
    private let proof: Mutex<DunlinIdentity.Proof>
    private let keys: any DunlinKeyStore
    /// The time that certificates are judged by.
    private let clock: @Sendable () -> Date
    private let known = Mutex<DeviceKey?>(nil)

    /// - Returns: `nil` for an identity that proves nothing.
    init?(
      _ identity: DunlinIdentity, keys: any DunlinKeyStore, clock: @escaping @Sendable () -> Date
    ) {
      if case .none = identity.proof { return nil }
      application = identity.appID
      proof = Mutex(identity.proof)
      self.keys = keys
      self.clock = clock
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
    /// of its own where that costs nothing.
    func site(salt: SiteSalt, for reason: IdentityChange.Reason?) throws(StoreError) -> SiteID {
      do {
        if reason == .copied || reason == .cloned, isFree {
          return try known.withLock { try Self.make(&$0, keys) }.peerKey.site(salt: salt)
        }
        return try key().peerKey.site(salt: salt)
      } catch let error as StoreError {
        throw error
      } catch {
        throw StoreError(.io, "The device's key could not be had: \(error)", operation: "open")
      }
    }

    /// Whether the device may take another key unasked: with a shared key it costs nothing.
    ///
    /// A certificate is for one key. Neither what a peer says nor a file system that counts its files anew must cost a device its login.
    private var isFree: Bool {
      switch proof.withLock({ $0 }) {
      case .none, .sharedKey: true
      case .certificate, .online: false
      }
    }

    /// Sees to it that the store's site follows from the device's key.
    func claimSite(of store: Store) throws {
      guard try key().peerKey.site(salt: store.siteSalt) != store.site else { return }
      try store.renewSite(.key)
    }

    /// What the peer proves itself with, where that does not come from logins.
    ///
    /// - Throws: `identity`, saying what is wrong with key or certificate.
    func credentials() throws -> PeerCredentials { try credentials(proof.withLock { $0 }) }

    private func credentials(_ proof: DunlinIdentity.Proof) throws -> PeerCredentials {
      let key = try key()
      switch proof {
      case .none, .online: throw DunlinError(.identity, "there is nothing that proves who this peer is")
      case .sharedKey(let sharedKey):
        return try PeerCredentials(sharedKey: sharedKey.bytes, application: application, key: key)
      case .certificate(let authority, let certificate):
        let credentials = try PeerCredentials(
          key: key, certificate: PeerCertificate(pem: certificate), trusted: TrustedAuthority(pem: authority),
          now: clock)
        guard credentials.application == application else {
          throw DunlinError(
            .identity,
            "the certificate is for the application \(credentials.application), and not for \(application)"
          )
        }
        return credentials
      }
    }

    /// Takes a renewed certificate, once it is found to be right.
    ///
    /// - Parameters:
    ///   - identity: The certificate.
    ///   - taken: Hears what the peer proves itself with from now on, in the order in which that is decided.
    /// - Throws: `argument` when it is not a certificate of the same application; `identity`, saying what is wrong with it.
    func replace(by identity: DunlinIdentity, taken: (PeerCredentials) -> Void) async throws {
      guard case .certificate = identity.proof, case .certificate = proof.withLock({ $0 }) else {
        throw DunlinError(
          .argument,
          "an open database takes another certificate in place of its certificate, and nothing else")
      }
      guard identity.appID == application else {
        throw DunlinError(
          .argument,
          "the identity is for the application \(identity.appID), and the database for \(application)")
      }
      let credentials = try credentials(identity.proof)
      try await credentials.verify()
      proof.withLock { proof in
        proof = identity.proof
        taken(credentials)
      }
    }
  }
#endif
