/// Why a session ended, or refused what it was given; the database is as it was.
public struct SyncError: Error, Hashable, Sendable {
  /// What went wrong, to branch on.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Bytes end inside what they announce.
    public static let truncated = Code(rawValue: "truncated")
    /// Bytes that the format does not allow.
    public static let malformed = Code(rawValue: "malformed")
    /// A frame's checksum does not fit its bytes.
    public static let checksum = Code(rawValue: "checksum")
    /// A length, a count or a budget exceeds its bound.
    public static let limit = Code(rawValue: "limit")
    /// The two peers have no protocol version in common.
    public static let versionMismatch = Code(rawValue: "versionMismatch")
    /// The peers belong to different applications.
    public static let appMismatch = Code(rawValue: "appMismatch")
    /// Both peers write under one site id: one is a copy of the other, or both are the same.
    ///
    /// Or the peer has the site of one that is connected over another link, and answers there.
    public static let siteClash = Code(rawValue: "siteClash")
    /// Another store writes under this one's site id: this store is to take a new one before it goes on.
    public static let cloned = Code(rawValue: "cloned")
    /// The peer proves itself with the key of another process, which is connected and answers: it is told that it is `cloned`.
    public static let keyClash = Code(rawValue: "keyClash")
    /// The peer has as many connections as it may have.
    public static let full = Code(rawValue: "full")
    /// The peer's application denies the connection.
    public static let denied = Code(rawValue: "denied")
    /// A frame that this state of the session does not allow.
    public static let outOfOrder = Code(rawValue: "outOfOrder")
    /// The peer said nothing in time.
    public static let timeout = Code(rawValue: "timeout")
    /// The peer ended the session; the message is its reason.
    public static let peerClosed = Code(rawValue: "peerClosed")
    /// The local store failed.
    public static let storage = Code(rawValue: "storage")
    /// This end closed the session.
    public static let closed = Code(rawValue: "closed")
  }

  public let code: Code
  /// One sentence without a full stop; never a document's contents.
  public let message: String
  /// Where in what the peer sent, in bytes from its first; 0 where that does not apply.
  public let offset: Int

  public init(_ code: Code, _ message: String, offset: Int = 0) {
    self.code = code
    self.message = message
    self.offset = offset
  }
}

extension SyncError {
  /// The reason of a session that this end closes in the usual way.
  public static let closedHere = SyncError(.closed, "The session was closed")
}

extension SyncError: CustomStringConvertible {
  public var description: String {
    offset == 0 ? "\(message) (\(code.rawValue))" : "\(message) (\(code.rawValue), byte \(offset))"
  }
}
