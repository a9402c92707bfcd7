/// A document's immutable id as its canonical bytes, which also order the documents of a collection.
///
/// Integers order by value and strings by their UTF-8 bytes; types order as boolean, integer,
/// string, bytes, array, map.
public struct DocumentID: Hashable, Sendable, Comparable {
  /// The canonical bytes; at most `Limits.documentIDBytes`.
  public let bytes: [UInt8]

  private enum Tag: UInt8 {
    case bool = 1
    case int = 2
    case string = 3
    case bytes = 4
    case array = 5
    case map = 6
  }

  /// The first byte of a string id.
  static let stringTag = Tag.string.rawValue

  /// Encodes an id.
  ///
  /// - Throws: `invalidID` for null, a double, a counter or an attachment anywhere in it, and for more
  ///   than `Limits.documentIDBytes` encoded bytes.
  public init(_ value: Value) throws(DocumentError) {
    var writer = ByteWriter(capacity: 40)
    switch value {
    case .bool(let value):
      writer.write(Tag.bool.rawValue)
      writer.write(value ? 1 as UInt8 : 0)
    case .int(let value):
      writer.write(Tag.int.rawValue)
      writer.writeFixed(UInt64(bitPattern: value) ^ (1 << 63))
    case .string(let value):
      writer.write(Tag.string.rawValue)
      writer.write(value.utf8)
    case .bytes(let value):
      writer.write(Tag.bytes.rawValue)
      writer.write(value)
    case .array, .map:
      guard Self.isAllowed(value, depth: 1) else {
        throw DocumentError(
          .invalidID, "an _id holds only strings, integers, booleans, bytes, arrays and maps")
      }
      if case .array = value { writer.write(Tag.array.rawValue) } else { writer.write(Tag.map.rawValue) }
      ValueCodec.write(value, to: &writer)
    case .null: throw DocumentError(.invalidID, "Null document ID not allowed")
    case .double: throw DocumentError(.invalidID, "Floats are not supported in document IDs")
    case .counter, .attachment: throw DocumentError(.invalidID, "an _id cannot be a counter or an attachment")
    case .decimal: throw DocumentError(.invalidID, "an _id cannot be a decimal number")
    }
    guard writer.count <= Limits.documentIDBytes else {
      throw DocumentError(
        .invalidID, "an _id takes \(writer.count) bytes, at most \(Limits.documentIDBytes) are allowed")
    }
    bytes = writer.bytes
  }

  /// A string id.
  public init(_ string: String) throws(DocumentError) { try self.init(.string(string)) }

  /// Makes an id from canonical bytes from disk or the network, and refuses any other bytes.
  public init(validating span: RawSpan) throws(CodecError) {
    guard span.byteCount <= Limits.documentIDBytes else { throw CodecError(.limit, "an _id is too long") }
    if let text = Self.string(in: span), text.isPlainText {
      self.bytes = unsafe span.withUnsafeBytes { unsafe Array($0) }
      return
    }
    let value = try Self.decode(span)
    let bytes = unsafe span.withUnsafeBytes { unsafe Array($0) }
    guard let canonical = try? DocumentID(value), canonical.bytes == bytes else {
      throw CodecError(.malformed, "an _id is not canonical")
    }
    self.bytes = bytes
  }

  /// Makes an id from bytes that are known to be canonical, such as a store's own keys.
  package init(trusted bytes: [UInt8]) { self.bytes = bytes }

  /// The id as a value; null if the bytes are damaged.
  public var value: Value { (try? Self.decode(bytes.span.bytes)) ?? .null }

  /// Decodes an id's bytes in place.
  package static func decode(_ span: RawSpan) throws(CodecError) -> Value {
    var reader = ByteReader(span)
    guard let tag = Tag(rawValue: try reader.readByte()) else {
      throw CodecError(.malformed, "an _id has an unknown type")
    }
    let value: Value
    switch tag {
    case .bool: value = .bool(try reader.readByte() != 0)
    case .int: value = .int(Int64(bitPattern: try reader.readFixed(as: UInt64.self) ^ (1 << 63)))
    case .string:
      let rest = try reader.readBytes(reader.remaining)
      guard let string = rest.text else {
        throw CodecError(.malformed, "an _id is not UTF-8", at: 1)
      }
      value = .string(string)
    case .bytes:
      let rest = try reader.readBytes(reader.remaining)
      value = .bytes(unsafe rest.withUnsafeBytes { unsafe Array($0) })
    case .array, .map: value = try ValueCodec.read(&reader)
    }
    guard reader.isAtEnd else { throw reader.failure(.malformed, "an _id has bytes left over") }
    return value
  }

  /// Returns the UTF-8 of a string id inside its bytes; `nil` for ids of other types.
  @_lifetime(copy span)
  package static func string(in span: RawSpan) -> RawSpan? {
    guard span.byteCount > 0, span.byte(at: 0) == Tag.string.rawValue else { return nil }
    return span.extracting(1..<span.byteCount)
  }

  private static func isAllowed(_ value: Value, depth: Int) -> Bool {
    switch value {
    case .null, .double, .counter, .attachment, .decimal: return false
    case .bool, .int, .string, .bytes: return true
    case .array(let values):
      return depth <= Limits.depth && values.allSatisfy { isAllowed($0, depth: depth + 1) }
    case .map(let fields):
      return depth <= Limits.depth && fields.values.allSatisfy { isAllowed($0, depth: depth + 1) }
    }
  }

  public static func < (a: DocumentID, b: DocumentID) -> Bool {
    a.bytes.span.bytes.compare(b.bytes.span.bytes) < 0
  }
}

extension DocumentID {
  /// The name of the document in log lines above the level debug.
  ///
  /// Ids are data of the application, and people may be named by them, so these lines contain a digest. The
  /// probability that any two of a million documents share one is below one in five hundred.
  package var digest: String { Self.digest(of: bytes.span.bytes) }

  /// Returns the digest of an encoded id.
  package static func digest(of id: RawSpan) -> String {
    let digits = String(HashLanes(id).first >> 16, radix: 16)
    return "#" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  /// Returns a line for the log at debug that says which document a digest belongs to.
  package func digestLine(in collection: String) -> String {
    "\(digest) is the document \(nameInMessages) of '\(collection)'"
  }

  /// The name of the document in messages: its id, or the id's length if the id is not a simple value.
  package var nameInMessages: String {
    switch value {
    case .string(let name): "'\(name)'"
    case .int(let number): "\(number)"
    case .bool(let flag): "\(flag)"
    case .bytes, .array, .map, .null, .double, .counter, .attachment, .decimal:
      "with an _id of \(bytes.count) bytes"
    }
  }
}

extension RawSpan {
  func byte(at offset: Int) -> UInt8 { unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self) }
}
