/// Writes a document as JSON text straight from its record, without values in between.
///
/// It is the fast path beside `RecordView.fields` and `JSONWriter`, the slow path, which is its oracle in
/// tests. Where anything about a record is unusual, it gives up, and the slow path decides.
struct RecordTextWriter: ~Copyable {
  private var text: TextBuffer
  private let options: JSON.WriteOptions
  private var budget: EntryBudget

  /// Why a record is left to the slow path; nobody sees it.
  private static let givesUp = CodecError(.malformed, "the record is left to the slow path")

  private init(_ record: borrowing RecordView, _ options: JSON.WriteOptions) {
    text = TextBuffer(capacity: record.byteCount + record.byteCount / 2)
    self.options = options
    budget = EntryBudget(record.bytes)
  }

  /// Appends the text of a document.
  ///
  /// - Returns: `false`, with nothing appended, for a record that is left to the slow path.
  static func append(
    _ record: borrowing RecordView, id: DocumentID?, _ keys: KeyTable, to bytes: inout [UInt8],
    _ options: JSON.WriteOptions
  ) -> Bool {
    guard !options.isPretty else { return false }
    var writer = RecordTextWriter(record, options)
    do throws(CodecError) {
      try writer.writeMap(record.root, keys, depth: 0, id: id)
    } catch {
      return false
    }
    writer.text.copy(to: &bytes)
    return true
  }

  // MARK: - Maps

  private mutating func writeMap(
    _ map: MapNode, _ keys: KeyTable, depth: Int, id: DocumentID? = nil
  ) throws(CodecError) {
    guard depth <= Limits.depth, budget.take(map.count) else { throw Self.givesUp }
    text.append(UInt8(ascii: "{"))
    var isFirst = true
    var owesID = id != nil
    var lastRank = -1
    for index in 0..<map.count {
      let name = try Self.name(of: index, map, keys, &lastRank)
      if depth == 0 {
        // Most keys begin with a small letter, which is above `_`.
        let order = name.byteCount > 0 && name.byte(at: 0) > UInt8(ascii: "_") ? 1 : Self.orderByID(name)
        // A document has no field `_id`.
        guard order != 0 else { throw Self.givesUp }
        if owesID, order > 0, let id {
          try writeID(id, isFirst)
          (isFirst, owesID) = (false, false)
        }
      }
      if !isFirst { text.append(UInt8(ascii: ",")) }
      isFirst = false
      text.append(UInt8(ascii: "\""))
      if options.escapesTags, map.count == 1, id == nil, Self.isTag(name) { text.append(UInt8(ascii: "$")) }
      writeContent(of: name)
      text.append("\":")
      try write(ValueRef(map.record, slotAt: map.slotOffset(index)), keys, depth: depth)
    }
    if owesID, let id { try writeID(id, isFirst) }
    text.append(UInt8(ascii: "}"))
  }

  /// The name of a map's key, which must be above the name before it.
  @inline(__always)
  @_lifetime(copy map, borrow keys)
  private static func name(
    of index: Int, _ map: MapNode, _ keys: borrowing KeyTable, _ lastRank: inout Int
  ) throws(CodecError) -> RawSpan {
    if map.carriesKeys {
      let name = map.inlineKey(index)
      guard name.isUTF8, index == 0 || map.inlineKey(index - 1).compare(name) < 0 else { throw givesUp }
      return name
    }
    guard let name = keys.nameInOrder(map.keyID(index)), Int(name.rank) > lastRank else { throw givesUp }
    lastRank = Int(name.rank)
    return name.bytes
  }

  private static func isTag(_ name: RawSpan) -> Bool {
    guard name.byteCount > 0, name.byte(at: 0) == UInt8(ascii: "$") else { return false }
    return name.text.map { JSONTag.isTag(TextKey($0)) } ?? false
  }

  private static let idName = Array("_id".utf8)

  /// The order of a name and `_id`: above zero where `_id` comes first.
  private static func orderByID(_ name: RawSpan) -> Int { name.compare(idName.span.bytes) }

  private mutating func writeID(_ id: DocumentID, _ isFirst: Bool) throws(CodecError) {
    text.append(isFirst ? "\"_id\":" : ",\"_id\":")
    if let string = DocumentID.string(in: id.bytes.span.bytes) {
      try writeString(string)
    } else {
      write(id.value)
    }
  }

  // MARK: - Values

  private mutating func write(_ value: ValueRef, _ keys: KeyTable, depth: Int) throws(CodecError) {
    switch value.kind {
    case .null: text.append("null")
    case .bool: text.append(value.bool ? "true" : "false")
    case .int: text.append(value.int)
    case .double: write(value.double)
    case .counter: if options.isLossless { write(.counter(value.int)) } else { text.append(value.int) }
    case .string: try writeString(value.bytes)
    case .bytes: write(.bytes(unsafe value.bytes.withUnsafeBytes { unsafe Array($0) }))
    case .array, .attachment:
      var reader = ByteReader(value.bytes)
      try writeEncoded(&reader, depth: 1)
    case .map: try writeMap(value.node, keys, depth: depth + 1)
    }
  }

