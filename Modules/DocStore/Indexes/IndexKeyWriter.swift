import CRDTCore

/// Writes values as bytes that compare like the values in a query's order.
///
/// No encoded value is a prefix of another one, so values can follow each other in one key. A value whose
/// bytes are all flipped sorts in descending order. `Documentation/FileFormat.md` specifies the encoding.
struct IndexKeyWriter {
  /// The maximum length of one row's values, well below LMDB's limit of 511 bytes for a key.
  static let valueBytes = 251

  /// The first byte of a value, in the order of types.
  enum Tag: UInt8 {
    case no = 0x10
    case yes = 0x11
    case notANumber = 0x20
    case negative = 0x21
    case positive = 0x22
    case binary = 0x30
    case string = 0x40
    case array = 0x50
    case object = 0x60
    case attachment = 0x70
    case null = 0x80
    case missing = 0x90
  }

  /// Ends an array or object; lower than every tag.
  static let end: UInt8 = 0x02
  /// Precedes each key of an object; higher than ``end``.
  static let member: UInt8 = 0x03

  private(set) var bytes: [UInt8] = []
  private var start = 0
  /// The number kinds of the values so far, and the number of fields; see ``IndexRow/numberKinds``.
  private var numberKinds: UInt16 = 0
  private var fieldCount: UInt16 = 0

  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// Appends bytes that are not a value.
  private mutating func append(_ other: RawSpan) {
    unsafe other.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Appends a complete key.
  mutating func append(_ key: [UInt8]) { bytes += key }

  mutating func append(_ document: DocumentNumber) {
    document.withBytes { append($0) }
  }

  /// Appends the number of an index, with which its rows begin.
  mutating func append(index number: UInt64) {
    if number < OrderedInteger.singleByteLimit {
      bytes.append(UInt8(truncatingIfNeeded: number))
    } else {
      bytes += OrderedInteger.bytes(number)
    }
  }

  // MARK: - The values of a row

  mutating func beginValues() {
    start = bytes.count
    (numberKinds, fieldCount) = (0, 0)
  }

  /// Cuts the values to the maximum length.
  ///
  /// - Returns: The value to store under the row's key.
  mutating func endValues() -> RowValue {
    let count = bytes.count - start
    guard count > Self.valueBytes else {
      return RowValue(valueBytes: count, isCut: false, numberKinds: numberKinds)
    }
    bytes.removeLast(count - Self.valueBytes)
    return RowValue(valueBytes: Self.valueBytes, isCut: true)
  }

  private var room: Int { max(start + Self.valueBytes + 1 - bytes.count, 0) }

  /// Whether further bytes would be cut off.
  private var isFull: Bool { room == 0 }

  /// Writes one field's value from a record; `nil` is MISSING.
  mutating func write(_ value: borrowing ValueRef?, descending: Bool, _ keys: KeyTable) throws(CodecError) {
    guard !isFull else { return }
    let first = bytes.count
    switch value {
    case nil: write(Tag.missing)
    case .some(let value):
      try write(value, keys)
      numberKinds |= NumberKind(value).rawValue << (2 * fieldCount)
    }
    fieldCount += 1
    if descending { flip(from: first) }
  }

  /// Writes one field's value; `nil` is MISSING.
  mutating func write(_ value: Value?, descending: Bool) {
    guard !isFull else { return }
    let first = bytes.count
    if let value { write(value) } else { write(Tag.missing) }
    fieldCount += 1
    if descending { flip(from: first) }
  }

  /// Writes the common prefix of all encoded strings that begin with `text`.
  mutating func write(prefix text: String, descending: Bool) {
    guard !isFull else { return }
    let first = bytes.count
    write(text)
    // Without the byte that ends it.
    bytes.removeLast()
    if descending { flip(from: first) }
  }

  private mutating func flip(from first: Int) {
    for index in first..<bytes.count { bytes[index] = ~bytes[index] }
  }

  private mutating func write(_ tag: Tag) { bytes.append(tag.rawValue) }

  private mutating func write(_ value: borrowing ValueRef, _ keys: KeyTable) throws(CodecError) {
    switch value.kind {
    case .null: write(Tag.null)
    case .bool: write(value.bool ? .yes : .no)
    case .int, .counter: write(value.int)
    case .double: write(value.double)
    case .string:
      write(.string)
      writeText(value.bytes)
    case .bytes:
      write(.binary)
      writeText(value.bytes)
    case .array, .map, .attachment: write(try value.materialize(keys))
    }
  }

  private mutating func write(_ value: Value) {
    guard !isFull else { return }
    switch value {
    case .null: write(Tag.null)
    case .bool(let flag): write(flag ? .yes : .no)
    case .int(let number), .counter(let number): write(number)
    case .double(let number): write(number)
    case .string(let string): write(string)
    case .decimal(let number): write(number.text)
    case .bytes(let content):
      write(.binary)
      writeText(content.rawBytes)
    case .array(let values):
      write(.array)
      for value in values { write(value) }
      bytes.append(Self.end)
    case .map(let fields): writeObject(fields)
    case .attachment(let token):
      write(.attachment)
      writeText(token.id.rawBytes)
      unsafe withUnsafeBytes(of: token.byteCount.bigEndian) { unsafe bytes.append(contentsOf: $0) }
      writeObject(token.metadata.mapValues { .string($0.text) })
    }
  }

  private mutating func writeObject(_ fields: [TextKey: Value]) {
    write(.object)
    for (key, value) in fields.sorted(by: { $0.key < $1.key }) where !isFull {
      bytes.append(Self.member)
      writeText(Array(key.utf8).rawBytes)
      write(value)
    }
    bytes.append(Self.end)
  }

  private mutating func write(_ string: String) {
    write(.string)
    writeText(Array(string.utf8).rawBytes)
  }

  /// Writes bytes of any length: a zero ends them; zeros and ones in them become 1, 1 and 1, 2.
  private mutating func writeText(_ text: RawSpan) {
    let text = text.extracting(0..<min(text.byteCount, room))
    let first = bytes.count
    append(text)
    // Such bytes are rare, so the text is copied at once and searched for them afterwards.
    if bytes[first...].contains(where: { $0 <= 1 }) {
      let copy = Array(bytes[first...])
      bytes.removeLast(bytes.count - first)
      for byte in copy {
        if byte <= 1 { bytes.append(1) }
        bytes.append(byte <= 1 ? byte + 1 : byte)
      }
    }
    bytes.append(0)
  }
}

// MARK: - Numbers

extension IndexKeyWriter {
  /// Writes an integer as the nearest double towards zero, and the difference.
  private mutating func write(_ number: Int64) {
    let magnitude = number.magnitude
    let surplus = max(UInt64.bitWidth - magnitude.leadingZeroBitCount - Self.significandBits, 0)
    let rest = magnitude & ((1 << UInt64(surplus)) - 1)
    write(Double(magnitude - rest), rest: rest, isNegative: number < 0)
  }

  private mutating func write(_ number: Double) {
    guard !number.isNaN else { return write(.notANumber) }
    write(number.magnitude, rest: 0, isNegative: number < 0)
  }

  /// Writes 63 bits of a double and 10 bits of the difference, seven bits to a byte.
  ///
  /// The lowest bit of a byte shows whether more bytes follow. Trailing zeros are omitted, so that common
  /// numbers take three or four bytes.
  private mutating func write(_ magnitude: Double, rest: UInt64, isNegative: Bool) {
    let flip: UInt8 = isNegative ? 0xFF : 0
    write(isNegative ? .negative : .positive)
    var word = magnitude.bitPattern << 1
    for _ in 0..<9 {
      let group = UInt8(truncatingIfNeeded: word >> 57) << 1
      word <<= 7
      let isLast = word == 0 && rest == 0
      bytes.append((isLast ? group : group | 1) ^ flip)
      if isLast { return }
    }
    let low = UInt8(truncatingIfNeeded: rest & 7)
    bytes.append((UInt8(truncatingIfNeeded: rest >> 3) << 1 | (low == 0 ? 0 : 1)) ^ flip)
    if low != 0 { bytes.append((low << 5) ^ flip) }
  }

  private static var significandBits: Int { 53 }
}
