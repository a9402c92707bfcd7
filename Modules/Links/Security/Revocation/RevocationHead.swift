#if TLS
  package import CRDTCore
  import Crypto
  import SwiftASN1
  import X509

  /// The signed head of a revocation list: it names the issuer and the list's segments.
  ///
  /// A head says how many entries there are and what each segment's hash is. So whoever has verified a head
  /// can take the segments from anybody.
  ///
  /// Two heads are equal if they say the same, whatever their signatures are.
  package struct RevocationHead: Hashable, Sendable {
    static let version: UInt8 = 1
    /// The most segments of a list, and the most entries.
    package static let segmentLimit = 100
    package static let entryLimit = segmentLimit * RevocationSegment.entryLimit
    /// The most bytes of a head.
    package static let byteLimit = 8 << 10
    private static let signatureBytes = 64
    private static let hashBytes = 32
    /// The beginning of the signed bytes, so that a signature cannot be used for another purpose.
    private static let purpose = "dunlin revocations 1"

    /// The encoded head.
    package let bytes: [UInt8]
    /// The authority that has issued the list.
    package let issuer: AuthorityHash
    /// The number of the head, which rises with each later one of the issuer.
    package let number: UInt64
    /// The number of entries in all segments.
    package let count: Int
    /// The hashes of the segments in their order.
    let segments: [[UInt8]]
    /// Distinguishes heads of one issuer with the same number.
    ///
    /// It covers what the head says: anybody can change a signature so that it is still right.
    let digest: [UInt8]
    /// The certificate of an intermediate authority; `nil` for the application's authority itself.
    private let intermediate: Certificate?
    private let content: [UInt8]
    private let signature: [UInt8]

    /// The bytes of the digest by which peers name a head to each other.
    static let shortDigestBytes = 4

    /// The number of entries that a segment must have.
    func count(ofSegment index: Int) -> Int {
      index < segments.count - 1
        ? RevocationSegment.entryLimit : count - index * RevocationSegment.entryLimit
    }

    package static func == (left: RevocationHead, right: RevocationHead) -> Bool {
      left.issuer == right.issuer && left.content == right.content
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(issuer)
      hasher.combine(content)
    }

    // MARK: - Signing

    /// Signs a head.
    ///
    /// - Throws: `LinkError` when the library cannot sign or encode.
    init(by authority: PeerAuthority, number: UInt64, count: Int, segments: [[UInt8]]) throws(LinkError) {
      var content = ByteWriter()
      content.writeVarint(number)
      content.writeVarint(count)
      content.writeVarint(segments.count)
      for hash in segments { content.write(hash) }
      let issuer = authority.hash
      let statement = Self.statement(content.bytes, of: issuer, authority.application)
      var out = ByteWriter()
      do {
        out.write(Self.version)
        out.write(issuer.bytes)
        if let intermediate = authority.intermediate {
          var serializer = DER.Serializer()
          try serializer.serialize(intermediate)
          out.writeBlob(serializer.serializedBytes)
        } else {
          out.writeBlob([])
        }
        out.writeBlob(content.bytes)
        out.write(Array(try authority.key.signature(for: statement).rawRepresentation))
      } catch {
        throw LinkError(.credentials, "A revocation list cannot be signed: \(error)")
      }
      do throws(CodecError) {
        try self.init(bytes: out.bytes)
      } catch {
        throw LinkError(.credentials, "A revocation list cannot be made: \(error.message)")
      }
    }

    /// The bytes that are signed: purpose, application, issuer and content.
    private static func statement(
      _ content: [UInt8], of issuer: AuthorityHash, _ application: String
    ) -> [UInt8] {
      let application = Array(application.utf8)
      return Array(purpose.utf8) + [UInt8(application.count >> 8 & 255), UInt8(application.count & 255)]
        + application + issuer.bytes + content
    }

    // MARK: - Reading

    /// Reads a head; ``verify(_:)`` says whether it may be believed.
    ///
    /// - Throws: `CodecError` with what is wrong.
    package init(bytes: [UInt8]) throws(CodecError) {
      guard bytes.count <= Self.byteLimit else {
        throw CodecError(.limit, "a head has more than \(Self.byteLimit) bytes")
      }
      var reader = ByteReader(bytes.span.bytes)
      guard try reader.readByte() == Self.version else {
        throw CodecError(.unsupportedVersion, "a head of a revocation list of another version")
      }
      let hash = RevocationEntry.copy(try reader.readBytes(AuthorityHash.byteCount))
      guard let issuer = AuthorityHash(bytes: hash) else {
        throw reader.failure(.malformed, "no hash of an authority")
      }
      let certificate = RevocationEntry.copy(try reader.readBlob())
      let content = RevocationEntry.copy(try reader.readBlob())
      let signature = RevocationEntry.copy(try reader.readBytes(Self.signatureBytes))
      guard reader.isAtEnd else { throw reader.failure(.malformed, "a head has bytes after its end") }
      var inner = ByteReader(content.span.bytes)
      let number = try inner.readVarint()
      let (count, segments) = (try inner.readVarint(), try inner.readVarint())
      guard count <= UInt64(Self.entryLimit), segments <= UInt64(Self.segmentLimit) else {
        throw CodecError(.limit, "a revocation list has more than \(Self.entryLimit) entries")
      }
      let full = UInt64(RevocationSegment.entryLimit)
      guard segments == (count + full - 1) / full else {
        throw reader.failure(.malformed, "a head has another number of segments than its entries need")
      }
      var hashes: [[UInt8]] = []
      for _ in 0..<segments { hashes.append(RevocationEntry.copy(try inner.readBytes(Self.hashBytes))) }
      guard inner.isAtEnd else { throw reader.failure(.malformed, "a head names too many segments") }
      if certificate.isEmpty {
        intermediate = nil
      } else {
        guard certificate.count <= PeerCertificate.byteLimit,
          let read = try? Certificate(derEncoded: certificate)
        else { throw reader.failure(.malformed, "the certificate of a head cannot be read") }
        intermediate = read
      }
      self.bytes = bytes
      self.issuer = issuer
      self.number = number
      self.count = Int(count)
      self.segments = hashes
      self.content = content
      self.signature = signature
      digest = Array(SHA256.hash(data: issuer.bytes + content).prefix(Self.shortDigestBytes))
    }

    // MARK: - Verifying

    /// Verifies that the application's authority, or one that it has certified, has signed the head.
    ///
    /// The end of the issuer's certificate does not matter: what the issuer has revoked stays revoked.
    ///
    /// - Parameter trusted: The application's authority.
    /// - Returns: Whether the application's authority itself has issued the list.
    /// - Throws: `untrusted` with the reason.
    @discardableResult
    package func verify(_ trusted: TrustedAuthority) throws(LinkError) -> Bool {
      guard trusted.proof != .sharedKey else {
        throw Self.refused("nothing is revoked with a shared key")
      }
      let issuerKey = intermediate?.publicKey ?? trusted.certificate.publicKey
      guard AuthorityHash(issuerKey) == issuer else {
        throw Self.refused(
          intermediate == nil
            ? "another authority than the application's has issued it" : "its issuer has another key")
      }
      if let intermediate {
        guard Self.isIntermediate(intermediate, below: trusted) else {
          throw Self.refused("its issuer is no authority that the application's authority has certified")
        }
      }
      guard let key = P256.Signing.PublicKey(issuerKey),
        let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
        key.isValidSignature(signature, for: Self.statement(content, of: issuer, trusted.application))
      else { throw Self.refused("its signature is not that of its issuer") }
      return intermediate == nil
    }

    private static func refused(_ why: String) -> LinkError {
      LinkError(.untrusted, "A revocation list is not believed: \(why)")
    }

    /// Whether a certificate is that of an intermediate authority, by the rules of `CertificateCheck`.
    private static func isIntermediate(_ certificate: Certificate, below root: TrustedAuthority) -> Bool {
      guard certificate.signatureAlgorithm == .ecdsaWithSHA256,
        certificate.issuer == root.certificate.subject,
        root.certificate.publicKey.isValidSignature(certificate.signature, for: certificate),
        let statement = try? PeerExtension(certificate), statement.application == root.application,
        statement.proof == root.proof, statement.user == nil, statement.grant == nil
      else { return false }
      guard case .isCertificateAuthority(.some(0))? = try? certificate.extensions.basicConstraints,
        let usage = try? certificate.extensions.keyUsage, usage == KeyUsage(keyCertSign: true)
      else { return false }
      return (try? certificate.extensions.extendedKeyUsage) == nil
    }
  }
#endif
