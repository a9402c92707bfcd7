public import CRDTCore

/// Why a session ended, or rejected its input; the database is unchanged.
public struct SyncError: CodedError, Hashable {
  /// What went wrong, to branch on.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The bytes end before the length that they declare.
    public static let truncated = Code(rawValue: "truncated")
    /// The bytes violate the format.
    public static let malformed = Code(rawValue: "malformed")
    /// A frame's checksum does not match its bytes.
    public static let checksum = Code(rawValue: "checksum")
    /// A length, a count or a budget exceeds its bound.
    public static let limit = Code(rawValue: "limit")
    /// The two peers have no protocol version in common.
    public static let versionMismatch = Code(rawValue: "versionMismatch")
    /// The peers belong to different applications.
    public static let appMismatch = Code(rawValue: "appMismatch")
    /// A peer says that it is of another kind, small or big, than its certificate says.
    public static let kindMismatch = Code(rawValue: "kindMismatch")
    /// Both peers write under one site id: one is a clone of the other, or both are the same process.
    ///
    /// Also used when the peer has the site of another connected peer that still answers.
    public static let siteClash = Code(rawValue: "siteClash")
    /// Another store writes under this one's site id: this store has to take a new one before it goes on.
    public static let cloned = Code(rawValue: "cloned")
    /// The peer uses the key of another process that is connected and answers; it receives this as `cloned`.
    public static let keyClash = Code(rawValue: "keyClash")
    /// The peer already has the maximum number of connections.
    public static let full = Code(rawValue: "full")
    /// The peer's application denies the connection.
    public static let denied = Code(rawValue: "denied")
    /// The frame is not allowed in this state of the session.
    public static let outOfOrder = Code(rawValue: "outOfOrder")
    /// The peer did not answer in time.
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
  /// The offset in the peer's stream in bytes; 0 where it does not apply.
  public let offset: Int

  public init(_ code: Code, _ message: String, offset: Int = 0) {
    self.code = code
    self.message = message
    self.offset = offset
  }
}

extension SyncError {
  /// The reason of a regular close by this end.
  public static let closedHere = SyncError(.closed, "The session was closed")
}

extension SyncError: CustomStringConvertible {
  public var description: String {
    offset == 0 ? "\(message) (\(code.rawValue))" : "\(message) (\(code.rawValue), byte \(offset))"
  }
}
