/// Makes links of any kind to one address.
package protocol LinkDialer: Sendable {
  /// The address, in readable form.
  var address: String { get }

  /// Makes one attempt to connect.
  ///
  /// - Returns: The link, which has no user yet.
  /// - Throws: `refused`, `unreachable`, `timedOut` or `system`, naming the address; `cancelled` when the
  ///   task is cancelled.
  func dial() async throws(LinkError) -> any Link
}

extension LinkDialer where Self: LinkConnector {
  package func dial() async throws(LinkError) -> any Link { try await connect() }
}

extension LinkDialer {
  /// Connects, passes the link to `body`, and connects again when it returns, as a connector does.
  ///
  /// See `LinkConnector.keepConnected`.
  ///
  /// - Parameters:
  ///   - backoff: The delays between attempts.
  ///   - clock: The clock of the delays.
  ///   - longestDelay: The current bound of the delays, instead of the back-off's own.
  ///   - ready: Waits until connecting makes sense; called before each attempt.
  ///   - failed: Called with each failed attempt and the delay that follows.
  ///   - body: Uses the link and closes it; returns whether the connection was useful.
  package func keepDialing(
    backoff: Backoff, clock: TransportClock, longestDelay: @Sendable () -> Duration?, ready: () async -> Void,
    failed: @Sendable (LinkError, Duration) -> Void, body: (any Link) async -> Bool
  ) async {
    await backoff.repeating(
      clock: clock, longestDelay: longestDelay, ready: ready, failed: failed
    ) { () async throws(LinkError) -> Bool in await body(try await dial()) }
  }
}
