/// The one-key maps for values that JSON cannot express.
enum JSONTag: String {
  case bytes = "$bytes"
  case attachment = "$attachment"
  case double = "$double"
  case counter = "$counter"

  /// The most levels of maps in a tag: those of an attachment are the tag, its content, and its metadata.
  static let levels = 3

  /// Whether a map with only `key` is a tag, or the lossless form of a map that looks like one.
  ///
  /// The lossless form has more than one `$`.
  static func isTag(_ key: TextKey) -> Bool {
    key.utf8.first == UInt8(ascii: "$") && JSONTag(rawValue: "$" + key.text.drop { $0 == "$" }) != nil
  }

  /// Returns the value of this tag with `content`; `offset` is where the tag opens.
  func value(of content: Value, at offset: Int) throws(JSONError) -> Value {
    switch (self, content) {
    case (.bytes, .string(let text)):
      if let bytes = Base64.decode(text) { return .bytes(bytes) }
    case (.attachment, .map(let fields)):
      if let token = Self.attachment(fields) { return .attachment(token) }
    // text: no other spelling of these words is equal to them
    case (.double, .string("nan")): return .double(.nan)
    // text: as above
    case (.double, .string("inf")): return .double(.infinity)
    // text: as above
    case (.double, .string("-inf")): return .double(-.infinity)
    case (.counter, .int(let sum)): return .counter(sum)
    case (.bytes, _), (.attachment, _), (.double, _), (.counter, _): break
    }
    throw JSONError(.invalidTag, "expected \(expectation) in the tag \(rawValue)", at: offset)
  }

  private var expectation: String {
    switch self {
    case .bytes: "a base64 string"
    case .attachment: "a map of id (base64), bytes (an integer) and metadata (strings)"
    case .double: "\"nan\", \"inf\" or \"-inf\""
    case .counter: "a 64-bit integer"
    }
  }

  private static func attachment(_ fields: [TextKey: Value]) -> AttachmentToken? {
    guard fields.count == 3, case .string(let text)? = fields["id"], let id = Base64.decode(text),
      case .int(let count)? = fields["bytes"], let byteCount = UInt64(exactly: count),
      case .map(let entries)? = fields["metadata"]
    else { return nil }
    var metadata: [TextKey: TextKey] = [:]
    for (key, value) in entries {
      guard case .string(let string) = value else { return nil }
      metadata[key] = TextKey(string)
    }
    return AttachmentToken(id: id, byteCount: byteCount, metadata: metadata)
  }
}
