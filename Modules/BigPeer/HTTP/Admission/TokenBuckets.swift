#if Server
  /// How often each of many may do something: so many times a second, and for a short while twice as many.
  ///
  /// It is the token bucket of J. Turner, "New directions in communications", IEEE Communications 24 (1986).
  struct TokenBuckets<Name: Hashable & Sendable>: Sendable {
    /// Names that are kept apart; beyond that, the others share one bucket.
    static var limit: Int { 20_000 }

    private struct Bucket {
      var level: Double
      var time: ContinuousClock.Instant
    }

    private let perSecond: Double
    private let size: Double
    private var buckets: [Name: Bucket] = [:]
    private var others: Bucket?

    init(perSecond: Int) {
      self.perSecond = Double(perSecond)
      size = max(Double(perSecond) * 2, 1)
    }

    /// Takes what one time costs.
    ///
    /// - Returns: `nil` when it may be done; else how long to wait.
    mutating func take(for name: Name, at now: ContinuousClock.Instant) -> Duration? {
      if buckets[name] == nil, buckets.count >= Self.limit { dropFull(at: now) }
      guard buckets[name] != nil || buckets.count < Self.limit else {
        var bucket = others ?? Bucket(level: size, time: now)
        defer { others = bucket }
        return take(from: &bucket, at: now)
      }
      var bucket = buckets[name] ?? Bucket(level: size, time: now)
      defer { buckets[name] = bucket }
      return take(from: &bucket, at: now)
    }

    private func take(from bucket: inout Bucket, at now: ContinuousClock.Instant) -> Duration? {
      bucket.level = level(of: bucket, at: now)
      bucket.time = now
      guard bucket.level < 1 else {
        bucket.level -= 1
        return nil
      }
      return .seconds((1 - bucket.level) / perSecond)
    }

    private func level(of bucket: Bucket, at now: ContinuousClock.Instant) -> Double {
      min(size, bucket.level + (now - bucket.time) / .seconds(1) * perSecond)
    }

    /// A bucket that is full says nothing.
    private mutating func dropFull(at now: ContinuousClock.Instant) {
      let (size, old) = (size, buckets)
      buckets = old.filter { level(of: $0.value, at: now) < size }
    }
  }
#endif
