public import Links
public import SyncProtocol

/// Why a session ended.
public enum SessionEnd: Error, Hashable, Sendable, CustomStringConvertible {
  /// One of the two peers ended the conversation.
  case session(SyncError)
  /// The link broke, or was closed, during the conversation.
  case link(LinkError)

  /// What happened, as a sentence without the code.
  package var sentence: String {
    switch self {
    case .session(let error): error.message
    case .link(let error): error.message
    }
  }

  public var description: String {
    switch self {
    case .session(let error): error.description
    case .link(let error): error.description
    }
  }
}
