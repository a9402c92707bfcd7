public import CRDTCore

/// Why the change feed or the history has refused a call.
///
/// Errors of the store and of the query language reach the caller unchanged: `StoreError`, `QueryError`.
public struct FeedError: CodedError, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure, on which callers can branch.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    /// A value is missing, or out of its bounds.
    public static let argument = Self(rawValue: "argument")
    /// There are too many readers, queries or histories.
    public static let limit = Self(rawValue: "limit")
    /// The feed is closed.
    public static let closed = Self(rawValue: "closed")
  }

  /// The kind of failure.
  public let code: Code
  /// One sentence, in English, without a trailing full stop; never a document's contents.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(message) (\(code))" }
}
