#if Server
  import Crypto
  import Foundation

  /// A secret of 256 random bits, as a text that only its owner has.
  struct Secret {
    private static let byteCount = 32

    let bytes: [UInt8]

    /// Makes a new secret.
    init() {
      var generator = SystemRandomNumberGenerator()
      bytes = (0..<Self.byteCount / 8).flatMap { _ in
        withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
      }
    }

    /// Reads a text.
    ///
    /// - Returns: `nil` for anything other than a secret.
    init?(_ text: Substring) {
      guard text.utf8.count == 43,
        let data = Data(base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + "="),
        data.count == Self.byteCount
      else { return nil }
      bytes = Array(data)
    }

    /// The text: base64 for URLs, without padding.
    var text: String {
      Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
    }
  }

  /// The stored form of a secret: its SHA-256.
  struct SecretHash: Hashable {
    let bytes: [UInt8]

    /// The hash of a secret's bytes.
    init(of secret: [UInt8]) { bytes = Array(SHA256.hash(data: secret)) }

    /// A stored hash.
    init(kept bytes: [UInt8]) { self.bytes = bytes }

    /// Whether both are of the same secret; takes equally long for a different one.
    func isSame(as other: SecretHash) -> Bool {
      guard bytes.count == other.bytes.count else { return false }
      return zip(bytes, other.bytes).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
  }
#endif
