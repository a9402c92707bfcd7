/// A write to a document that cannot be done; the document is as it was.
public struct DocumentError: Error, Hashable, Sendable {
  public enum Code: String, Sendable {
    case invalidID, depth, size, invalidPath, notACounter, isACounter, notFound, corrupt
    /// The document would have more writers than `Limits.sitesPerDocument`.
    case tooManySites
    /// A map of the document would have more keys than `Limits.keysPerMap`.
    case tooManyKeys
    /// A merge would come to more than `Limits.mergedDocumentBytes`.
    case tooLarge
  }

  public let code: Code
  /// One sentence without a full stop; never a document's contents.
  public let message: String
  /// The path written to, where there is one.
  public let path: [TextKey]

  /// That of a map with more keys than there may be.
  static var tooManyKeys: DocumentError {
    DocumentError(.tooManyKeys, "a map would have more than \(Limits.keysPerMap) keys")
  }

  /// That of a merge which comes to more than travels between peers.
  package static var tooLarge: DocumentError {
    DocumentError(.tooLarge, "a merge would come to more than \(Limits.mergedDocumentBytes) bytes")
  }

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
