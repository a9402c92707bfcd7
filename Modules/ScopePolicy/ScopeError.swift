public import CRDTCore

/// An error for sync scopes that cannot be set; the previous scopes stay in force.
public struct ScopeError: CodedError, Hashable {
  public enum Code: String, Sendable {
    /// The name belongs to a system collection, or is not a valid collection name.
    case collectionName
    /// There is no scope of this name.
    case unknownScope
    /// The scopes are not a map of names to names.
    case malformed
  }

  public let code: Code
  /// One sentence without a full stop.
  public let message: String
  /// The collection that caused the error, if there is one.
  public let collection: String?

  public init(_ code: Code, _ message: String, collection: String? = nil) {
    self.code = code
    self.message = message
    self.collection = collection
  }
}

extension ScopeError {
  package var context: [String: String] { collection.map { ["collection": $0] } ?? [:] }
}

extension ScopeError: CustomStringConvertible {
  public var description: String { "\(message) (\(code.rawValue))" }
}
