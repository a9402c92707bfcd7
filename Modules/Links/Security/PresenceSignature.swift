#if TLS
  import Crypto

  extension PeerCredentials {
    /// Signs what this peer says of itself, so that nobody else can say it in its name.
    ///
    /// - Returns: The 64 bytes of an ECDSA signature.
    /// - Throws: The library's error when the private key cannot be read or used.
    package func sign(presence content: [UInt8]) throws -> [UInt8] {
      let key = try P256.Signing.PrivateKey(derRepresentation: secret)
      return Array(try key.signature(for: Self.statement(content, of: application)).rawRepresentation)
    }

    /// The bytes that are signed: the purpose and the application before the content.
    ///
    /// So a signature cannot be used for another purpose.
    fileprivate static func statement(_ content: [UInt8], of application: String) -> [UInt8] {
      let application = Array(application.utf8)
      return Array("dunlin presence 1".utf8) + [
        UInt8(application.count >> 8 & 255), UInt8(application.count & 255),
      ]
        + application + content
    }
  }

  extension PeerKey {
    /// Whether the owner of the key has signed this presence.
    package func hasSigned(_ signature: [UInt8], presence content: [UInt8], of application: String) -> Bool {
      guard let key = try? P256.Signing.PublicKey(compressedRepresentation: bytes),
        let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
      else { return false }
      return key.isValidSignature(signature, for: PeerCredentials.statement(content, of: application))
    }
  }
#endif
