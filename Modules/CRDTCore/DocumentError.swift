/// An error for a write that is not possible; the document does not change.
public struct DocumentError: CodedError, Hashable {
  public enum Code: String, Sendable {
    case invalidID, depth, size, invalidPath, notACounter, isACounter, notFound, corrupt
    /// The document would have more writers than `Limits.sitesPerDocument`.
    case tooManySites
    /// A map of the document would have more keys than `Limits.keysPerMap`.
    case tooManyKeys
    /// A merge would result in more than `Limits.mergedDocumentBytes` bytes.
    case tooLarge
  }

  public let code: Code
  /// One sentence without a full stop; it never contains a document's contents.
  public let message: String
  /// The path of the failed write, if there is one.
  public let path: [TextKey]

  /// The error for a map with too many keys.
  static var tooManyKeys: DocumentError {
    DocumentError(.tooManyKeys, "a map would have more than \(Limits.keysPerMap) keys")
  }

  /// The error for a merge whose result is too large to travel between peers.
  package static var tooLarge: DocumentError {
    DocumentError(.tooLarge, "a merge would come to more than \(Limits.mergedDocumentBytes) bytes")
  }

  public init(_ code: Code, _ message: String, path: [TextKey] = []) {
    self.code = code
    self.message = message
    self.path = path
  }
}

extension DocumentError {
  // text: the names are literals of this package.
  package var context: [String: String] { path.isEmpty ? [:] : ["path": pathText] }

  private var pathText: String { path.map(\.text).joined(separator: ".") }
}

extension DocumentError: CustomStringConvertible {
  public var description: String { path.isEmpty ? message : "\(message) (at \(pathText))" }
}
