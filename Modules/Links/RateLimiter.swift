/// Bounds how often something happens for each of many: so many times at once, and then at a steady rate.
///
/// It keeps one time for each name. Names for which there is no room share one entry.
///
/// Source: ITU-T I.371, "Traffic control and congestion control in B-ISDN", generic cell rate algorithm.
package struct RateLimiter<Name: Hashable> {
  /// The interval at which expired entries are removed.
  private static var sweepInterval: Duration { .seconds(1) }

  private let interval: Duration
  private let burst: Duration
  private let entries: Int
  /// For each name with recent events, the time at which those no longer count.
  private var ends: [Name: Duration] = [:]
  /// The same time for all names for which there was no room.
  private var othersEnd = Duration.zero
  private var sweepsAt = Duration.zero
  private var latest = Duration.zero

  /// Makes a limiter that has counted nothing yet.
  ///
  /// - Parameters:
  ///   - count: How often it may happen at once.
  ///   - interval: How long it takes until it may happen once more.
  ///   - entries: The number of names that are counted separately; all others count as one.
  package init(atOnce count: Int, interval: Duration, entries: Int = 100_000) {
    self.interval = interval
    self.entries = entries
    burst = interval * count
  }

  /// Makes a limiter that has counted nothing yet.
  ///
  /// - Parameters:
  ///   - count: How often it may happen at once.
  ///   - rate: How often it may happen in each later second; with 0 it practically never may.
  ///   - entries: The number of names that are counted separately; all others count as one.
  package init(atOnce count: Int, perSecond rate: Int, entries: Int = 100_000) {
    self.init(
      atOnce: count, interval: rate > 0 ? .seconds(1) / rate : .seconds(1 << 32), entries: entries)
  }

  /// How many names are counted separately now.
  package var count: Int { ends.count }

  /// Counts one event of a name, if it is allowed.
  ///
  /// - Parameters:
  ///   - name: The name that is counted.
  ///   - time: The current time since any fixed moment; a time before the latest one counts as the latest.
  /// - Returns: `nil` when the event is allowed; otherwise how long to wait, and nothing is counted.
  /// - Complexity: O(1); once a second O(*n*) in the names, when there are too many.
  package mutating func take(_ name: Name, at time: Duration) -> Duration? {
    latest = max(latest, time)
    let isKept = ends[name] != nil || hasRoom()
    let end = max(isKept ? ends[name] ?? latest : othersEnd, latest) + interval
    let wait = end - latest - burst
    guard wait <= .zero else { return wait }
    if isKept { ends[name] = end } else { othersEnd = end }
    return nil
  }

  private mutating func hasRoom() -> Bool {
    if ends.count >= entries, latest >= sweepsAt {
      sweepsAt = latest + Self.sweepInterval
      let now = latest
      ends = ends.filter { $0.value > now }
    }
    return ends.count < entries
  }
}

extension RateLimiter: Sendable where Name: Sendable {}
