/// The canonical encoding of a value: each value has one byte sequence, and the bytes' order breaks ties.
package enum ValueCodec {
  package enum Tag: UInt8 {
    case null = 0
    case no = 1
    case yes = 2
    case int = 3
    case double = 4
    case string = 5
    case bytes = 6
    case array = 7
    case map = 8
    case counter = 9
    case attachment = 10
  }

  /// The one bit pattern of every NaN.
  static let canonicalNaN: UInt64 = 0x7FF8_0000_0000_0000

  static func canonicalBits(_ value: Double) -> UInt64 { value.isNaN ? canonicalNaN : value.bitPattern }

  static func tag(of value: Value) -> Tag {
    switch value {
    case .null: .null
    case .bool(let value): value ? .yes : .no
    case .int: .int
    case .double: .double
    case .string, .decimal: .string
    case .bytes: .bytes
    case .array: .array
    case .map: .map
    case .counter: .counter
    case .attachment: .attachment
    }
  }

  package static func write(_ value: Value, to writer: inout ByteWriter) {
    writer.write(tag(of: value).rawValue)
    writeContent(value, to: &writer)
  }

  /// The number of bytes that ``write(_:to:)`` writes, without writing texts and containers.
  ///
  /// - Complexity: O(*n*) in the values.
  package static func byteCount(of value: Value) -> Int {
    switch value {
    case .string(let text): return 1 + byteCount(ofLength: text.utf8.count)
    case .bytes(let blob): return 1 + byteCount(ofLength: blob.count)
    case .array(let values):
      return values.reduce(1 + varintBytes(values.count)) { $0 + byteCount(of: $1) }
    case .map(let fields):
      return fields.reduce(1 + varintBytes(fields.count)) {
        $0 + byteCount(ofLength: $1.key.utf8.count) + byteCount(of: $1.value)
      }
    case .null, .bool, .int, .double, .decimal, .counter, .attachment:
      var writer = ByteWriter()
      write(value, to: &writer)
      return writer.count
    }
  }

  /// The bytes of a text or a blob with its length.
  private static func byteCount(ofLength count: Int) -> Int { varintBytes(count) + count }

  private static func varintBytes(_ count: Int) -> Int {
    max(1, (Int.bitWidth - count.leadingZeroBitCount + 6) / 7)
  }

  /// Writes the content that follows the tag.
  static func writeContent(_ value: Value, to writer: inout ByteWriter) {
    switch value {
    case .null, .bool: return
    case .int(let value), .counter(let value): writer.writeSignedVarint(value)
    case .double(let value): writer.writeFixed(canonicalBits(value))
    case .string(let value): writer.writeString(value)
    case .decimal(let value): writer.writeString(value.text)
    case .bytes(let value): writer.writeBlob(value)
    case .array(let values):
      writer.writeVarint(values.count)
      for value in values { write(value, to: &writer) }
    case .map(let fields):
      writer.writeVarint(fields.count)
      for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
        writer.writeString(key.text)
        write(value, to: &writer)
      }
    case .attachment(let token):
      writer.writeBlob(token.id)
      writer.writeVarint(token.byteCount)
      writer.writeVarint(token.metadata.count)
      for (key, value) in token.metadata.sorted(by: { $0.key < $1.key }) {
        writer.writeString(key.text)
        writer.writeString(value.text)
      }
    }
  }

  /// Reads one value; refuses a non-canonical encoding and a map of more than `keys` keys.
  package static func read(
    _ reader: inout ByteReader, depth: Int = 1, keys: Int = .max
  ) throws(CodecError) -> Value {
    let start = reader.offset
    guard let tag = Tag(rawValue: try reader.readByte()) else {
      throw CodecError(.malformed, "a value has an unknown type", at: start)
    }
    return try readContent(tag, &reader, depth: depth, keys: keys)
  }

  /// Skips one value without reading it, and checks only its length.
  package static func skip(_ reader: inout ByteReader, depth: Int = 1) throws(CodecError) {
    guard let tag = Tag(rawValue: try reader.readByte()) else {
      throw reader.failure(.malformed, "a value has an unknown type")
    }
    switch tag {
    case .null, .no, .yes: return
    case .int, .counter: _ = try reader.readVarint()
    case .double: _ = try reader.readBytes(8)
    case .string, .bytes: _ = try reader.readBlob()
    case .array:
      try checkDepth(depth, reader)
      for _ in 0..<(try reader.readCount()) { try skip(&reader, depth: depth + 1) }
    case .map:
      try checkDepth(depth, reader)
      for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
        _ = try reader.readBlob()
        try skip(&reader, depth: depth + 1)
      }
    case .attachment:
      _ = try reader.readBlob()
      _ = try reader.readVarint()
      for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
        _ = try reader.readBlob()
        _ = try reader.readBlob()
      }
    }
  }

  /// Reads the content after a value's tag.
  ///
  /// `depth` counts the containers down to this value, itself included.
  static func readContent(
    _ tag: Tag, _ reader: inout ByteReader, depth: Int, keys: Int = Limits.keysPerMap
  ) throws(CodecError) -> Value {
    switch tag {
    case .null: return .null
    case .no: return .bool(false)
    case .yes: return .bool(true)
    case .int: return .int(try reader.readSignedVarint())
    case .double: return .double(try readDouble(&reader))
    case .string: return .string(try reader.readString())
    case .bytes:
      let blob = try reader.readBlob()
      return .bytes(unsafe blob.withUnsafeBytes { unsafe Array($0) })
    case .array:
      try checkDepth(depth, reader)
      var values: [Value] = []
      for _ in 0..<(try reader.readCount()) {
        values.append(try read(&reader, depth: depth + 1, keys: keys))
      }
      return .array(values)
    case .map:
      try checkDepth(depth, reader)
      var fields: [TextKey: Value] = [:]
      var previous: TextKey?
      for _ in 0..<(try reader.readKeyCount(limit: keys)) {
        let key = try readSortedKey(&reader, after: &previous)
        fields[key] = try read(&reader, depth: depth + 1, keys: keys)
      }
      return .map(fields)
    case .counter: return .counter(try reader.readSignedVarint())
    case .attachment: return .attachment(try readToken(&reader))
    }
  }

  /// Skips the content after a value's tag, and checks that it is canonical.
  ///
  /// - Returns: `false` if that cannot be checked without reading some part of it.
  static func passPlain(_ tag: Tag, _ reader: inout ByteReader, depth: Int) throws(CodecError) -> Bool {
    switch tag {
    case .null, .no, .yes: break
    case .int: _ = try reader.readVarint()
    case .double: _ = try readDouble(&reader)
    case .bytes: _ = try reader.readBlob()
    case .string:
      let start = reader.offset
      guard try reader.readBlob().isPlainText else {
        throw CodecError(.malformed, "a string is not UTF-8", at: start)
      }
    case .array:
      try checkDepth(depth, reader)
      for _ in 0..<(try reader.readCount()) {
        let start = reader.offset
        guard let tag = Tag(rawValue: try reader.readByte()) else {
          throw CodecError(.malformed, "a value has an unknown type", at: start)
        }
        guard try passPlain(tag, &reader, depth: depth + 1) else { return false }
      }
    case .map, .counter, .attachment: return false
    }
    return true
  }

  private static func checkDepth(_ depth: Int, _ reader: borrowing ByteReader) throws(CodecError) {
    guard depth <= Limits.depth else { throw reader.failure(.limit, "a value is nested too deep") }
  }

  package static func readDouble(_ reader: inout ByteReader) throws(CodecError) -> Double {
    let bits: UInt64 = try reader.readFixed()
    let value = Double(bitPattern: bits)
    guard bits == canonicalBits(value) else { throw reader.failure(.malformed, "a NaN is not canonical") }
    return value
  }

  static func readSortedKey(_ reader: inout ByteReader, after previous: inout TextKey?) throws(CodecError)
    -> TextKey
  {
    let start = reader.offset
    let key = TextKey(try reader.readString())
    if let previous, previous >= key {
      throw CodecError(.malformed, "keys are not in ascending order", at: start)
    }
    previous = key
    return key
  }

  /// Reads the name of a document's field or of a map's key, which comes after `previous`.
  ///
  /// A document's own fields have depth 0; the id is none of them.
  static func readFieldName(
    _ reader: inout ByteReader, depth: Int, after previous: inout TextKey?
  ) throws(CodecError) -> TextKey {
    let start = reader.offset
    let key = try readSortedKey(&reader, after: &previous)
    guard key.utf8.count <= UInt16.max else { throw CodecError(.limit, "a key is too long", at: start) }
    guard depth > 0 || key != "_id" else { throw CodecError(.malformed, "an _id is no field", at: start) }
    return key
  }

  static func readToken(_ reader: inout ByteReader) throws(CodecError) -> AttachmentToken {
    let blob = try reader.readBlob()
    let id = unsafe blob.withUnsafeBytes { unsafe Array($0) }
    let byteCount = try reader.readVarint()
    var metadata: [TextKey: TextKey] = [:]
    var previous: TextKey?
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      let key = try readSortedKey(&reader, after: &previous)
      metadata[key] = TextKey(try reader.readString())
    }
    return AttachmentToken(id: id, byteCount: byteCount, metadata: metadata)
  }
}

extension ByteReader {
  /// Reads how many keys follow in a map of a document.
  mutating func readKeyCount(limit: Int = Limits.keysPerMap) throws(CodecError) -> Int {
    let start = offset
    let count = try readCount(minimumBytes: 2)
    guard count <= limit else { throw CodecError(.limit, "a map has \(count) keys", at: start) }
    return count
  }
}
