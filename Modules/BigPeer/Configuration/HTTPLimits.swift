#if Server
  /// Bounds of what one HTTP listener takes from its clients.
  public struct HTTPLimits: Sendable, Hashable {
    /// Bytes that the body of a request may have.
    public var bodyBytes = 8 << 20
    /// Bytes of a request's headers together, and of one of them.
    public var headerBytes = 16 << 10
    /// Headers that a request may have.
    public var headerCount = 64
    /// Rows of one answer.
    public var rows = 1_000_000
    /// Bytes of an answer that is not streamed, such as that of a statement that writes.
    public var answerBytes = 8 << 20
    /// Bytes in memory that a statement may take to sort, group and join.
    public var statementBytes = 64 << 20
    /// How long a statement may take, until its last row is sent.
    public var statementTime = Duration.seconds(60)
    /// How long the headers of a request may take to come, and a connection may be idle.
    public var idleTime = Duration.seconds(30)
    /// How long the body of a request may take to come.
    public var bodyTime = Duration.seconds(30)
    /// How long a client may take nothing of an answer.
    public var stallTime = Duration.seconds(30)
    /// Connections at once.
    public var connections = 1_024
    /// Connections at once of one address.
    public var connectionsByAddress = 128
    /// Requests that are answered at once.
    public var requests = 256
    /// Requests of one key that are answered at once.
    public var requestsByKey = 32
    /// Results that are read at once for one key in any case, a quarter of the threads that read; twice as many while others read none.
    package var readersByKey = 16
    /// Bytes of the bodies of all requests that are being answered; one key takes a quarter of it at most.
    public var allBodyBytes = 256 << 20
    /// Requests of one key in a second, over a few seconds.
    public var requestsPerSecondByKey = 2_000
    /// Requests of one address in a second, over a few seconds.
    public var requestsPerSecondByAddress = 2_000

    /// The default bounds.
    public init() {}
  }
#endif
