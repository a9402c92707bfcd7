/// Converts JSON text to values and back, without Foundation.
///
/// An integer that fits 64 bits is an `.int`, any other number is a `.double`. A double is always written
/// with a fraction or an exponent, so that it is read as a double again. Values that JSON cannot express are
/// written as a *tag*, a map of one key: `{"$bytes":"<base64>"}`,
/// `{"$attachment":{"bytes":…,"id":"<base64>","metadata":{…}}}` and `{"$double":"nan"}` (also `"inf"`,
/// `"-inf"`). By default, the parser reads a tag as the plain map that it is.
public enum JSON {
  public struct ReadOptions: Sendable {
    /// Whether to convert tags to their values; then a tag with the wrong content is an error.
    public var interpretsTags: Bool

    public init(interpretsTags: Bool = false) { self.interpretsTags = interpretsTags }
  }

  public struct WriteOptions: Sendable {
    /// Whether to break lines and indent by two spaces; otherwise the text is one line without spaces.
    public var isPretty: Bool
    /// Whether a reader that interprets tags gets every value back.
    ///
    /// Counters are written as `{"$counter":n}` instead of numbers, and maps that look like tags are
    /// distinguished from tags.
    public var isLossless: Bool
    /// Whether to add a `$` to the key of a map that looks like a tag.
    ///
    /// A reader that interprets tags removes it again.
    public var escapesTags: Bool

    /// Makes options; the default of `escapesTags` is the value of `isLossless`.
    public init(isPretty: Bool = false, isLossless: Bool = false, escapesTags: Bool? = nil) {
      self.isPretty = isPretty
      self.isLossless = isLossless
      self.escapesTags = escapesTags ?? isLossless
    }
  }

  /// Reads one JSON text, which must fill the input.
  ///
  /// It refuses invalid UTF-8, a key that occurs twice in a map, nesting beyond ``Limits/depth``, and numbers
  /// too large for a double. The document's own map and the maps of tags do not count as nesting. Keys that
  /// differ only in Unicode normalization are the same key, as they are in `Value`.
  ///
  /// - Throws: ``JSONError``, which contains the offset and what was expected there.
  public static func parse(
    _ bytes: RawSpan, options: ReadOptions = .init()
  ) throws(JSONError) -> Value {
    var parser = JSONParser(bytes, options: options)
    return try parser.parseDocument()
  }

  /// Reads one JSON text, which must fill the input.
  ///
  /// - Throws: ``JSONError``, which contains the offset and what was expected there.
  public static func parse(_ bytes: [UInt8], options: ReadOptions = .init()) throws(JSONError) -> Value {
    try parse(bytes.span.bytes, options: options)
  }

  /// Reads one JSON text, which must fill the input.
  ///
  /// - Throws: ``JSONError``, which contains the offset and what was expected there.
  public static func parse(_ text: String, options: ReadOptions = .init()) throws(JSONError) -> Value {
    try text.withUTF8Bytes { (bytes) throws(JSONError) in try parse(bytes, options: options) }
  }

  /// Appends the JSON text of `value`: keys sorted by their bytes, doubles in their shortest exact form.
  public static func write(_ value: Value, to bytes: inout [UInt8], options: WriteOptions = .init()) {
    var writer = JSONWriter(bytes: bytes, options: options)
    bytes = []  // so that the writer is the only owner and appends in place
    writer.write(value)
    bytes = writer.bytes
  }

  /// Appends the JSON text of `value`, unless that makes more bytes than may be.
  ///
  /// - Parameters:
  ///   - value: What is written.
  ///   - bytes: Where it is appended. A text that is too long is cut soon after the limit.
  ///   - limit: The most bytes that `bytes` may have.
  ///   - options: The form of the text.
  /// - Returns: Whether the whole text is there.
  package static func write(
    _ value: Value, to bytes: inout [UInt8], atMost limit: Int, options: WriteOptions = .init()
  ) -> Bool {
    var writer = JSONWriter(bytes: bytes, options: options, limit: limit)
    bytes = []
    writer.write(value)
    bytes = writer.bytes
    return !writer.isTooLong
  }

  /// Appends the JSON text of an object whose members keep the given order.
  package static func write(
    members: [(key: TextKey, value: Value)], to bytes: inout [UInt8], options: WriteOptions = .init()
  ) {
    var writer = JSONWriter(bytes: bytes, options: options)
    bytes = []
    writer.write(ordered: members)
    bytes = writer.bytes
  }

  /// About the number of values and keys in a JSON text, without parsing it; it is never too small.
  ///
  /// - Complexity: O(*n*)
  package static func valueCount(in text: RawSpan) -> Int {
    var count = 1
    var isInText = false
    var isEscaped = false
    for offset in text.byteOffsets {
      let byte = text.byte(at: offset)
      if isInText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInText = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInText = true
      case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "{"): count += 1
      default: break
      }
    }
    return count
  }

  /// Appends the JSON text of a document, straight from its record where nothing about it is unusual.
  ///
  /// The text is the same as that of its fields as a value.
  ///
  /// - Parameters:
  ///   - record: The record.
  ///   - id: The id, for the member `_id`; `nil` leaves that out.
  ///   - keys: The names of the collection's keys.
  ///   - bytes: The text so far; unchanged if this throws.
  ///   - options: The form of the text.
  /// - Throws: A `CodecError` when the record is damaged or `keys` is too old for it.
  /// - Complexity: O(*n*) in the record's size.
  package static func write(
    _ record: borrowing RecordView, id: DocumentID?, keys: KeyTable, to bytes: inout [UInt8],
    options: WriteOptions = .init()
  ) throws(CodecError) {
    if writeDirectly(record, id: id, keys: keys, to: &bytes, options: options) { return }
    try writeValues(of: record, id: id, keys: keys, to: &bytes, options: options)
  }

  /// Does the same without values in between, or nothing.
  ///
  /// - Returns: `false` for a record that only ``writeValues(of:id:keys:to:options:)`` can write, or refuse.
  package static func writeDirectly(
    _ record: borrowing RecordView, id: DocumentID?, keys: KeyTable, to bytes: inout [UInt8],
    options: WriteOptions = .init()
  ) -> Bool {
    RecordTextWriter.append(record, id: id, keys, to: &bytes, options)
  }

  /// Does the same by the values of the record.
  package static func writeValues(
    of record: borrowing RecordView, id: DocumentID?, keys: KeyTable, to bytes: inout [UInt8],
    options: WriteOptions = .init()
  ) throws(CodecError) {
    var fields = try record.fields(keys)
    fields["_id"] = id?.value
    write(.map(fields), to: &bytes, options: options)
  }

  /// Encodes binary data as in a tag: base64 with padding.
  package static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.encode(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the JSON text of `value`, as ``write(_:to:options:)`` writes it.
  public static func text(of value: Value, options: WriteOptions = .init()) -> String {
    var bytes: [UInt8] = []
    write(value, to: &bytes, options: options)
    return String(decoding: bytes, as: UTF8.self)
  }
}
