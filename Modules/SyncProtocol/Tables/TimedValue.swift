import CRDTCore
import DocStore

/// A value in sync's tables: the time of the write in the store's milliseconds, then the content.
struct TimedValue {
  /// The size of the time in bytes.
  static let timeBytes = 8

  let time: UInt64
  let bytes: [UInt8]

  /// Reads a stored value; `nil` if it is too short for a time.
  init?(_ stored: [UInt8]) {
    guard let time = Self.time(stored) else { return nil }
    self.time = time
    bytes = Array(stored[Self.timeBytes...])
  }

  /// Reads the time from the first bytes of a value.
  static func time(_ head: [UInt8]) -> UInt64? {
    var reader = ByteReader(head.span.bytes)
    return try? reader.readFixed()
  }

  /// Returns a value with `bytes` and the current time.
  static func encode(_ bytes: [UInt8], in write: WriteTransaction) throws -> [UInt8] {
    var value = ByteWriter(capacity: bytes.count + timeBytes)
    value.writeFixed(try write.lastingTime())
    value.write(bytes)
    return value.bytes
  }
}
