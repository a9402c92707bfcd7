#if TLS
  import Crypto
  import Foundation
  import SwiftASN1
  import Testing
  import X509

  @testable import Links

  /// A certificate with everything in it that can be right or wrong.
  struct CertificateDraft {
    enum Key {
      case p256(P256.Signing.PrivateKey)
      case p384(P384.Signing.PrivateKey)
      case ed25519(Curve25519.Signing.PrivateKey)

      var publicKey: Certificate.PublicKey {
        switch self {
        case .p256(let key): .init(key.publicKey)
        case .p384(let key): .init(key.publicKey)
        case .ed25519(let key): .init(key.publicKey)
        }
      }

      /// As TLS takes it.
      var secret: [UInt8] {
        switch self {
        case .p256(let key): Array(key.derRepresentation)
        case .p384(let key): Array(key.derRepresentation)
        // PKCS #8 (RFC 8410).
        case .ed25519(let key):
          [0x30, 0x2E, 0x02, 0x01, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
            + Array(key.rawRepresentation)
        }
      }
    }

    var key = Key.p256(P256.Signing.PrivateKey(compactRepresentable: false))
    var statement: PeerExtension? = PeerExtension(
      proof: .certificate, application: CertificateDraft.application, user: "ann")
    var isStatementCritical = true
    /// In place of the statement's own bytes.
    var statementBytes: [UInt8]?
    var validFrom = Date(timeIntervalSinceNow: -3_600)
    var validUntil = Date(timeIntervalSinceNow: 86_400)
    var constraints: BasicConstraints? = .notCertificateAuthority
    var usage: KeyUsage? = KeyUsage(digitalSignature: true)
    var purposes: [ExtendedKeyUsage.Usage]? = [.serverAuth, .clientAuth]
    var others: [Certificate.Extension] = []
    var algorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA256
    var version = Certificate.Version.v3
    var issuerName = "dunlin"
    var subjectName = "peer"

    static let application = "the-application"

    /// One of an authority between a peer and the application's.
    static func intermediate() -> CertificateDraft {
      var draft = CertificateDraft()
      draft.constraints = .isCertificateAuthority(maxPathLength: 0)
      draft.usage = KeyUsage(keyCertSign: true)
      draft.purposes = nil
      draft.statement?.user = nil
      draft.subjectName = "between"
      return draft
    }

    func signed(by issuer: Certificate.PrivateKey) throws -> Certificate {
      var extensions: [Certificate.Extension] = []
      if let constraints { extensions.append(try Certificate.Extension(constraints, critical: true)) }
      if let usage { extensions.append(try Certificate.Extension(usage, critical: true)) }
      if let purposes {
        extensions.append(try Certificate.Extension(ExtendedKeyUsage(purposes), critical: false))
      }
      if let statement {
        var made = try statement.asExtension()
        if let statementBytes { made.value = statementBytes[...] }
        made.critical = isStatementCritical
        extensions.append(made)
      }
      return try Certificate(
        version: version, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
        notValidBefore: validFrom, notValidAfter: validUntil, issuer: try PeerAuthority.name(issuerName),
        subject: try PeerAuthority.name(subjectName), signatureAlgorithm: algorithm,
        extensions: try Certificate.Extensions(extensions + others), issuerPrivateKey: issuer)
    }
  }

  extension Certificate {
    /// Its bytes.
    func bytes() throws -> [UInt8] {
      var serializer = DER.Serializer()
      try serializer.serialize(self)
      return serializer.serializedBytes
    }
  }

  /// What a peer that should be refused presents, with the private key that belongs to it.
  struct WrongCertificate: Sendable, CustomTestStringConvertible {
    let name: String
    /// A part of the reason with which it is refused.
    let reason: String
    let make: @Sendable (PeerAuthority) throws -> (presented: [[UInt8]], secret: [UInt8])

    var testDescription: String { name }

    private init(
      _ name: String, _ reason: String,
      _ make: @escaping @Sendable (PeerAuthority) throws -> (presented: [[UInt8]], secret: [UInt8])
    ) {
      self.name = name
      self.reason = reason
      self.make = make
    }

    /// One certificate of the authority's with something changed.
    private static func changed(
      _ name: String, _ reason: String, _ change: @escaping @Sendable (inout CertificateDraft) -> Void
    ) -> WrongCertificate {
      WrongCertificate(name, reason) { authority in
        var draft = CertificateDraft()
        change(&draft)
        return ([try draft.signed(by: .init(authority.key)).bytes()], draft.key.secret)
      }
    }

    /// One with an authority between, which has something changed.
    private static func between(
      _ name: String, _ reason: String, _ change: @escaping @Sendable (inout CertificateDraft) -> Void
    ) -> WrongCertificate {
      WrongCertificate(name, reason) { authority in
        var middle = CertificateDraft.intermediate()
        change(&middle)
        var leaf = CertificateDraft()
        leaf.issuerName = middle.subjectName
        guard case .p256(let key) = middle.key else { throw LinkError(.credentials, "no key") }
        return (
          [
            try leaf.signed(by: .init(key)).bytes(), try middle.signed(by: .init(authority.key)).bytes(),
          ], leaf.key.secret
        )
      }
    }

    /// One with two authorities between, of which something is changed.
    private static func twoBetween(
      _ name: String, _ reason: String,
      _ change: @escaping @Sendable (_ upper: inout CertificateDraft, _ lower: inout CertificateDraft) -> Void
    ) -> WrongCertificate {
      WrongCertificate(name, reason) { authority in
        var (upper, lower) = (CertificateDraft.intermediate(), CertificateDraft.intermediate())
        lower.subjectName = "below"
        change(&upper, &lower)
        lower.issuerName = upper.subjectName
        var leaf = CertificateDraft()
        leaf.issuerName = lower.subjectName
        guard case .p256(let upperKey) = upper.key, case .p256(let lowerKey) = lower.key else {
          throw LinkError(.credentials, "no key")
        }
        return (
          [
            try leaf.signed(by: .init(lowerKey)).bytes(), try lower.signed(by: .init(upperKey)).bytes(),
            try upper.signed(by: .init(authority.key)).bytes(),
          ], leaf.key.secret
        )
      }
    }

    /// A right certificate of an intermediate authority, shown otherwise.
    private static func shown(
      _ name: String, _ reason: String, _ show: @escaping @Sendable (_ right: [[UInt8]]) -> [[UInt8]]
    ) -> WrongCertificate {
      WrongCertificate(name, reason) { authority in
        let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
        let key = DeviceKey()
        let right = try authority.makeIntermediate(validity: validity).issue(
          for: key.peerKey, user: "ann", validity: validity)
        return (show(try right.chain.map { try $0.bytes() }), Array(key.key.derRepresentation))
      }
    }

    private static func stranger() -> P256.Signing.PrivateKey {
      P256.Signing.PrivateKey(compactRepresentable: false)
    }

    static let all: [WrongCertificate] = [
      changed("ended", "is valid from") { $0.validUntil = Date(timeIntervalSinceNow: -60) },
      changed("not begun", "is valid from") { $0.validFrom = Date(timeIntervalSinceNow: 600) },
      changed("another application", "another application") { $0.statement?.application = "another" },
      changed("an application's id with another case", "another application") {
        $0.statement?.application = "The-Application"
      },
      changed("no statement", "none of a peer") { $0.statement = nil },
      changed("a statement that is not critical", "cannot be read") { $0.isStatementCritical = false },
      changed("a statement that is damaged", "cannot be read") { $0.statementBytes = [1, 2, 3] },
      changed("a statement of nothing", "cannot be read") { $0.statementBytes = [] },
      changed("a statement with more in it", "cannot be read") {
        $0.statementBytes = [0x30, 0x0A, 2, 1, 1, 0x0C, 1, 0x61, 0x0C, 1, 0x62, 5, 0]
      },
      changed("a statement of an unknown kind", "cannot be read") {
        $0.statementBytes = [0x30, 6, 2, 1, 9, 0x0C, 1, 0x61]
      },
      changed("a user too long", "cannot be read") {
        $0.statement?.user = String(repeating: "u", count: 129)
      },
      changed("a grant's hash of one byte", "cannot be read") {
        $0.statementBytes = [0x30, 9, 2, 1, 1, 0x0C, 1, 0x61, 4, 1, 1]
      },
      changed("the proof of a shared key", "another kind of proof") { $0.statement?.proof = .sharedKey },
      changed("a critical extension that is unknown", "") {
        $0.others = [Certificate.Extension(oid: [1, 2, 3, 4], critical: true, value: [5, 0])]
      },
      changed("no purposes", "another purpose") { $0.purposes = nil },
      changed("a server's purpose only", "another purpose") { $0.purposes = [.serverAuth] },
      changed("a client's purpose only", "another purpose") { $0.purposes = [.clientAuth] },
      changed("the purpose of signing code", "another purpose") { $0.purposes = [.codeSigning] },
      changed("a big peer's purpose only", "another purpose") { $0.purposes = [BigPeerPurpose.usage] },
      changed("no usage", "another usage") { $0.usage = nil },
      changed("the usage of agreeing on keys", "another usage") { $0.usage = KeyUsage(keyAgreement: true) },
      changed("the usage of issuing", "another usage") {
        $0.usage = KeyUsage(digitalSignature: true, keyCertSign: true)
      },
      changed("an authority", "") {
        $0.constraints = .isCertificateAuthority(maxPathLength: nil)
        $0.usage = KeyUsage(digitalSignature: true, keyCertSign: true)
      },
      changed("no word whether it is an authority", "authority") { $0.constraints = nil },
      changed("a key of P-384", "another kind of key") { $0.key = .p384(P384.Signing.PrivateKey()) },
      changed("a key of Ed25519", "another kind of key") {
        $0.key = .ed25519(Curve25519.Signing.PrivateKey())
      },
      changed("a signature with SHA-384", "another kind of key") { $0.algorithm = .ecdsaWithSHA384 },
      changed("the name of another issuer", "") { $0.issuerName = "somebody else" },
      changed("more bytes than it may have", "more than") {
        $0.others = [
          Certificate.Extension(
            oid: [1, 2, 3, 4], critical: false, value: [UInt8](repeating: 0, count: 900)[...])
        ]
      },
      WrongCertificate("another authority of the same name", "") { _ in
        let draft = CertificateDraft()
        return ([try draft.signed(by: .init(stranger())).bytes()], draft.key.secret)
      },
      WrongCertificate("signed by itself", "") { _ in
        var draft = CertificateDraft()
        let key = stranger()
        draft.key = .p256(key)
        draft.subjectName = draft.issuerName
        return ([try draft.signed(by: .init(key)).bytes()], draft.key.secret)
      },
      WrongCertificate("a signature with a bit changed", "") { authority in
        let draft = CertificateDraft()
        var bytes = try draft.signed(by: .init(authority.key)).bytes()
        bytes[bytes.count - 3] ^= 1
        return ([bytes], draft.key.secret)
      },
      WrongCertificate("a statement with a bit changed", "") { authority in
        let draft = CertificateDraft()
        var bytes = try draft.signed(by: .init(authority.key)).bytes()
        let user = Array("ann".utf8)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: user) })
        bytes[place] ^= 2
        return ([bytes], draft.key.secret)
      },
      WrongCertificate("the authority's own", "") { authority in
        ([try authority.trusted.certificate.bytes()], Array(authority.key.derRepresentation))
      },
      WrongCertificate("issued by another peer", "") { authority in
        let (leaf, middle) = (CertificateDraft(), CertificateDraft())
        guard case .p256(let key) = middle.key else { throw LinkError(.credentials, "no key") }
        var named = leaf
        named.issuerName = middle.subjectName
        return (
          [try named.signed(by: .init(key)).bytes(), try middle.signed(by: .init(authority.key)).bytes()],
          named.key.secret
        )
      },
      between("an authority between that has ended", "is valid from") {
        $0.validUntil = Date(timeIntervalSinceNow: -60)
      },
      between("an authority between for another application", "another application") {
        $0.statement?.application = "another"
      },
      between("an authority between without a statement", "another application") { $0.statement = nil },
      between("an authority between that may not issue", "") { $0.usage = KeyUsage(digitalSignature: true) },
      between("an authority between that is none", "") { $0.constraints = .notCertificateAuthority },
      between("an authority between that has not begun", "is valid from") {
        $0.validFrom = Date(timeIntervalSinceNow: 600)
      },
      between("an authority between without a path length", "so many certificates below") {
        $0.constraints = .isCertificateAuthority(maxPathLength: nil)
      },
      between("an authority between without usage", "may not issue") { $0.usage = nil },
      between("an authority between that may sign for itself", "another usage too") {
        $0.usage = KeyUsage(digitalSignature: true, keyCertSign: true)
      },
      between("an authority between with the purposes of a peer", "another usage too") {
        $0.purposes = [.serverAuth, .clientAuth]
      },
      between("an authority between with a big peer's purpose", "another usage too") {
        $0.purposes = [BigPeerPurpose.usage]
      },
      between("an authority between that names a user", "says more") { $0.statement?.user = "ann" },
      between("an authority between with a grant", "says more") {
        $0.statement?.grant = GrantHash(repeatElement(1, count: 32))
      },
      between("an authority between that comes from a login", "says more") {
        $0.statement?.proof = .online
      },
      between("an authority between with a signature with SHA-384", "another kind of key") {
        $0.algorithm = .ecdsaWithSHA384
      },
      twoBetween("an authority below an authority between", "so many certificates below") { _, _ in },
      twoBetween("an authority between that may have another one below", "so many certificates below") {
        (upper, _) in upper.constraints = .isCertificateAuthority(maxPathLength: 1)
      },
      twoBetween("an authority between with its parent's name", "so many certificates below") { (upper, _) in
        upper.subjectName = upper.issuerName
      },
      shown("an authority between that is not shown", "") { [$0[0]] },
      shown("an authority between that is shown first", "that of an authority") { $0.reversed() },
      shown("an authority between alone", "that of an authority") { [$0[1]] },
      shown("an authority between twice", "no part of its chain") { $0 + [$0[1]] },
      WrongCertificate("an authority between of another application's authority", "") { _ in
        let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
        let other = try PeerAuthority(application: "another", validity: validity)
        let key = DeviceKey()
        let certificate = try other.makeIntermediate(validity: validity).issue(
          for: key.peerKey, user: "ann", validity: validity)
        return (try certificate.chain.map { try $0.bytes() }, Array(key.key.derRepresentation))
      },
      WrongCertificate("an authority between of a stranger's authority", "") { _ in
        let validity = Date(timeIntervalSinceNow: -60)..<Date(timeIntervalSinceNow: 3_600)
        let other = try PeerAuthority(application: CertificateDraft.application, validity: validity)
        let key = DeviceKey()
        let certificate = try other.makeIntermediate(validity: validity).issue(
          for: key.peerKey, user: "ann", validity: validity)
        return (try certificate.chain.map { try $0.bytes() }, Array(key.key.derRepresentation))
      },
      WrongCertificate("an authority beside the chain", "no part of its chain") { authority in
        let draft = CertificateDraft()
        return (
          [
            try draft.signed(by: .init(authority.key)).bytes(),
            try CertificateDraft.intermediate().signed(by: .init(authority.key)).bytes(),
          ], draft.key.secret
        )
      },
      changed("information that is no JSON", "cannot be read") {
        $0.others = [
          Certificate.Extension(oid: PeerInformation.identifier, critical: false, value: [0x0C, 1, 0x7B])
        ]
      },
      changed("information that is too long", "cannot be read") {
        let text = "{\"a\":\"" + String(repeating: "b", count: 300) + "\"}"
        let length = [0x82, UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 255)]
        $0.others = [
          Certificate.Extension(
            oid: PeerInformation.identifier, critical: false, value: ([0x0C] + length + Array(text.utf8))[...]
          )
        ]
      },
      WrongCertificate("authorities between that are too many", "presents 4") { authority in
        let leaf = try CertificateDraft().signed(by: .init(authority.key)).bytes()
        let draft = CertificateDraft()
        return ([try draft.signed(by: .init(authority.key)).bytes(), leaf, leaf, leaf], draft.key.secret)
      },
    ]
  }
#endif
