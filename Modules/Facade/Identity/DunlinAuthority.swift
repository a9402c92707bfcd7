#if TLS
  public import Foundation
  package import Links
  public import SyncProtocol

  /// An application's own certificate authority, which issues the certificates of its peers, offline.
  ///
  /// Keep it where no peer runs. Anyone who has it can act as every peer and every user of the application. A
  /// server that issues certificates uses an intermediate authority instead.
  public struct DunlinAuthority: Sendable {
    let authority: PeerAuthority

    /// Makes a new authority.
    ///
    /// - Parameters:
    ///   - appID: The application's id, 1 to 128 bytes.
    ///   - validity: The period in which it may issue certificates.
    /// - Throws: `identity`.
    public init(appID: String, validity: Range<Date>) throws {
      authority = try translatingErrors { try PeerAuthority(application: appID, validity: validity) }
    }

    private init(_ authority: PeerAuthority) { self.authority = authority }

    /// Makes an intermediate authority with a new key.
    ///
    /// It lets a server issue certificates while this authority stays offline. It issues certificates of
    /// devices, and no further authorities. Peers need nothing new: a device presents its certificate
    /// together with that of the intermediate authority.
    ///
    /// - Parameter validity: The period in which it may issue certificates, cut to this authority's own
    ///   period. What it issues expires with it.
    /// - Returns: The intermediate authority.
    /// - Throws: `identity` when this is an intermediate authority itself, or when nothing of the period
    ///   remains.
    public func makeIntermediate(validity: Range<Date>) throws -> DunlinAuthority {
      DunlinAuthority(try translatingErrors { try authority.makeIntermediate(validity: validity) })
    }

    /// Whether this is an intermediate authority.
    public var isIntermediate: Bool { authority.isIntermediate }

    /// Reads an authority in its text form.
    ///
    /// - Parameter text: The private key and the certificate, as in ``text``.
    /// - Throws: `identity`, with what is wrong.
    public init(text: String) throws { authority = try translatingErrors { try PeerAuthority(pem: text) } }

    /// The private key and the certificate (PEM); it is secret.
    ///
    /// For an intermediate authority it also has the parent's certificate.
    public var text: String { get throws { try translatingErrors { try authority.pem } } }

    /// The certificate (PEM) that all peers of the application need.
    ///
    /// For an intermediate authority it is the parent's certificate.
    public var certificate: String { get throws { try translatingErrors { try authority.trusted.pem } } }

    /// The application for whose peers it issues certificates.
    public var appID: String { authority.application }

    /// When it expires; it cannot issue certificates after that.
    public var validUntil: Date { authority.validUntil }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - deviceKey: The device's public key, as returned by ``DunlinDevice/publicKey(path:keyStore:)``.
    ///   - user: The user that the device acts for, 1 to 128 bytes; `nil` for none.
    ///   - kind: The kind of the peer, which must equal its ``DunlinConfiguration/peerKind``; a device is
    ///     `.small`.
    ///   - validity: The certificate's period; an intermediate authority cuts it to its own period.
    /// - Returns: The certificate (PEM), and after it that of an intermediate authority.
    /// - Throws: `identity` when the key is invalid or a text is too long.
    public func issue(
      deviceKey: String, user: String? = nil, kind: DunlinPeerKind = .small, validity: Range<Date>
    ) throws -> String {
      try translatingErrors {
        try authority.issue(
          for: PeerKey(hexadecimal: deviceKey), user: user, isBigPeer: kind == .big, validity: validity
        ).pem
      }
    }

    /// Issues a certificate that restricts what the peer may read.
    ///
    /// - Parameters:
    ///   - deviceKey: The device's public key, as returned by ``DunlinDevice/publicKey(path:keyStore:)``.
    ///   - user: The user that the device acts for, 1 to 128 bytes; `nil` for none.
    ///   - grant: What the peer may do.
    ///   - validity: The certificate's period; an intermediate authority cuts it to its own period.
    /// - Returns: The certificate (PEM), after it that of an intermediate authority, and then the texts of
    ///   the grant.
    /// - Throws: `identity` when the key is invalid, a text is too long, or the rules cannot be enforced.
    public func issue(
      deviceKey: String, user: String? = nil, grant: DunlinGrant, validity: Range<Date>
    ) throws -> String {
      try grant.check(user: user)
      return try translatingErrors {
        try authority.issue(
          for: PeerKey(hexadecimal: deviceKey), user: user, validity: validity,
          proof: authority.trusted.proof, grant: grant.texts
        ).pem
      }
    }

    /// Issues a certificate that is marked as coming from a login, which is that of a small peer.
    func issueForLogin(deviceKey: String, user: String?, validity: Range<Date>) throws -> String {
      try translatingErrors {
        try authority.issue(
          for: PeerKey(hexadecimal: deviceKey), user: user, validity: validity, proof: .online
        ).pem
      }
    }
  }

  /// The content of a peer's certificate.
  public struct DunlinCertificate: Sendable {
    /// The application that the peer belongs to.
    public let appID: String
    /// The user that the peer acts for.
    public let user: String?
    /// The kind of the peer.
    public let kind: DunlinPeerKind
    /// Whether it has a grant; without one the peer may do everything.
    public let hasGrant: Bool
    /// The device's public key.
    public let deviceKey: String
    /// The start of its validity.
    public let validFrom: Date
    /// The end of its validity.
    public let validUntil: Date

    /// Reads the text form; nothing is verified.
    ///
    /// - Throws: `identity`, with what is wrong.
    public init(text: String) throws {
      let certificate = try translatingErrors { try PeerCertificate(pem: text) }
      guard let key = certificate.peerKey else {
        throw DunlinError(.identity, "the certificate is for a key that is not one of P-256")
      }
      appID = certificate.application
      user = certificate.user
      kind = certificate.isBigPeer ? .big : .small
      hasGrant = certificate.isRestricted
      deviceKey = key.description
      validFrom = certificate.validFrom
      validUntil = certificate.validUntil
    }
  }

  /// This device's key, for which certificates are issued.
  public enum DunlinDevice {
    /// The public key of the database at a path; the key pair is created if there is none.
    ///
    /// - Parameters:
    ///   - path: The database's directory, which is created if it does not exist.
    ///   - keyStore: Where the private key is stored, if not in that directory.
    /// - Returns: 66 hexadecimal digits.
    /// - Throws: `identity`, `permission`, `full` or `io`.
    public static func publicKey(path: String, keyStore: (any DunlinKeyStore)? = nil) throws -> String {
      try translatingErrors {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let store = keyStore ?? KeyFile(directory: path)
        if let bytes = try store.loadKey() { return try DeviceKey(bytes: bytes).peerKey.description }
        let key = DeviceKey()
        try store.saveKey(key.bytes)
        return key.peerKey.description
      }
    }

    /// The key pair in a database's directory, for the project's own tools; `nil` if there is none yet.
    package static func storedKey(path: String) throws -> DeviceKey? {
      try KeyFile(directory: path).loadKey().map { bytes in try DeviceKey(bytes: bytes) }
    }
  }
#endif
