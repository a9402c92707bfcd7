import CRDTCore
import DocStore

/// A position in the log of one store, from which a reader of changes continues; clients see opaque text.
///
/// It has the log's epoch, the last commit that the reader has, and a part of that commit's random id. These
/// distinguish it from a position of another store, or of a log that was restored from a backup.
public struct FeedPosition: Hashable, Sendable {
  let epoch: UInt64
  /// The last commit that is included.
  public let sequence: UInt64
  let check: UInt32

  init(epoch: UInt64, sequence: UInt64, check: UInt32) {
    (self.epoch, self.sequence, self.check) = (epoch, sequence, check)
  }

  /// A position in no log; a reader that starts there gets `requeryRequired`.
  public static let unknown = FeedPosition(epoch: 0, sequence: .max, check: 0)

  private static let version: UInt8 = 1
  private static let byteCount = 21

  /// The position as text: 28 letters, digits, hyphens and underscores.
  public var token: String {
    var bytes = ByteWriter(capacity: Self.byteCount)
    bytes.write(Self.version)
    bytes.writeFixed(epoch)
    bytes.writeFixed(sequence)
    bytes.writeFixed(check)
    return JSON.base64(bytes.bytes).replacing("+", with: "-").replacing("/", with: "_")
  }

  /// Reads a position from its text.
  ///
  /// - Throws: `argument` for a text that no store creates.
  public init(token: String) throws(FeedError) {
    guard let bytes = Self.bytes(of: token), let position = Self(bytes) else {
      throw FeedError(.argument, "this is no position in a change feed")
    }
    self = position
  }

  private init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes.span.bytes)
    guard bytes.count == Self.byteCount, (try? reader.readByte()) == Self.version,
      let epoch: UInt64 = try? reader.readFixed(), let sequence: UInt64 = try? reader.readFixed(),
      let check: UInt32 = try? reader.readFixed()
    else { return nil }
    self.init(epoch: epoch, sequence: sequence, check: check)
  }

  /// Base64 with the alphabet for URLs (RFC 4648, section 5) and without padding.
  private static func bytes(of token: String) -> [UInt8]? {
    guard token.utf8.count == byteCount / 3 * 4 else { return nil }
    var bytes: [UInt8] = []
    var (word, count) = (UInt32(0), 0)
    for character in token.utf8 {
      guard let digit = digit(character) else { return nil }
      word = word << 6 | digit
      count += 1
      guard count == 4 else { continue }
      bytes += [UInt8(word >> 16 & 255), UInt8(word >> 8 & 255), UInt8(word & 255)]
      (word, count) = (0, 0)
    }
    return bytes
  }

  private static func digit(_ character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}

extension FeedPosition: CustomStringConvertible {
  public var description: String { token }
}
