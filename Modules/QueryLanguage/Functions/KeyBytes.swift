package import CRDTCore

/// Values as bytes that are equal where queries find the values equal.
///
/// They are the keys of groups and of distinct rows. Numbers are equal by value whatever their kind, strings
/// by their bytes. Null equals only null, and MISSING only MISSING.
package enum KeyBytes {
  private enum Tag: UInt8 {
    case no, yes, whole, fraction, bytes, string, array, object, attachment, null, missing, decimal
  }

  package static func append(_ value: Value?, to key: inout [UInt8]) {
    switch value {
    case .bool(let flag): append(flag, to: &key)
    case .int(let number), .counter(let number): append(number, to: &key)
    case .double(let number): append(number, to: &key)
    case .bytes(let bytes):
      append(.bytes, count: bytes.count, to: &key)
      key += bytes
    case .string(let text): append(text, to: &key)
    case .decimal(let number):
      key.append(Tag.decimal.rawValue)
      append(number.text, to: &key)
    case .array(let elements):
      append(.array, count: elements.count, to: &key)
      for element in elements { append(element, to: &key) }
    case .map(let members):
      append(.object, count: members.count, to: &key)
      for (name, value) in SortOrder.sorted(members) {
        append(name.text, to: &key)
        append(value, to: &key)
      }
    case .attachment(let token):
      append(.attachment, count: token.id.count, to: &key)
      key += token.id
      append(Int64(clamping: token.byteCount), to: &key)
      append(.map(token.metadata.mapValues { .string($0.text) }), to: &key)
    case .null: key.append(Tag.null.rawValue)
    case nil: key.append(Tag.missing.rawValue)
    }
  }

  static func append(_ flag: Bool, to key: inout [UInt8]) { key.append((flag ? Tag.yes : .no).rawValue) }

  static func append(_ number: Int64, to key: inout [UInt8]) {
    key.append(Tag.whole.rawValue)
    appendWord(UInt64(bitPattern: number), to: &key)
  }

  static func append(_ number: Double, to key: inout [UInt8]) {
    if let whole = Int64(exactly: number) { return append(whole, to: &key) }
    key.append(Tag.fraction.rawValue)
    appendWord(number.isNaN ? 0 : number.bitPattern, to: &key)
  }

  /// Appends a string, or a byte value, read in place.
  static func append(_ span: RawSpan, isText: Bool, to key: inout [UInt8]) {
    append(isText ? .string : .bytes, count: span.byteCount, to: &key)
    unsafe span.withUnsafeBytes { unsafe key.append(contentsOf: $0) }
  }

  private static func append(_ text: String, to key: inout [UInt8]) {
    append(.string, count: text.utf8.count, to: &key)
    key += text.utf8
  }

  private static func append(_ tag: Tag, count: Int, to key: inout [UInt8]) {
    key.append(tag.rawValue)
    appendWord(UInt64(count), to: &key)
  }

  private static func appendWord(_ word: UInt64, to key: inout [UInt8]) {
    unsafe withUnsafeBytes(of: word.littleEndian) { unsafe key.append(contentsOf: $0) }
  }
}
