/// Why a link could not be made, or ended.
public struct LinkError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What went wrong, to branch on.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// This end closed the link.
    public static let closed = Code("closed")
    /// The task that waited was cancelled.
    public static let cancelled = Code("cancelled")
    /// The other end went away without ending its direction first.
    public static let disconnected = Code("disconnected")
    /// Nobody listens at the address.
    public static let refused = Code("refused")
    /// The address does not name a host, or there is no way to it.
    public static let unreachable = Code("unreachable")
    /// The other end did not answer in time.
    public static let timedOut = Code("timedOut")
    /// Something else listens on the port already.
    public static let portInUse = Code("portInUse")
    /// The process may not listen on the port.
    public static let permissionDenied = Code("permissionDenied")
    /// The other end has not proved that it belongs to the application, or does not believe that this one does.
    public static let untrusted = Code("untrusted")
    /// The other end has sent what it must not.
    public static let malformed = Code("malformed")
    /// A certificate has ended.
    public static let expired = Code("expired")
    /// The peer's key was revoked.
    public static let revoked = Code("revoked")
    /// What this peer is to prove itself with is not right.
    public static let credentials = Code("credentials")
    /// A failure of the operating system that has no code of its own here.
    public static let system = Code("system")
  }

  /// What went wrong.
  public let code: Code
  /// One sentence, in English, without a trailing full stop; names the address.
  public let message: String
  /// The operating system's error number, where it came from there.
  public let underlying: Int32?

  /// Makes an error.
  public init(_ code: Code, _ message: String, underlying: Int32? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var description: String { message }

  /// The error of a wait that was cancelled.
  package static let cancelled = LinkError(.cancelled, "The task that used the link was cancelled")
}
