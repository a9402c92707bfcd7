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
    /// The texts of its grant; `nil` for a certificate that grants everything, and for one that another peer
    /// presents, whose texts follow after the handshake.
    package let grant: GrantTexts?
    /// Whether the certificate says that the peer is a big one; otherwise it is that of a small one.
    public let isBigPeer: Bool

    init(_ chain: [Certificate], grant: GrantTexts? = nil) throws(LinkError) {
      guard let leaf = chain.first, chain.count <= Self.chainLimit else {
        throw LinkError(
          .credentials,
          "A certificate chain has 1 to \(Self.chainLimit) certificates, this one \(chain.count)")
      }
      let statement: PeerExtension?
      do {
        statement = try PeerExtension(leaf)
        information = try PeerInformation.read(leaf)
        isBigPeer = try BigPeerPurpose.isPresent(in: leaf)
      } catch {
        throw LinkError(.credentials, "What the certificate says of its peer cannot be read: \(error)")
      }
      guard let statement else { throw LinkError(.credentials, "The certificate is none of a peer") }
      self.chain = chain
      self.statement = statement
      self.grant = grant
    }

    /// The types of the text blocks that hold a grant and its rules, beside those of certificates.
    private enum Block {
      static let grant = "DUNLIN GRANT"
      static let rules = "DUNLIN RULES"
    }

    /// Reads certificates in their text form, the peer's own first; after them come the texts of its grant.
    ///
    /// - Throws: `LinkError` with code `credentials`, saying what is wrong. A certificate with a grant needs
    ///   the texts, and no other may have them.
    public init(pem: String) throws(LinkError) {
      let chain: [Certificate]
      var texts: [String: [UInt8]] = [:]
      do {
        let blocks = try PEMDocument.parseMultiple(pemString: pem)
        for block in blocks where [Block.grant, Block.rules].contains(block.discriminator) {
          guard texts.updateValue(block.derBytes, forKey: block.discriminator) == nil else {
            throw LinkError(.credentials, "The certificate's text has two blocks of \(block.discriminator)")
          }
        }
        chain = try blocks.filter { texts[$0.discriminator] == nil }.map { try Certificate(pemDocument: $0) }
      } catch let error as LinkError {
        throw error
      } catch {
        throw LinkError(.credentials, "The certificate cannot be read: \(error)")
      }
      guard !chain.isEmpty else {
        throw LinkError(.credentials, "The certificate cannot be read: there is none in the text")
      }
      guard let grant = texts[Block.grant] else {
        guard texts.isEmpty else {
          throw LinkError(.credentials, "The certificate's text has rules, and no grant that refers to them")
        }
        try self.init(chain)
        guard grantHash == nil else {
          throw LinkError(.credentials, "The certificate has a grant, whose text is missing beside it")
        }
        return
      }
      try self.init(chain, grant: GrantTexts(checking: grant, rules: texts[Block.rules] ?? []))
      guard let hash = grantHash else {
        throw LinkError(.credentials, "There is a grant beside the certificate, which has none")
      }
      guard hash == self.grant?.hash else {
        throw LinkError(.credentials, "The grant beside the certificate is another one than its own")
      }
    }

    /// The certificates in their text form, and after them the texts of the grant.
    public var pem: String {
      get throws(LinkError) {
        do {
          var blocks = try chain.map { try $0.serializeAsPEM() }
          if let grant {
            blocks.append(PEMDocument(type: Block.grant, derBytes: grant.grant))
            if !grant.rules.isEmpty { blocks.append(PEMDocument(type: Block.rules, derBytes: grant.rules)) }
          }
          return blocks.map(\.pemString).joined(separator: "\n") + "\n"
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
    /// Whether the certificate has a grant, which may restrict what the peer may do.
    public var isRestricted: Bool { statement.grant != nil }
    /// The hash of the grant; `nil` for a certificate that grants everything.
    package var grantHash: GrantHash? { statement.grant }

    /// Checks that the certificate is that of a peer of the configured kind.
    ///
    /// - Parameter isBigPeer: Whether this peer is configured as a big one.
    /// - Throws: `credentials`, saying what to do.
    package func checkKind(isBigPeer: Bool) throws(LinkError) {
      guard self.isBigPeer != isBigPeer else { return }
      throw LinkError(
        .credentials,
        isBigPeer
          ? "The certificate is that of a small peer, and this peer is a big one: issue it with --kind big (dunlin cert issue), or configure a small peer"
          : "The certificate is that of a big peer, and this peer is a small one: configure a big peer, or issue it with --kind small (dunlin cert issue)"
      )
    }
  }
#endif
