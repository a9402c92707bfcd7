/// Makes links to one address.
public protocol LinkConnector: Sendable {
  /// The address, in readable form.
  var address: String { get }

  /// Makes one attempt to connect.
  ///
  /// - Throws: `refused`, `unreachable`, `timedOut` or `system`, naming the address; `cancelled` when the
  ///   task is cancelled.
  func connect() async throws(LinkError) -> TCPLink
}

extension LinkConnector {
  /// Connects, passes the link to `body`, and connects again when it returns, until the task is cancelled.
  ///
  /// After a failure it waits as `backoff` says. The delay starts again at the shortest one once `body`
  /// reports that the connection was useful. A peer that accepts and closes at once counts as a failure.
  ///
  /// - Parameters:
  ///   - backoff: The delays between attempts.
  ///   - clock: The clock of the delays.
  ///   - longestDelay: The current bound of the delays, instead of the back-off's own.
  ///   - ready: Waits until connecting makes sense; called before each attempt.
  ///   - failed: Called with each failed attempt and the delay that follows.
  ///   - body: Uses the link and closes it; returns whether the connection was useful.
  public func keepConnected(
    backoff: Backoff = Backoff(), clock: TransportClock = .continuous,
    longestDelay: @Sendable () -> Duration? = { nil }, ready: () async -> Void = {},
    failed: @Sendable (LinkError, Duration) -> Void = { _, _ in }, body: (TCPLink) async -> Bool
  ) async {
    await backoff.repeating(
      clock: clock, longestDelay: longestDelay, ready: ready, failed: failed
    ) { () async throws(LinkError) -> Bool in await body(try await connect()) }
  }
}
