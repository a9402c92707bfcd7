public import CRDTCore

/// Why a link could not be made, or why it ended.
public struct LinkError: CodedError, Hashable, CustomStringConvertible {
  /// The kind of failure, to branch on.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    /// This end closed the link.
    public static let closed = Code(rawValue: "closed")
    /// The task that waited was cancelled.
    public static let cancelled = Code(rawValue: "cancelled")
    /// The other end disappeared without ending its direction first.
    public static let disconnected = Code(rawValue: "disconnected")
    /// No process listens at the address.
    public static let refused = Code(rawValue: "refused")
    /// The address does not name a host, or the host cannot be reached.
    public static let unreachable = Code(rawValue: "unreachable")
    /// The other end did not answer in time.
    public static let timedOut = Code(rawValue: "timedOut")
    /// Something else listens on the port already.
    public static let portInUse = Code(rawValue: "portInUse")
    /// The process may not listen on the port.
    public static let permissionDenied = Code(rawValue: "permissionDenied")
    /// One end did not accept the other's proof that it belongs to the application.
    public static let untrusted = Code(rawValue: "untrusted")
    /// The other end has sent invalid data.
    public static let malformed = Code(rawValue: "malformed")
    /// A certificate has expired.
    public static let expired = Code(rawValue: "expired")
    /// The peer's key or certificate was revoked.
    public static let revoked = Code(rawValue: "revoked")
    /// Something has more entries or bytes than are allowed.
    public static let limit = Code(rawValue: "limit")
    /// This peer's own credentials are invalid.
    public static let credentials = Code(rawValue: "credentials")
    /// A failure of the operating system without a code of its own here.
    public static let system = Code(rawValue: "system")
  }

  /// The kind of failure.
  public let code: Code
  /// One sentence, in English, without a trailing full stop; names the address.
  public let message: String
  /// The operating system's error number, if the system reported one.
  public let underlying: Int32?
  /// How long the other end asks to wait before the next attempt; `nil` if it does not.
  package let retryAfter: Duration?

  /// Makes an error.
  public init(_ code: Code, _ message: String, underlying: Int32? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
    retryAfter = nil
  }

  /// Makes the error of an attempt after which the other end asks to wait.
  package init(_ code: Code, _ message: String, retryAfter: Duration?) {
    self.code = code
    self.message = message
    underlying = nil
    self.retryAfter = retryAfter
  }

  public var description: String { message }

  /// The error of a wait that was cancelled.
  package static let cancelled = LinkError(.cancelled, "The task that used the link was cancelled")
}
