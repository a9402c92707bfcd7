#if TLS
  import Crypto

  /// The hashes by which certificates and grants name texts.
  package enum TextDigest {
    /// The SHA-256 of a text, in 64 hexadecimal digits in lower case.
    ///
    /// - Complexity: O(*n*) in the bytes.
    package static func sha256(of text: [UInt8]) -> String {
      SHA256.hash(data: text).reduce(into: "") { digits, byte in
        if byte < 0x10 { digits += "0" }
        digits += String(byte, radix: 16)
      }
    }
  }
#endif
