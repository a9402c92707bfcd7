#if Server
  /// Limits of one HTTP listener for its clients.
  public struct HTTPLimits: Sendable, Hashable {
    /// The maximum size of a request's body, in bytes.
    public var bodyBytes = 8 << 20
    /// The maximum size of a request's headers together, and of one of them, in bytes.
    public var headerBytes = 16 << 10
    /// The maximum number of headers in a request.
    public var headerCount = 64
    /// The maximum number of rows in one response.
    public var rows = 1_000_000
    /// The maximum size of a response that is not streamed, in bytes.
    ///
    /// For example, the response to a statement that writes is not streamed.
    public var answerBytes = 8 << 20
    /// The maximum memory that a statement may use to sort, group and join, in bytes.
    public var statementBytes = 64 << 20
    /// The maximum time of a statement, until its last row is sent.
    public var statementTime = Duration.seconds(60)
    /// The maximum time for the headers of a request to arrive, and for a connection to be idle.
    public var idleTime = Duration.seconds(30)
    /// The maximum time for the body of a request to arrive.
    public var bodyTime = Duration.seconds(30)
    /// The maximum time for which a client may read nothing of a response.
    public var stallTime = Duration.seconds(30)
    /// The maximum number of connections at once.
    public var connections = 1_024
    /// The maximum number of connections at once from one address.
    public var connectionsByAddress = 128
    /// The maximum number of requests that are processed at once.
    public var requests = 256
    /// The maximum number of requests of one key that are processed at once.
    public var requestsByKey = 32
    /// The number of results that one key may always read at once: a quarter of the reading threads.
    ///
    /// A key may read twice as many while others read none.
    package var readersByKey = 16
    /// The maximum memory of the bodies of all requests in progress and of the values in them, in bytes.
    ///
    /// One key may use a quarter of it.
    public var allBodyBytes = 128 << 20
    /// The maximum size of one row of a response, as JSON, in bytes.
    package var rowBytes = 16 << 20
    /// The maximum size of what was made of all responses and is not sent yet, in bytes.
    ///
    /// One key may use three eighths of it. Beyond it, rows wait until clients read.
    public var allAnswerBytes = 64 << 20
    /// The maximum memory of the rows that all statements gather to sort, group and join, in bytes.
    ///
    /// One key may use the half of it.
    public var allStatementBytes = 128 << 20
    /// The maximum number of answers that are kept for writes with an `Idempotency-Key`.
    ///
    /// One key may have the half of them. A write whose answer has no room is refused.
    public var keptAnswers = 2_000_000
    /// The maximum size of the answers that are kept for writes with an `Idempotency-Key`, in bytes.
    ///
    /// One key may use the half of it.
    public var keptAnswerBytes = 1 << 30
    /// The maximum number of requests of one key per second, averaged over a few seconds.
    public var requestsPerSecondByKey = 2_000
    /// The maximum number of requests of one address per second, averaged over a few seconds.
    public var requestsPerSecondByAddress = 2_000

    /// Makes the default limits.
    public init() {}
  }
#endif
