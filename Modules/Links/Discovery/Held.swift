/// The value of a record, for as long as it is valid.
struct Held<Value: Hashable & Sendable> {
  /// The fractions of its life at which it is requested again, with jitter (RFC 6762, 5.2).
  private static var refreshes: [Double] { [0.80, 0.85, 0.90, 0.95] }
  private static var jitter: Double { 0.02 }
  /// The shortest life of a record that is requested again.
  private static var leastRefreshedLife: Duration { .seconds(10) }
  /// The longest life that is accepted, so that sums of times stay in bounds.
  private static var longestLife: Duration { .seconds(86_400) }

  let value: Value
  let since: Duration
  private(set) var until: Duration
  private var refreshAt: [Duration]

  init(_ value: Value, for life: Duration, now: Duration, jitter: Double) {
    let life = min(life, Self.longestLife)
    self.value = value
    since = now
    until = now + life
    // A record with a short life is not requested again.
    refreshAt =
      life < Self.leastRefreshedLife
      ? [] : Self.refreshes.map { now + life * ($0 + Self.jitter * jitter) }
  }

  /// When it must be requested again or expires.
  var next: Duration { min(until, refreshAt.first ?? until) }

  /// Whether more than half its life is left.
  func isFresh(_ now: Duration) -> Bool { until - now > (until - since) / 2 }

  /// Whether it must be requested now.
  mutating func takeRefresh(_ now: Duration) -> Bool {
    let count = refreshAt.count
    refreshAt.removeAll { $0 <= now }
    return refreshAt.count < count
  }

  /// Limits its validity to `end`, without requesting it again.
  mutating func end(by end: Duration) {
    until = min(until, end)
    refreshAt = []
  }
}
