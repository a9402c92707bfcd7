import CRDTCore
import DocStore

/// A value of sync's tables in the store: the store's time in milliseconds when it was written, then its bytes.
struct TimedValue {
  /// Bytes of the time.
  static let timeBytes = 8

  let time: UInt64
  let bytes: [UInt8]

  /// Reads a stored value; `nil` for one without a time.
  init?(_ stored: [UInt8]) {
    guard let time = Self.time(stored) else { return nil }
    self.time = time
    bytes = Array(stored[Self.timeBytes...])
  }

  /// The time alone, of the first bytes of a value.
  static func time(_ head: [UInt8]) -> UInt64? {
    var reader = ByteReader(head.span.bytes)
    return try? reader.readFixed()
  }

  /// The value of `bytes` that are written now.
  static func encode(_ bytes: [UInt8], in transaction: WriteTransaction) throws -> [UInt8] {
    var value = ByteWriter(capacity: bytes.count + timeBytes)
    value.writeFixed(try transaction.lastingTime())
    value.write(bytes)
    return value.bytes
  }
}
