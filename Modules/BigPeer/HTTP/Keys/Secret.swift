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
      guard text.utf8.count == 43 else { return nil }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(Self.byteCount)
      var bits: UInt32 = 0
      var count = 0
      for letter in text.utf8 {
        guard let digit = Self.digit(letter) else { return nil }
        bits = bits << 6 | digit
        count += 6
        guard count >= 8 else { continue }
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
      // Each secret has one text: the bits that are left over are zero.
      guard bits & (1 << UInt32(count) - 1) == 0 else { return nil }
      self.bytes = bytes
    }

    /// The six bits of a letter, in both alphabets of base64.
    private static func digit(_ letter: UInt8) -> UInt32? {
      switch letter {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
      case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a")) + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0")) + 52
      case UInt8(ascii: "-"), UInt8(ascii: "+"): 62
      case UInt8(ascii: "_"), UInt8(ascii: "/"): 63
      default: nil
      }
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
