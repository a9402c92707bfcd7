#if Server
  import Links
  import Logging
  import Synchronization

  /// Logs the requests of a listener, and of those that are refused without a key a bounded number.
  ///
  /// Anybody can send requests without a key. A line for each of them would fill the disk.
  final class RequestLog: Sendable {
    private struct State {
      var refusals = RateLimiter<Int>(atOnce: 50, perSecond: 10)
      /// The number of refused requests since the last line about one.
      var leftOut: UInt64 = 0
    }

    private let logger: Logger
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(_ logger: Logger) { self.logger = logger }

    /// Logs a request, unless it is one of too many that were refused.
    func log(_ report: RequestReport) {
      guard report.isRefusedWithoutKey else { return report.log(to: logger) }
      let leftOut = state.withLock { state -> UInt64? in
        guard state.refusals.take(0, at: .now - start) == nil else {
          state.leftOut += 1
          return nil
        }
        defer { state.leftOut = 0 }
        return state.leftOut
      }
      if let leftOut { report.log(to: logger, leftOut: leftOut) }
    }
  }

  extension RequestReport {
    fileprivate var isRefusedWithoutKey: Bool { key == nil && error == nil && 400..<500 ~= status }
  }
#endif
