/// Makes links to one address.
public protocol LinkConnector: Sendable {
  /// The address, for people.
  var address: String { get }

  /// Makes one attempt to connect.
  ///
  /// - Throws: `refused`, `unreachable`, `timedOut`, `system`, naming the address; `cancelled` when the task is.
  func connect() async throws(LinkError) -> TCPLink
}

extension LinkConnector {
  /// Connects, hands the link to `body`, and connects again when it returns; for ever, until the task is cancelled.
  ///
  /// After a failure it waits as `backoff` says. The wait begins again at the shortest once `body` says that the
  /// connection was of use: a peer that accepts and hangs up at once is a failure too.
  ///
  /// - Parameters:
  ///   - backoff: The delays between attempts.
  ///   - clock: The time that the delays go by.
  ///   - longestDelay: The bound of the delays as it is then, in place of the back-off's own.
  ///   - ready: Waits until it is of use to connect at all; called before each attempt.
  ///   - failed: Hears of each failed attempt and of the delay that follows.
  ///   - body: Uses the link and closes it; returns whether the connection was of use.
  public func keepConnected(
    backoff: Backoff = Backoff(), clock: TransportClock = .continuous,
    longestDelay: @Sendable () -> Duration? = { nil }, ready: () async -> Void = {},
    failed: @Sendable (LinkError, Duration) -> Void = { _, _ in }, body: (TCPLink) async -> Bool
  ) async {
    var backoff = backoff
    while !Task.isCancelled {
      await ready()
      if Task.isCancelled { return }
      var failure: LinkError?
      do {
        if await body(try await connect()) { backoff.reset() }
      } catch {
        failure = error
      }
      if Task.isCancelled { return }
      if let longest = longestDelay() { backoff.longest = longest }
      let delay = backoff.next()
      if let failure { failed(failure, delay) }
      guard (try? await clock.sleep(for: delay)) != nil else { return }
    }
  }
}
