/// What a record says, for as long as it holds.
struct Held<Value: Hashable & Sendable> {
  /// At which parts of its life it is asked for again, each a little later by chance (RFC 6762, 5.2).
  private static var refreshes: [Double] { [0.80, 0.85, 0.90, 0.95] }
  private static var jitter: Double { 0.02 }
  /// The shortest life in which something is asked for again.
  private static var leastRefreshedLife: Duration { .seconds(10) }
  /// The longest life that is believed, so that sums of times stay in bounds.
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
    // What holds for a moment only is not worth questions.
    refreshAt =
      life < Self.leastRefreshedLife
      ? [] : Self.refreshes.map { now + life * ($0 + Self.jitter * jitter) }
  }

  /// When something is to be done about it next.
  var next: Duration { min(until, refreshAt.first ?? until) }

  /// Whether more than half its life is left.
  func isFresh(_ now: Duration) -> Bool { until - now > (until - since) / 2 }

  /// Whether it is to be asked for now.
  mutating func takeRefresh(_ now: Duration) -> Bool {
    let count = refreshAt.count
    refreshAt.removeAll { $0 <= now }
    return refreshAt.count < count
  }

  /// Lets it hold until `end` at most, without asking for it.
  mutating func end(by end: Duration) {
    until = min(until, end)
    refreshAt = []
  }
}
