#if TLS
  package import CRDTCore
  import Crypto
  public import Foundation
  import SwiftASN1
  import X509

  /// An application's certificate authority with its private key.
  ///
  /// It issues the certificates of peers.
  ///
  /// It is the root authority, or an intermediate one that the root has certified. With an intermediate
  /// authority, the root's key need not be on any server.
  public struct PeerAuthority: Sendable {
    let key: P256.Signing.PrivateKey
    /// The authority that peers trust.
    public let trusted: TrustedAuthority
    /// The certificate of an intermediate authority; `nil` for the authority itself.
    let intermediate: Certificate?

    /// Makes a new authority.
    ///
    /// - Parameters:
    ///   - application: The application's id, 1 to 128 bytes.
    ///   - validity: The time in which the authority may issue certificates.
    /// - Throws: `LinkError` with code `credentials`.
    public init(application: String, validity: Range<Date>) throws(LinkError) {
      try self.init(P256.Signing.PrivateKey(compactRepresentable: false), application, validity)
    }

    /// Derives the authority of an application's shared key.
    ///
    /// Everybody who knows the key is this authority.
    ///
    /// - Parameters:
    ///   - sharedKey: 32 random bytes.
    ///   - application: The application's id. Another id gives another authority, even with the same key.
    /// - Throws: `LinkError` with code `credentials` when the key is invalid.
    public init(sharedKey: [UInt8], application: String) throws(LinkError) {
      guard sharedKey.count == 32 else {
        throw LinkError(.credentials, "A shared key has 32 random bytes, this one \(sharedKey.count)")
      }
      guard Set(sharedKey).count > 8, !sharedKey.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
        throw LinkError(
          .credentials,
          "A shared key has 32 random bytes, and this one looks like a text; make one with dunlin key")
      }
      try self.init(
        Self.derivedKey(sharedKey, application), application, Self.always, proof: .sharedKey)
    }

    private init(
      _ key: P256.Signing.PrivateKey, _ application: String, _ validity: Range<Date>,
      proof: PeerIdentity.Proof = .certificate
    ) throws(LinkError) {
      try Self.check(application, "An application's id")
      self.key = key
      intermediate = nil
      do {
        let name = try Self.name("dunlin")
        let certificate = try Certificate(
          version: .v3, serialNumber: Self.serialNumber(), publicKey: .init(key.publicKey),
          notValidBefore: validity.lowerBound, notValidAfter: validity.upperBound, issuer: name,
          subject: name,
          signatureAlgorithm: .ecdsaWithSHA256,
          extensions: Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 1))
            Critical(KeyUsage(keyCertSign: true))
            try PeerExtension(proof: proof, application: application, user: nil).asExtension()
          },
          issuerPrivateKey: .init(key))
        trusted = try TrustedAuthority(certificate)
      } catch let error as LinkError {
        throw error
      } catch {
        throw LinkError(.credentials, "The authority cannot be made: \(error)")
      }
    }

    private init(_ key: P256.Signing.PrivateKey, _ intermediate: Certificate, below trusted: TrustedAuthority)
    {
      (self.key, self.intermediate, self.trusted) = (key, intermediate, trusted)
    }

    /// Whether this is an intermediate authority, whose certificate another authority has issued.
    public var isIntermediate: Bool { intermediate != nil }

    /// The application that the authority issues certificates for.
    public var application: String { trusted.application }

    /// The start of the time in which this authority and its issuer may issue certificates.
    package var validFrom: Date { max(trusted.certificate.notValidBefore, issuer.notValidBefore) }

    /// The end of the time in which this authority and its issuer may issue certificates.
    public var validUntil: Date { min(trusted.validUntil, issuer.notValidAfter) }

    /// The certificate of the key that signs.
    private var issuer: Certificate { intermediate ?? trusted.certificate }

    /// Makes an intermediate authority with a new key.
    ///
    /// It issues certificates of peers only.
    ///
    /// - Parameter validity: The time in which it may issue certificates, limited to this authority's own
    ///   time.
    /// - Returns: The intermediate authority.
    /// - Throws: `LinkError` with code `credentials`.
    public func makeIntermediate(validity: Range<Date>) throws(LinkError) -> PeerAuthority {
      guard !isIntermediate else {
        throw LinkError(
          .credentials, "An intermediate authority issues certificates of peers, and no further authorities")
      }
      guard trusted.proof != .sharedKey else {
        throw LinkError(.credentials, "The authority of a shared key has no intermediate ones")
      }
      let validity = try cut(validity)
      let key = P256.Signing.PrivateKey(compactRepresentable: false)
      do {
        let statement = PeerExtension(proof: trusted.proof, application: application, user: nil)
        let certificate = try Certificate(
          version: .v3, serialNumber: Self.serialNumber(), publicKey: .init(key.publicKey),
          notValidBefore: validity.lowerBound, notValidAfter: validity.upperBound, issuer: issuer.subject,
          subject: try Self.name("issuer"), signatureAlgorithm: .ecdsaWithSHA256,
          extensions: Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true))
            try statement.asExtension()
          },
          issuerPrivateKey: .init(self.key))
        return PeerAuthority(key, certificate, below: trusted)
      } catch {
        throw LinkError(.credentials, "The intermediate authority cannot be made: \(error)")
      }
    }

    /// Issues a peer's certificate.
    ///
    /// - Parameters:
    ///   - peerKey: The peer's key.
    ///   - user: The user that the peer acts for, 1 to 128 bytes without control characters and invisible
    ///     ones; `nil` for none.
    ///   - isBigPeer: Whether the peer is a big one. Other peers refuse a peer that says otherwise of itself.
    ///   - validity: The time in which the certificate is valid. An intermediate authority limits it to its
    ///     own time.
    /// - Returns: The certificate, and that of the intermediate authority.
    /// - Throws: `LinkError` with code `credentials`.
    public func issue(
      for peerKey: PeerKey, user: String?, isBigPeer: Bool = false, validity: Range<Date>
    ) throws(LinkError) -> PeerCertificate {
      try issue(for: peerKey, user: user, isBigPeer: isBigPeer, validity: validity, proof: trusted.proof)
    }

    /// Issues a peer's certificate with its kind of proof, the information that all other peers see, and what
    /// it grants; without a grant, everything.
    package func issue(
      for peerKey: PeerKey, user: String?, isBigPeer: Bool = false, validity: Range<Date>,
      proof: PeerIdentity.Proof, information: [TextKey: Value] = [:], grant: GrantTexts? = nil
    ) throws(LinkError) -> PeerCertificate {
      if let user {
        try Self.check(user, "A user")
        guard PlainText.isVisible(user) else {
          throw LinkError(.credentials, "A user has no control characters and no invisible ones")
        }
      }
      let validity = isIntermediate ? try cut(validity) : validity
      do {
        let statement = PeerExtension(
          proof: proof, application: trusted.application, user: user, grant: grant?.hash)
        let information = try PeerInformation.asExtension(information)
        let certificate = try Certificate(
          version: .v3, serialNumber: Self.serialNumber(),
          publicKey: .init(try P256.Signing.PublicKey(compressedRepresentation: peerKey.bytes)),
          notValidBefore: validity.lowerBound, notValidAfter: validity.upperBound,
          issuer: issuer.subject, subject: try Self.name("peer"),
          signatureAlgorithm: .ecdsaWithSHA256,
          extensions: Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try BigPeerPurpose.purposes(isBigPeer: isBigPeer)
            try statement.asExtension()
            if let information { information }
          },
          issuerPrivateKey: .init(key))
        return try PeerCertificate([certificate] + [intermediate].compactMap(\.self), grant: grant)
      } catch let error as LinkError {
        throw error
      } catch {
        throw LinkError(.credentials, "The certificate cannot be issued: \(error)")
      }
    }

    /// Limits a validity to the authority's own time.
    ///
    /// No certificate outlives the authority that issued it.
    private func cut(_ validity: Range<Date>) throws(LinkError) -> Range<Date> {
      let (start, end) = (max(validity.lowerBound, validFrom), min(validity.upperBound, validUntil))
      guard start < end else {
        throw LinkError(
          .credentials,
          "The authority is valid from \(validFrom.timeText) until \(validUntil.timeText), and not in the time for which it is to issue"
        )
      }
      return start..<end
    }

    /// Reads the key and certificates in their text form.
    ///
    /// For an intermediate authority the text has its own certificate first, and then its parent's.
    ///
    /// - Throws: `LinkError` with code `credentials`, saying what is wrong.
    public init(pem: String) throws(LinkError) {
      let certificates: [Certificate]
      do {
        let parts = try PEMDocument.parseMultiple(pemString: pem)
        guard let secret = parts.first(where: { $0.discriminator.hasSuffix("PRIVATE KEY") }) else {
          throw LinkError(.credentials, "An authority's file has a private key and a certificate")
        }
        key = try P256.Signing.PrivateKey(pemRepresentation: secret.pemString)
        certificates = try parts.filter { $0.discriminator == "CERTIFICATE" }.map {
          try Certificate(pemDocument: $0)
        }
      } catch let error as LinkError {
        throw error
      } catch {
        throw LinkError(.credentials, "The authority cannot be read: \(error)")
      }
      guard let own = certificates.first, let root = certificates.last, certificates.count <= 2 else {
        throw LinkError(
          .credentials,
          "An authority's file has a private key and a certificate, and where that is an intermediate one, its parent's; this one has \(certificates.count)"
        )
      }
      trusted = try TrustedAuthority(root)
      intermediate = certificates.count == 2 ? own : nil
      guard Certificate.PublicKey(key.publicKey) == own.publicKey else {
        throw LinkError(.credentials, "The authority's private key is not that of its certificate")
      }
      if let intermediate { try Self.check(intermediate, below: trusted) }
    }

    /// Checks what a file says of an intermediate authority.
    ///
    /// Peers decide whether they trust its certificates.
    private static func check(_ intermediate: Certificate, below trusted: TrustedAuthority) throws(LinkError)
    {
      guard intermediate.issuer == trusted.certificate.subject,
        trusted.certificate.publicKey.isValidSignature(intermediate.signature, for: intermediate)
      else {
        throw LinkError(
          .credentials, "The intermediate authority's certificate was not issued by the parent beside it")
      }
      guard let statement = try? PeerExtension(intermediate), statement.application == trusted.application
      else {
        throw LinkError(
          .credentials, "The intermediate authority's certificate is not for \(trusted.application)")
      }
      guard case .isCertificateAuthority(.some)? = try? intermediate.extensions.basicConstraints else {
        throw LinkError(.credentials, "The intermediate authority's certificate may not issue others")
      }
    }

    /// The key and certificates in text form, which is secret.
    public var pem: String {
      get throws(LinkError) {
        let own = try intermediate.map { certificate throws(LinkError) in
          try TrustedAuthority.pem(of: certificate)
        }
        return key.pemRepresentation + "\n" + (own ?? "") + (try trusted.pem)
      }
    }

    /// A validity that never ends.
    static let always = Date(timeIntervalSince1970: 0)..<Date(timeIntervalSince1970: 253_402_300_799)

    /// 71 random bits, fewer than usual.
    ///
    /// Each byte of a certificate is sent over the line up to four times.
    private static func serialNumber() -> Certificate.SerialNumber {
      Certificate.SerialNumber(
        bytes: [UInt8.random(in: 1...0x7F)] + (0..<8).map { _ in UInt8.random(in: 0...255) })
    }

    /// A short name without meaning for an authority or a peer; a slow line pays for each byte.
    static func name(_ text: String) throws -> DistinguishedName {
      try DistinguishedName { CommonName(text) }
    }

    private static func check(_ text: String, _ what: String) throws(LinkError) {
      guard 1...PeerExtension.textBytes ~= text.utf8.count else {
        throw LinkError(
          .credentials, "\(what) has 1 to \(PeerExtension.textBytes) bytes, this one \(text.utf8.count)")
      }
    }

    /// A private key that is derived from the shared key.
    ///
    /// Candidates are tried until one is below the order of the curve. All but one of 2³² are.
    private static func derivedKey(_ sharedKey: [UInt8], _ application: String) throws(LinkError)
      -> P256.Signing.PrivateKey
    {
      let secret = SymmetricKey(data: sharedKey)
      for attempt in 0..<8 {
        let bytes = HKDF<SHA256>.deriveKey(
          inputKeyMaterial: secret, salt: Array("dunlin shared key".utf8),
          info: [UInt8(attempt)] + Array(application.utf8), outputByteCount: 32)
        if let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) { return key }
      }
      throw LinkError(.credentials, "No key follows from this shared key; make another one")
    }
  }

  /// An application's authority as its peers know it, without its private key.
  public struct TrustedAuthority: Sendable {
    let certificate: Certificate
    private let statement: PeerExtension

    init(_ certificate: Certificate) throws(LinkError) {
      let statement: PeerExtension?
      do {
        statement = try PeerExtension(certificate)
      } catch {
        throw LinkError(.credentials, "What the authority's certificate says cannot be read: \(error)")
      }
      guard let statement else {
        throw LinkError(.credentials, "The certificate is not that of an application's authority")
      }
      guard certificate.issuer == certificate.subject else {
        throw LinkError(
          .credentials,
          "The certificate is not that of an application's authority: another one has issued it, whose certificate is needed"
        )
      }
      self.certificate = certificate
      self.statement = statement
    }

    /// Reads the certificate in its text form.
    ///
    /// - Throws: `LinkError` with code `credentials`, saying what is wrong.
    public init(pem: String) throws(LinkError) {
      do {
        try self.init(Certificate(pemEncoded: pem))
      } catch let error as LinkError {
        throw error
      } catch {
        throw LinkError(.credentials, "The authority's certificate cannot be read: \(error)")
      }
    }

    /// The certificate in its text form.
    public var pem: String { get throws(LinkError) { try Self.pem(of: certificate) } }

    fileprivate static func pem(of certificate: Certificate) throws(LinkError) -> String {
      do {
        return try certificate.serializeAsPEM().pemString + "\n"
      } catch {
        throw LinkError(.credentials, "The authority's certificate cannot be written: \(error)")
      }
    }

    /// The application that the authority issues certificates for.
    public var application: String { statement.application }
    /// The kind of proof that its certificates are based on.
    public var proof: PeerIdentity.Proof { statement.proof }
    /// Until when the authority may issue certificates.
    public var validUntil: Date { certificate.notValidAfter }
    /// The key that verifies its signatures.
    var publicKey: [UInt8] { Array(certificate.publicKey.subjectPublicKeyInfoBytes) }

    /// Whether `other` is the same authority: the same key for the same application.
    ///
    /// The certificate may have been renewed.
    package func isSame(as other: TrustedAuthority) -> Bool {
      certificate.publicKey == other.certificate.publicKey && statement == other.statement
    }

    /// Whether this is a later certificate of the same authority, which renewed it itself.
    func isRenewal(of other: TrustedAuthority) -> Bool {
      isSame(as: other) && validUntil > other.validUntil
        && certificate.publicKey.isValidSignature(certificate.signature, for: certificate)
    }
  }
#endif
