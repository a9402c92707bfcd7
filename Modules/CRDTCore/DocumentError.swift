/// A write to a document that cannot be done; the document is as it was.
public struct DocumentError: Error, Hashable, Sendable {
  public enum Code: String, Sendable {
    case invalidID, depth, size, invalidPath, notACounter, isACounter, notFound, corrupt
    /// The document would have more writers than ``Limits/sitesPerDocument``.
    case tooManySites
  }

  public let code: Code
  /// One sentence without a full stop; never a document's contents.
  public let message: String
  /// The path written to, where there is one.
  public let path: [TextKey]

  public init(_ code: Code, _ message: String, path: [TextKey] = []) {
    self.code = code
    self.message = message
    self.path = path
  }
}

extension DocumentError: CustomStringConvertible {
  public var description: String {
    path.isEmpty ? message : "\(message) (at \(path.map(\.text).joined(separator: ".")))"
  }
}
