#if TLS
  public import Foundation
  package import Transports

  /// An application's own certificate authority: it issues the certificates of the application's peers, offline.
  ///
  /// Keep it where no peer is. Whoever has it can be every peer and every user of the application. A server that issues certificates takes an
  /// intermediate authority in its place.
  public struct DunlinAuthority: Sendable {
    private let authority: PeerAuthority

    /// Makes a new one.
    ///
    /// - Parameters:
    ///   - appID: The application's id, 1 to 128 bytes.
    ///   - validity: From when and until when it may issue.
    /// - Throws: `identity`.
    public init(appID: String, validity: Range<Date>) throws {
      authority = try translatingErrors { try PeerAuthority(application: appID, validity: validity) }
    }

    private init(_ authority: PeerAuthority) { self.authority = authority }

    /// Makes an intermediate authority with a new key: for a server that issues certificates while this authority stays offline.
    ///
    /// It issues certificates of devices and no further authorities. Peers need nothing new: a device shows its certificate together
    /// with that of the intermediate authority.
    ///
    /// - Parameter validity: From when and until when it may issue, cut to this authority's own time; what it issues ends with it.
    /// - Returns: The intermediate authority.
    /// - Throws: `identity` when this one is an intermediate authority itself, or when nothing is left of the time.
    public func makeIntermediate(validity: Range<Date>) throws -> DunlinAuthority {
      DunlinAuthority(try translatingErrors { try authority.makeIntermediate(validity: validity) })
    }

    /// Whether it is an intermediate authority.
    public var isIntermediate: Bool { authority.isIntermediate }

    /// Reads one in its text form.
    ///
    /// - Parameter text: The private key and the certificate, as ``text`` has them.
    /// - Throws: `identity`, saying what is wrong.
    public init(text: String) throws { authority = try translatingErrors { try PeerAuthority(pem: text) } }

    /// The private key and the certificate (PEM), of an intermediate authority its parent's certificate too; it is secret.
    public var text: String { get throws { try translatingErrors { try authority.pem } } }

    /// The certificate (PEM), which all peers of the application are given; that of the parent for an intermediate authority.
    public var certificate: String { get throws { try translatingErrors { try authority.trusted.pem } } }

    /// The application that it issues for.
    public var appID: String { authority.application }

    /// Until when it may issue.
    public var validUntil: Date { authority.validUntil }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - deviceKey: The device's public key, as ``DunlinDevice/publicKey(path:keyStore:)`` gives it.
    ///   - user: The user that the device stands for, 1 to 128 bytes; `nil` for none.
    ///   - validity: From when and until when it holds; an intermediate authority cuts it to its own time.
    /// - Returns: The certificate (PEM), and after it that of an intermediate authority.
    /// - Throws: `identity`, when the key is none or a text is too long.
    public func issue(deviceKey: String, user: String? = nil, validity: Range<Date>) throws -> String {
      try translatingErrors {
        try authority.issue(for: PeerKey(hexadecimal: deviceKey), user: user, validity: validity).pem
      }
    }

    /// Issues a certificate that says that it comes from a login.
    func issueForLogin(deviceKey: String, user: String?, validity: Range<Date>) throws -> String {
      try translatingErrors {
        try authority.issue(
          for: PeerKey(hexadecimal: deviceKey), user: user, validity: validity, proof: .online
        ).pem
      }
    }
  }

  /// What a certificate of a peer says.
  public struct DunlinCertificate: Sendable {
    /// The application that the peer belongs to.
    public let appID: String
    /// The user that it stands for.
    public let user: String?
    /// The device's public key.
    public let deviceKey: String
    /// From when it holds.
    public let validFrom: Date
    /// Until when it holds.
    public let validUntil: Date

    /// Reads the text form; nothing is verified.
    ///
    /// - Throws: `identity`, saying what is wrong.
    public init(text: String) throws {
      let certificate = try translatingErrors { try PeerCertificate(pem: text) }
      guard let key = certificate.peerKey else {
        throw DunlinError(.identity, "the certificate is for a key that is not one of P-256")
      }
      appID = certificate.application
      user = certificate.user
      deviceKey = key.description
      validFrom = certificate.validFrom
      validUntil = certificate.validUntil
    }
  }

  /// This device's key, of which certificates are issued.
  public enum DunlinDevice {
    /// The public key of the database at a path; the key pair is made when there is none.
    ///
    /// - Parameters:
    ///   - path: The database's directory, which is made if need be.
    ///   - keyStore: Where the private key is, if not in that directory.
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

    /// The key pair in the directory of a database, for the project's own tools; `nil` where there is none yet.
    package static func storedKey(path: String) throws -> DeviceKey? {
      try KeyFile(directory: path).loadKey().map { bytes in try DeviceKey(bytes: bytes) }
    }
  }
#endif
