/// JSON text to values and back, without Foundation.
///
/// Numbers: an integer that fits 64 bits is an `.int`, any other number a `.double`. A double is always written
/// with a fraction or an exponent, so that it comes back as one. What JSON has no form for is written as a *tag*, a map
/// of one key: `{"$bytes":"<base64>"}`, `{"$attachment":{"bytes":…,"id":"<base64>","metadata":{…}}}` and
/// `{"$double":"nan"}` (also `"inf"`, `"-inf"`). The parser takes a tag for the plain map that it is, unless asked.
public enum JSON {
  public struct ReadOptions: Sendable {
    /// Whether tags become the values they stand for; a tag with the wrong content is then an error.
    public var interpretsTags: Bool

    public init(interpretsTags: Bool = false) { self.interpretsTags = interpretsTags }
  }

  public struct WriteOptions: Sendable {
    /// Whether to break lines and indent by two spaces; otherwise the text is one line without spaces.
    public var isPretty: Bool
    /// Whether a reader that interprets tags gets every value back: counters become `{"$counter":n}` instead of
    /// numbers, and maps that look like tags are told apart from them.
    public var isLossless: Bool
    /// Whether a map that looks like a tag gets another `$` before its key, which a reader that interprets tags takes off.
    public var escapesTags: Bool

    /// `escapesTags` is by default what `isLossless` is.
    public init(isPretty: Bool = false, isLossless: Bool = false, escapesTags: Bool? = nil) {
      self.isPretty = isPretty
      self.isLossless = isLossless
      self.escapesTags = escapesTags ?? isLossless
    }
  }

  /// Reads one JSON text, which must fill the input.
  ///
  /// Refused are invalid UTF-8, a key that stands twice in a map, nesting beyond ``Limits/depth``, where the map of a document and the maps of tags are not counted, and numbers too
  /// large for a double. Keys that differ only in Unicode normalization are the same key, as they are in `Value`.
  ///
  /// - Throws: ``JSONError``, which says where and what was expected.
  public static func parse(
    _ bytes: RawSpan, options: ReadOptions = .init()
  ) throws(JSONError) -> Value {
    var parser = JSONParser(bytes, options: options)
    return try parser.parseDocument()
  }

  /// Reads one JSON text, which must fill the input.
  ///
  /// - Throws: ``JSONError``, which says where and what was expected.
  public static func parse(_ bytes: [UInt8], options: ReadOptions = .init()) throws(JSONError) -> Value {
    try parse(bytes.span.bytes, options: options)
  }

  /// Reads one JSON text, which must fill the input.
  ///
  /// - Throws: ``JSONError``, which says where and what was expected.
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

  /// Appends the JSON text of an object whose members stand in the order given.
  package static func write(
    members: [(key: TextKey, value: Value)], to bytes: inout [UInt8], options: WriteOptions = .init()
  ) {
    var writer = JSONWriter(bytes: bytes, options: options)
    bytes = []
    writer.write(ordered: members)
    bytes = writer.bytes
  }

  /// Binary data as a tag has it: base64 with padding.
  package static func base64(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    Base64.encode(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// The JSON text of `value`, as ``write(_:to:options:)`` writes it.
  public static func text(of value: Value, options: WriteOptions = .init()) -> String {
    var bytes: [UInt8] = []
    write(value, to: &bytes, options: options)
    return String(decoding: bytes, as: UTF8.self)
  }
}
