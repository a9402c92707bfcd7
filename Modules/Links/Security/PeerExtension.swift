#if TLS
  import SwiftASN1
  import X509

  /// What a certificate says of its peer, in a critical extension.
  ///
  /// Software that does not know the extension must refuse the certificate. It is a sequence of the proof (an
  /// integer), the application's id and the user (text), and the SHA-256 of a grant (bytes). The user and the
  /// grant may be absent.
  struct PeerExtension: Hashable, Sendable, DERImplicitlyTaggable {
    /// A number in the arc that needs no registration.
    static let identifier: ASN1ObjectIdentifier = [2, 25, 7_306_214_925_331_874_203]
    /// The maximum size in bytes of the application's id, and of the user.
    static let textBytes = 128

    var proof: PeerIdentity.Proof
    var application: String
    var user: String?
    /// The hash of what the certificate's holder may do; `nil` for everything.
    var grant: GrantHash?

    static var defaultIdentifier: ASN1Identifier { .sequence }

    init(proof: PeerIdentity.Proof, application: String, user: String?, grant: GrantHash? = nil) {
      self.proof = proof
      self.application = application
      self.user = user
      self.grant = grant
    }

    init(derEncoded root: ASN1Node, withIdentifier identifier: ASN1Identifier) throws {
      self = try DER.sequence(root, identifier: identifier) { nodes in
        let number = try UInt8(derEncoded: &nodes)
        guard let proof = PeerIdentity.Proof(rawValue: number) else {
          throw ASN1Error.invalidASN1Object(reason: "unknown kind of proof \(number)")
        }
        let application = String(try ASN1UTF8String(derEncoded: &nodes))
        let user: ASN1UTF8String? = try DER.optionalImplicitlyTagged(&nodes)
        let hash: ASN1OctetString? = try DER.optionalImplicitlyTagged(&nodes)
        let grant = hash.map { GrantHash($0.bytes) }
        guard grant != .some(nil) else {
          throw ASN1Error.invalidASN1Object(reason: "the hash of a grant has \(GrantHash.byteCount) bytes")
        }
        return PeerExtension(
          proof: proof, application: application, user: user.map { String($0) }, grant: grant ?? nil)
      }
      guard application.utf8.count <= Self.textBytes, user?.utf8.count ?? 0 <= Self.textBytes else {
        throw ASN1Error.invalidASN1Object(reason: "application or user too long")
      }
    }

    func serialize(into coder: inout DER.Serializer, withIdentifier identifier: ASN1Identifier) throws {
      try coder.appendConstructedNode(identifier: identifier) { coder in
        try coder.serialize(proof.rawValue)
        try coder.serialize(ASN1UTF8String(application))
        if let user { try coder.serialize(ASN1UTF8String(user)) }
        if let grant { try coder.serialize(ASN1OctetString(contentBytes: grant.bytes[...])) }
      }
    }

    /// Reads the extension of a certificate; `nil` when there is none.
    init?(_ certificate: Certificate) throws {
      guard let found = certificate.extensions[oid: Self.identifier] else { return nil }
      guard found.critical else {
        throw ASN1Error.invalidASN1Object(reason: "the peer extension is not critical")
      }
      self = try Self(derEncoded: found.value)
    }

    /// Encodes it as an extension of a certificate.
    func asExtension() throws -> Certificate.Extension {
      var serializer = DER.Serializer()
      try serializer.serialize(self)
      return Certificate.Extension(
        oid: Self.identifier, critical: true, value: serializer.serializedBytes[...])
    }
  }
#endif
