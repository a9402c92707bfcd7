/// Leave for so many things in a second; what was not used is kept for one second.
struct RateLimit {
  private let perSecond: Double
  private var left: Double
  private var countedAt: Duration

  init(perSecond: Double, now: Duration) {
    self.perSecond = perSecond
    left = perSecond
    countedAt = now
  }

  /// Takes leave for one thing; `false` when there is none.
  mutating func take(now: Duration) -> Bool {
    left = min(perSecond, left + perSecond * max(0, (now - countedAt) / .seconds(1)))
    countedAt = max(countedAt, now)
    guard left >= 1 else { return false }
    left -= 1
    return true
  }

  /// Whether nothing was taken for a second or more.
  func isFull(now: Duration) -> Bool { now - countedAt >= .seconds(1) }
}

/// A rate limit for each source.
struct SourceRateLimit {
  private let perSecond: Double
  private var limits: [[UInt8]: RateLimit] = [:]

  init(perSecond: Double) { self.perSecond = perSecond }

  /// Takes leave for one thing that a source wants.
  ///
  /// - Complexity: O(1); O(*n*) in the sources when too many are known.
  mutating func take(for source: [UInt8], now: Duration) -> Bool {
    if limits[source] == nil, limits.count >= DiscoveryLimits.sources {
      limits = limits.filter { !$0.value.isFull(now: now) }
    }
    // Sources for which there is no room share what one gets.
    let key = limits[source] != nil || limits.count < DiscoveryLimits.sources ? source : []
    return limits[key, default: RateLimit(perSecond: perSecond, now: now)].take(now: now)
  }
}
