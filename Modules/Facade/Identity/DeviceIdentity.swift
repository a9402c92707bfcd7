#if TLS
  import CRDTCore
  import DocStore
  import Foundation
  import Links
  import SyncProtocol
  import Synchronization

  /// The identity that a database proves: its device key, and its shared key or certificate.
  final class DeviceIdentity: Sendable {
    private let application: String
    /// Whether the peer is configured as a big one, as its certificate must say.
    let isBigPeer: Bool
    private let proof: Mutex<DunlinIdentity.Proof>
    private let keys: any DunlinKeyStore
    /// The time source for the validity of certificates.
    private let clock: @Sendable () -> Date
    private let known = Mutex<DeviceKey?>(nil)

    /// - Returns: `nil` for an identity that proves nothing.
    init?(
      _ identity: DunlinIdentity, _ kind: PeerKind, keys: any DunlinKeyStore,
      clock: @escaping @Sendable () -> Date
    ) {
      if case .none = identity.proof { return nil }
      application = identity.appID
      isBigPeer = kind == .big
      proof = Mutex(identity.proof)
      self.keys = keys
      self.clock = clock
    }

    /// The device's key; it is created when it is first needed.
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

    /// The site of a new store, or of one that becomes another site for a reason.
    ///
    /// A copied store gets a key of its own if that costs nothing.
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

    /// Makes the sites of a store follow from the device's key.
    func giveSites(to options: inout StoreOptions) {
      options.siteOfSalt = { (salt, reason) throws(StoreError) in try self.site(salt: salt, for: reason) }
    }

    /// Whether the device may replace its key unasked: with a shared key this costs nothing.
    ///
    /// A certificate is for one key. A peer's message must not cost a device its login, and neither must a
    /// file system that renumbers its files.
    private var isFree: Bool {
      switch proof.withLock({ $0 }) {
      case .none, .sharedKey: true
      case .certificate, .online: false
      }
    }

    /// Makes the store's site follow from the device's key.
    func claimSite(of store: Store) throws {
      guard try key().peerKey.site(salt: store.siteSalt) != store.site else { return }
      try store.renewSite(.key)
    }

    /// The credentials with which the peer proves its identity, unless they come from logins.
    ///
    /// - Throws: `identity`, with what is wrong with the key or the certificate.
    func credentials() throws -> PeerCredentials { try credentials(proof.withLock { $0 }) }

    private func credentials(_ proof: DunlinIdentity.Proof) throws -> PeerCredentials {
      let key = try key()
      switch proof {
      case .none, .online: throw DunlinError(.identity, "there is nothing that proves who this peer is")
      case .sharedKey(let sharedKey):
        return try PeerCredentials(sharedKey: sharedKey.bytes, application: application, key: key)
      case .certificate(let authority, let text):
        let certificate = try PeerCertificate(pem: text)
        let credentials = try PeerCredentials(
          key: key, certificate: certificate, trusted: TrustedAuthority(pem: authority), now: clock)
        guard credentials.application == application else {
          throw DunlinError(
            .identity,
            "the certificate is for the application \(credentials.application), and not for \(application)"
          )
        }
        try certificate.checkKind(isBigPeer: isBigPeer)
        return credentials
      }
    }

    /// Replaces the certificate by a renewed one, once that is verified.
    ///
    /// - Parameters:
    ///   - identity: The certificate.
    ///   - taken: Called with the new credentials, in the order in which certificates are replaced.
    /// - Throws: `argument` when the identity is not a certificate of the same application; `identity`, with
    ///   what is wrong with it.
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
