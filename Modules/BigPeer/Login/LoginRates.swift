#if Server
  import Synchronization

  /// Bounds how often something happens for each of many: so many times at once, and then at a rate.
  ///
  /// Source: ITU-T I.371, "Traffic control and congestion control in B-ISDN", generic cell rate algorithm.
  package final class LoginRates<Name: Hashable & Sendable>: Sendable {
    private struct State {
      /// For whom something has happened lately, the time at which all of that is forgotten.
      var ends: [Name: Duration] = [:]
      /// When all ends are looked at again.
      var sweepsAt = Duration.zero

      /// Drops what is forgotten, at most once in an interval.
      ///
      /// - Returns: Whether there is room.
      mutating func sweep(_ now: Duration, _ interval: Duration) -> Bool {
        guard now >= sweepsAt else { return false }
        sweepsAt = now + min(interval, .seconds(1))
        ends = ends.filter { $0.value > now }
        return ends.count < LoginRates.entries
      }
    }

    /// How many are remembered; where there are more, newcomers wait.
    package static var entries: Int { 100_000 }
    private let interval: Duration
    private let burst: Duration
    private let state = Mutex(State())

    /// - Parameters:
    ///   - count: How often it may happen at once.
    ///   - interval: How long it takes until it may happen once more.
    package init(atOnce count: Int, then interval: Duration) {
      self.interval = interval
      burst = interval * count
    }

    /// Takes that it happens for somebody, where it may.
    ///
    /// - Returns: `nil` where it may; else how long to wait.
    package func take(_ name: Name, at now: Duration) -> Duration? {
      state.withLock { state in
        let end = max(state.ends[name] ?? now, now) + interval
        let wait = end - now - burst
        guard wait <= .zero else { return wait }
        if state.ends.count >= Self.entries, state.ends[name] == nil, !state.sweep(now, interval) {
          return interval
        }
        state.ends[name] = end
        return nil
      }
    }
  }
#endif
