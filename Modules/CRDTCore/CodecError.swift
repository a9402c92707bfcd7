/// An error for malformed bytes from disk, the network or a caller.
public struct CodecError: CodedError, Hashable {
  public enum Code: String, Sendable {
    case truncated, malformed, checksum, unsupportedVersion, limit, unknownName
  }

  public let code: Code
  /// One sentence without a full stop; it never contains a document's contents.
  public let message: String
  /// The offset in the input, in bytes from its start.
  public let offset: Int

  public init(_ code: Code, _ message: String, at offset: Int = 0) {
    self.code = code
    self.message = message
    self.offset = offset
  }
}

extension CodecError {
  // text: the names are literals of this package.
  package var context: [String: String] { ["byte": "\(offset)"] }
}

extension CodecError: CustomStringConvertible {
  public var description: String { "\(message) (\(code.rawValue), byte \(offset))" }
}
