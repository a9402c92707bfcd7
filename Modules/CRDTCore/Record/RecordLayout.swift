/// The layout of a record; `Documentation/FileFormat.md` specifies it to the byte.
///
/// Integers in a record are little-endian. A record is: header, root map node, heap and nested nodes
/// in the order written, then the merge metadata, which a fresh document does not have.
enum RecordLayout {
  static let version: UInt8 = 2
  static let headerBytes = 28

  /// Offsets in the header.
  static let flagsOffset = 1
  /// The number of bytes in nodes and heap that nothing refers to.
  static let deadOffset = 2
  static let checksumOffset = 4
  static let rootOffset = 8
  static let metadataOffset = 12
  static let baseReadingOffset = 16
  static let baseSiteOffset = 24

  /// Bits of the flags byte.
  static let aliveFlag: UInt8 = 1
  static let metadataFlag: UInt8 = 2
  /// The base writer is this store's own site since the store holds the document.
  static let ownFlag: UInt8 = 4
  static let knownFlags: UInt8 = 7

  /// Returns how many dead bytes a record with that many bytes before its metadata may contain.
  static func deadLimit(_ bytes: Int) -> Int { min(64 + bytes / 4, Int(UInt16.max)) }

  /// The most keys of a map that uses key ids; a larger map carries its keys, for a binary search.
  static let idKeys = 256

  /// The lowest byte of a slot.
  enum Tag: UInt8 {
    case null = 0
    case no = 1
    case yes = 2
    /// Payload: 56 bits, signed.
    case int = 3
    /// Payload: offset of 8 bytes.
    case wideInt = 4
    case double = 5
    /// Payload: a Float's bits, for values that it holds exactly.
    case shortDouble = 6
    /// Payload: a length up to 6, then the bytes.
    case shortString = 7
    /// Payload: offset (32 bits) and length (24 bits; if all ones, a 32-bit length precedes the bytes).
    case string = 8
    case bytes = 9
    /// The items' canonical encoding as one array.
    case array = 10
    /// Payload: offset of a map node.
    case map = 11
    case counter = 12
    case wideCounter = 13
    case attachment = 14
  }

  static let longLength: UInt64 = 0xFF_FFFF
}

extension RawSpan {
  /// Returns the little-endian integer at `offset`; zero if it is not completely inside.
  @inline(__always)
  func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type = T.self) -> T {
    guard offset >= 0, byteCount - offset >= MemoryLayout<T>.size else { return 0 }
    return T(littleEndian: unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
  }

  /// Returns the bytes of a range, or none if the range is not inside.
  @_lifetime(copy self)
  func clipped(_ offset: Int, _ count: Int) -> RawSpan {
    guard offset >= 0, count >= 0, offset <= byteCount, count <= byteCount - offset else {
      return extracting(0..<0)
    }
    return extracting(offset..<offset + count)
  }
}
