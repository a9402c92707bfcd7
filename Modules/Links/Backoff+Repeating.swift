extension Backoff {
  /// The longest wait that a server may ask for.
  static let longestAsked = Duration.seconds(300)

  /// Makes attempts, with delays between them, until the task is cancelled.
  ///
  /// A delay is longer where the other end asks for that, up to five minutes.
  ///
  /// - Parameters:
  ///   - clock: The clock of the delays.
  ///   - longestDelay: The current bound of the delays, instead of the back-off's own.
  ///   - ready: Waits until an attempt makes sense; called before each.
  ///   - failed: Called with each failed attempt and the delay that follows.
  ///   - attempt: Connects and uses the connection; returns whether it was useful.
  func repeating(
    clock: TransportClock, longestDelay: @Sendable () -> Duration?, ready: () async -> Void,
    failed: @Sendable (LinkError, Duration) -> Void, attempt: () async throws(LinkError) -> Bool
  ) async {
    var backoff = self
    while !Task.isCancelled {
      await ready()
      if Task.isCancelled { return }
      var failure: LinkError?
      do {
        if try await attempt() { backoff.reset() }
      } catch {
        failure = error
      }
      if Task.isCancelled { return }
      if let longest = longestDelay() { backoff.longest = longest }
      let delay = max(backoff.next(), min(failure?.retryAfter ?? .zero, Self.longestAsked))
      if let failure { failed(failure, delay) }
      guard (try? await clock.sleep(for: delay)) != nil else { return }
    }
  }
}
