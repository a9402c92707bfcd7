package import NIOCore

/// How fast connections come, by where they come from: a bucket of tokens each, which fills at a steady rate.
///
/// Many that come at once are peers behind one address, after a restart; a flood goes on.
package struct ArrivalRates {
  private struct Bucket {
    var tokens: Double
    var filledAt: NIODeadline
  }

  /// Buckets that are kept; a full one is forgotten when there are more, then whichever.
  static let most = 1_024

  private let atOnce: Double
  private let perSecond: Double
  private var buckets: [ConnectionOrigin: Bucket] = [:]

  package init(atOnce: Int, perSecond: Int) {
    self.atOnce = Double(max(atOnce, 1))
    self.perSecond = Double(max(perSecond, 0))
  }

  /// How many origins are kept.
  package var count: Int { buckets.count }

  /// Counts a connection.
  ///
  /// - Returns: `false` where it comes too soon after others of its origin; it counts for nothing then.
  package mutating func admit(_ origin: ConnectionOrigin, at now: NIODeadline) -> Bool {
    var bucket = buckets[origin] ?? Bucket(tokens: atOnce, filledAt: now)
    bucket.tokens = tokens(of: bucket, at: now)
    bucket.filledAt = now
    defer { buckets[origin] = bucket }
    guard bucket.tokens >= 1 else { return false }
    bucket.tokens -= 1
    if buckets[origin] == nil, buckets.count >= Self.most { makeRoom(at: now) }
    return true
  }

  private func tokens(of bucket: Bucket, at now: NIODeadline) -> Double {
    let seconds = Double((now - bucket.filledAt).nanoseconds) / 1e9
    return min(atOnce, bucket.tokens + max(seconds, 0) * perSecond)
  }

  private mutating func makeRoom(at now: NIODeadline) {
    buckets = buckets.filter { tokens(of: $0.value, at: now) < atOnce }
    if buckets.count >= Self.most, let any = buckets.keys.first { buckets[any] = nil }
  }
}
