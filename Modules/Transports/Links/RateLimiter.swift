/// Bounds how often something happens for each of many: so many times at once, and then at a steady rate.
///
/// It keeps one time for each name. Names for which there is no room share one entry.
///
/// Source: ITU-T I.371, "Traffic control and congestion control in B-ISDN", generic cell rate algorithm.
package struct RateLimiter<Name: Hashable> {
  /// How long all entries stay until those are looked for again that have ended.
  private static var sweepInterval: Duration { .seconds(1) }

  private let interval: Duration
  private let burst: Duration
  private let entries: Int
  /// For whom something has happened lately, the time at which all of that is forgotten.
  private var ends: [Name: Duration] = [:]
  /// The same of those for whom there was no room.
  private var othersEnd = Duration.zero
  private var sweepsAt = Duration.zero
  private var latest = Duration.zero

  /// Has seen nothing yet.
  ///
  /// - Parameters:
  ///   - count: How often it may happen at once.
  ///   - interval: How long it takes until it may happen once more.
  ///   - entries: Names that are told apart; all others count as one.
  package init(atOnce count: Int, interval: Duration, entries: Int = 100_000) {
    self.interval = interval
    self.entries = entries
    burst = interval * count
  }

  /// Has seen nothing yet.
  ///
  /// - Parameters:
  ///   - count: How often it may happen at once.
  ///   - rate: How often it may happen in each later second; with 0 it practically never does.
  ///   - entries: Names that are told apart; all others count as one.
  package init(atOnce count: Int, perSecond rate: Int, entries: Int = 100_000) {
    self.init(
      atOnce: count, interval: rate > 0 ? .seconds(1) / rate : .seconds(1 << 32), entries: entries)
  }

  /// How many names are told apart now.
  package var count: Int { ends.count }

  /// Counts that it happens for somebody, where it may.
  ///
  /// - Parameters:
  ///   - name: For whom.
  ///   - time: Now, since any moment; a clock that goes back stands still.
  /// - Returns: `nil` where it may; else how long to wait, and nothing is counted.
  /// - Complexity: O(1); once a second O(*n*) in the names, where there are too many.
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
