#if TLS
  import Crypto
  public import Foundation
  import SwiftASN1
  import X509

  /// The certificates and keys by which a peer proves its identity, and the authority that it trusts.
  public struct PeerCredentials: Sendable {
    /// The application that the peer belongs to.
    public let application: String
    /// The certificates that the peer presents, its own first.
    let presented: [[UInt8]]
    /// The private key of the first certificate.
    let secret: [UInt8]
    /// Until when the certificates are valid, in milliseconds since 1970.
    package let validUntil: Int64
    var check: CertificateCheck
    /// The key of the codes by which neighbours of the same application recognize each other.
    private var discoveryKey: SymmetricKey
    /// The identity that others see.
    package let identity: PeerIdentity?
    /// The texts of this peer's grant; `nil` for a certificate that grants everything.
    package let grant: GrantTexts?
    /// The TLS configurations of the two ends of a handshake; all links of the peer share them.
    let dialing: HandshakeContext
    let listening: HandshakeContext

    /// Combines a key with its certificate and the trusted authority.
    ///
    /// - Parameters:
    ///   - key: The peer's key.
    ///   - certificate: Its certificate, which must be for the key.
    ///   - trusted: The application's authority, which must have issued the certificate.
    ///   - now: The time, for tests.
    /// - Throws: `LinkError` with code `credentials` or `expired`, saying what does not fit.
    public init(
      key: DeviceKey, certificate: PeerCertificate, trusted: TrustedAuthority,
      now: @escaping @Sendable () -> Date = { Date() }
    ) throws(LinkError) {
      guard certificate.peerKey == key.peerKey else {
        throw LinkError(
          .credentials,
          "The certificate is for another key than this device's, which is \(key.peerKey); it must be issued for that"
        )
      }
      guard certificate.application == trusted.application else {
        throw LinkError(.credentials, "The certificate and the authority belong to different applications")
      }
      guard (trusted.proof == .sharedKey) == (certificate.proof == .sharedKey) else {
        throw LinkError(.credentials, "The certificate and the authority rest on different kinds of proof")
      }
      guard certificate.grantHash == certificate.grant?.hash else {
        throw LinkError(.credentials, "The certificate has a grant, whose text is missing beside it")
      }
      guard now() <= certificate.validUntil else {
        throw LinkError(
          .expired,
          "This device's certificate was valid until \(certificate.validUntil.timeText), and its clock says \(now().timeText)"
        )
      }
      let presented: [[UInt8]]
      do {
        presented = try certificate.chain.map { certificate in
          var serializer = DER.Serializer()
          try serializer.serialize(certificate)
          return serializer.serializedBytes
        }
      } catch {
        throw LinkError(.credentials, "The certificate cannot be written: \(error)")
      }
      let start = certificate.validFrom
      self.init(
        application: trusted.application, presented: presented, secret: Array(key.key.derRepresentation),
        validUntil: Int64(certificate.validUntil.timeIntervalSince1970 * 1_000),
        check: CertificateCheck(trusted: trusted, now: { max(now(), start) }),
        identity: PeerIdentity(
          key: key.peerKey, proof: certificate.proof, user: certificate.user,
          validUntil: Int64(certificate.validUntil.timeIntervalSince1970 * 1_000),
          information: certificate.information, grantHash: certificate.grantHash,
          isBigPeer: certificate.isBigPeer),
        grant: certificate.grant)
    }

    /// Takes any credentials without checking them.
    init(
      application: String, presented: [[UInt8]], secret: [UInt8], validUntil: Int64, check: CertificateCheck,
      identity: PeerIdentity? = nil, grant: GrantTexts? = nil
    ) {
      self.application = application
      self.presented = presented
      self.secret = secret
      self.validUntil = validUntil
      self.check = check
      discoveryKey = Self.discoveryKey(check.trusted.publicKey)
      self.identity = identity
      self.grant = grant
      dialing = HandshakeContext(presented: presented, privateKey: secret, at: .dialing)
      listening = HandshakeContext(presented: presented, privateKey: secret, at: .listening)
    }

    /// Derives credentials from an application's shared key.
    ///
    /// Everybody who knows the key is a member.
    ///
    /// - Parameters:
    ///   - sharedKey: 32 random bytes.
    ///   - application: The application's id.
    ///   - key: The peer's own key.
    /// - Throws: `LinkError` with code `credentials`.
    public init(sharedKey: [UInt8], application: String, key: DeviceKey) throws(LinkError) {
      let authority = try PeerAuthority(sharedKey: sharedKey, application: application)
      let certificate = try authority.issue(for: key.peerKey, user: nil, validity: PeerAuthority.always)
      try self.init(key: key, certificate: certificate, trusted: authority.trusted)
      // The authority's public key can be computed from a signature; the shared key cannot.
      discoveryKey = Self.discoveryKey(sharedKey + Array(application.utf8))
    }

    private static func discoveryKey(_ secret: [UInt8]) -> SymmetricKey {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: secret), info: Array("dunlin discovery".utf8),
        outputByteCount: 32)
    }

    /// The secret by which neighbours of the same application recognize each other.
    ///
    /// With a shared key it is derived from that key. With certificates it is derived from the authority's
    /// public key, which anyone who has seen one of the application's certificates can know.
    package var discoverySecret: DiscoverySecret {
      DiscoverySecret { [discoveryKey] bytes in
        Array(
          HMAC<SHA256>.authenticationCode(for: bytes, using: discoveryKey).prefix(DiscoverySecret.codeBytes))
      }
    }

    /// The user that the certificate names.
    package var user: String? { identity?.user }

    /// Whether these are renewed credentials: the same key, user, kind and grant of the same authority.
    ///
    /// They may be valid until a later time. Peers judge by the grant that a connection began with.
    package func isRenewal(of other: PeerCredentials) -> Bool {
      secret == other.secret && user == other.user && grant == other.grant
        && identity?.isBigPeer == other.identity?.isBigPeer && check.trusted.isSame(as: other.check.trusted)
    }

    /// Checks the own certificates as another peer would.
    ///
    /// - Throws: `untrusted` or `expired`, saying why another peer would refuse them.
    package func verify() async throws(LinkError) {
      do {
        _ = try await check.examine(presented)
      } catch {
        throw LinkError(error.code, "This device's certificate would not be believed: \(error.why)")
      }
    }

  }
#endif