  /// Writes a value in its canonical encoding, checked as `ValueCodec.read` checks it.
  private mutating func writeEncoded(_ reader: inout ByteReader, depth: Int) throws(CodecError) {
    guard let tag = ValueCodec.Tag(rawValue: try reader.readByte()) else { throw Self.givesUp }
    switch tag {
    case .null: text.append("null")
    case .no: text.append("false")
    case .yes: text.append("true")
    case .int: text.append(try reader.readSignedVarint())
    case .double: write(try ValueCodec.readDouble(&reader))
    case .string: try writeString(try reader.readBlob())
    case .array:
      guard depth <= Limits.depth else { throw Self.givesUp }
      text.append(UInt8(ascii: "["))
      for index in 0..<(try reader.readCount()) {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        try writeEncoded(&reader, depth: depth + 1)
      }
      text.append(UInt8(ascii: "]"))
    case .bytes, .map, .counter, .attachment:
      write(try ValueCodec.readContent(tag, &reader, depth: depth, keys: .max))
    }
  }

  /// Writes a value that is rare or expensive anyway.
  private mutating func write(_ value: Value) {
    var bytes: [UInt8] = []
    JSON.write(value, to: &bytes, options: options)
    text.append(bytes.span.bytes)
  }

  private mutating func write(_ number: Double) {
    if number.isFinite { text.append(number.description) } else { write(.double(number)) }
  }

  // MARK: - Strings

  private mutating func writeString(_ string: RawSpan) throws(CodecError) {
    let plain = string.plainJSONCount(from: 0)
    if plain < string.byteCount, !string.isUTF8 { throw Self.givesUp }
    text.append(UInt8(ascii: "\""))
    if plain == string.byteCount { text.append(string) } else { writeContent(of: string) }
    text.append(UInt8(ascii: "\""))
  }

  /// Writes UTF-8 without its quotes, and escapes what must be escaped.
  private mutating func writeContent(of string: RawSpan) {
    var start = 0
    while true {
      let end = string.plainJSONCount(from: start, beyondASCII: true)
      text.append(string.extracting(start..<end))
      guard end < string.byteCount else { return }
      writeEscape(of: string.byte(at: end))
      start = end + 1
    }
  }

  private mutating func writeEscape(of byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): text.append("\\\"")
    case UInt8(ascii: "\\"): text.append("\\\\")
    case 0x08: text.append("\\b")
    case 0x09: text.append("\\t")
    case 0x0A: text.append("\\n")
    case 0x0C: text.append("\\f")
    case 0x0D: text.append("\\r")
    default:
      text.append(byte < 0x10 ? "\\u000" : "\\u00")
      text.append(String(byte, radix: 16))
    }
  }
}

extension RawSpan {
  /// The offset of the first byte from `start` on that JSON escapes; the count of bytes if there is none.
  ///
  /// - Parameters:
  ///   - start: Where to begin.
  ///   - beyondASCII: Whether bytes above 127 count as plain, because the bytes are known to be UTF-8.
  /// - Returns: The offset. Eight bytes are compared at once.
  @inline(__always)
  fileprivate func plainJSONCount(from start: Int, beyondASCII: Bool = false) -> Int {
    let highs: UInt64 = 0x8080_8080_8080_8080
    let refused = beyondASCII ? 0 : highs
    var offset = start
    while byteCount &- offset >= 8 {
      let found = Self.escapes(word(at: offset), refused)
      if found != 0 { return offset &+ found.trailingZeroBitCount / 8 }
      offset &+= 8
    }
    let rest = byteCount &- offset
    if rest <= 0 { return byteCount }
    // The bytes behind the end are spaces, which are plain.
    let spaces: UInt64 = 0x2020_2020_2020_2020
    let word = shortTail(from: offset) | spaces << UInt64(truncatingIfNeeded: 8 &* rest)
    let found = Self.escapes(word, refused)
    return found != 0 ? offset &+ found.trailingZeroBitCount / 8 : byteCount
  }

  /// A bit in each byte of a word that JSON escapes, or that is in `refused`.
  ///
  /// Bytes above the lowest one with a bit may have one for nothing.
  ///
  /// Source: Anderson, "Bit Twiddling Hacks", "Determine if a word has a byte less than n".
  @inline(__always)
  private static func escapes(_ word: UInt64, _ refused: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
    let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
    let below = (word &- ones &* 0x20) & ~word
    let equal = (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
    return (below | equal) & highs | word & refused
  }
}
