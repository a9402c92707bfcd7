public import SyncProtocol

/// Why a session is over.
public enum SessionEnd: Error, Hashable, Sendable, CustomStringConvertible {
  /// One of the two peers ended the conversation.
  case session(SyncError)
  /// The link broke, or was closed, under the conversation.
  case link(LinkError)

  /// What happened, without the code.
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
