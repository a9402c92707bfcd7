/// An error in a JSON text, and its offset.
public struct JSONError: CodedError, Hashable {
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The text ends before the value does.
    public static let truncated = Code(rawValue: "truncated")
    /// A byte other than those that the grammar allows at this place.
    public static let syntax = Code(rawValue: "syntax")
    /// A string's bytes are not UTF-8, or an escape is half of a surrogate pair.
    public static let invalidText = Code(rawValue: "invalidText")
    /// A number that no double can hold.
    public static let numberRange = Code(rawValue: "numberRange")
    public static let duplicateKey = Code(rawValue: "duplicateKey")
    /// Nesting beyond ``Limits/depth``.
    public static let depth = Code(rawValue: "depth")
    /// A tag such as `$bytes` with the wrong content.
    public static let invalidTag = Code(rawValue: "invalidTag")
    /// A line longer than the reader's maximum.
    public static let lineLength = Code(rawValue: "lineLength")
  }

  public let code: Code
  /// What was expected: one sentence without a full stop; it never contains the text's contents.
  public let message: String
  /// The offset in the text, in bytes from its start.
  public let offset: Int

  public init(_ code: Code, _ message: String, at offset: Int) {
    self.code = code
    self.message = message
    self.offset = offset
  }
}

extension JSONError: CustomStringConvertible {
  public var description: String { "\(message) (at byte \(offset))" }
}
