#if TLS
  public import CRDTCore
  import Crypto
  public import Foundation
  import SwiftASN1
  import X509

  /// A certificate of an application's authority that binds a peer's key to the application and a user.
  public struct PeerCertificate: Sendable {
    /// The maximum size of one certificate in bytes, so that a handshake costs little on a slow line.
    public static let byteLimit = 1_024
    /// The maximum number of certificates in a chain, including the peer's own.
    public static let chainLimit = 3

    /// The peer's own certificate, then those of the authorities up to the trusted one, which is excluded.
    let chain: [Certificate]
    let statement: PeerExtension
    /// The information about the peer that the login service gives to all others.
    public let information: [TextKey: Value]

    init(_ chain: [Certificate]) throws(LinkError) {
      guard let leaf = chain.first, chain.count <= Self.chainLimit else {
        throw LinkError(
          .credentials,
          "A certificate chain has 1 to \(Self.chainLimit) certificates, this one \(chain.count)")
      }
      let statement: PeerExtension?
      do {
        statement = try PeerExtension(leaf)
        information = try PeerInformation.read(leaf)
      } catch {
        throw LinkError(.credentials, "What the certificate says of its peer cannot be read: \(error)")
      }
      guard let statement else { throw LinkError(.credentials, "The certificate is none of a peer") }
      self.chain = chain
      self.statement = statement
    }

    /// Reads certificates in their text form, the peer's own first.
    ///
    /// - Throws: `LinkError` with code `credentials`, saying what is wrong.
    public init(pem: String) throws(LinkError) {
      let chain: [Certificate]
      do {
        chain = try PEMDocument.parseMultiple(pemString: pem).map { try Certificate(pemDocument: $0) }
      } catch {
        throw LinkError(.credentials, "The certificate cannot be read: \(error)")
      }
      guard !chain.isEmpty else {
        throw LinkError(.credentials, "The certificate cannot be read: there is none in the text")
      }
      try self.init(chain)
    }

    /// The certificates in their text form.
    public var pem: String {
      get throws(LinkError) {
        do {
          return try chain.map { try $0.serializeAsPEM().pemString }.joined(separator: "\n") + "\n"
        } catch {
          throw LinkError(.credentials, "The certificate cannot be written: \(error)")
        }
      }
    }

    /// The application that the peer belongs to.
    public var application: String { statement.application }
    /// The user that the peer acts for.
    public var user: String? { statement.user }
    /// The kind of proof that the certificate is based on.
    public var proof: PeerIdentity.Proof { statement.proof }
    /// The first moment at which all certificates of the chain are valid.
    public var validFrom: Date { chain.map(\.notValidBefore).max() ?? .distantFuture }
    /// The last moment at which all certificates of the chain are valid.
    public var validUntil: Date { chain.map(\.notValidAfter).min() ?? .distantPast }
    /// The certificate's serial number in hexadecimal, by which an audit log names it.
    package var serialNumber: String {
      chain[0].serialNumber.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    /// The key that the certificate is for; `nil` for a key of another kind.
    public var peerKey: PeerKey? { P256.Signing.PublicKey(chain[0].publicKey).map { PeerKey($0) } }
    /// Whether the certificate restricts what the peer may do.
    ///
    /// Nothing enforces restrictions yet.
    public var isRestricted: Bool { statement.rules != nil }
  }
#endif
