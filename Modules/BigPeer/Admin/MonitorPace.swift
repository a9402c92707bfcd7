#if Server
  import Links
  import NIOCore
  import Synchronization

  /// Bounds how often one address reads the figures of the listener for monitoring, which needs no key.
  final class MonitorPace: Sendable {
    private let start = ContinuousClock.now
    private let addresses = Mutex(RateLimiter<ConnectionOrigin>(atOnce: 20, perSecond: 10, entries: 1_000))

    /// Counts a request.
    ///
    /// - Throws: `rateLimit`.
    func count(_ address: SocketAddress?) throws(Problem) {
      let time = ContinuousClock.now - start
      let wait = addresses.withLock { $0.take(ConnectionOrigin(address), at: time) }
      if let wait { throw Problem.rateLimit("the address", wait) }
    }
  }
#endif
