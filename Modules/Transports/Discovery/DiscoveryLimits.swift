/// The bounds of what neighbours, honest or not, can cost this peer.
package enum DiscoveryLimits {
  /// Candidates that are remembered, of all interfaces together.
  package static let candidates = 256
  /// Bytes that the names and addresses of candidates may take, of all interfaces together.
  package static let candidateBytes = 64 << 10
  /// Addresses of one candidate on one interface.
  static let addresses = 8
  /// Interfaces that are used at once.
  static let interfaces = 16
  /// Packets of one interface that are read in a second; the rest is dropped.
  static let packetsPerSecond = 500.0
  /// Questions of one source that are answered in a second.
  static let answersPerSecond = 10.0
  /// Sources that are told apart; all others count as one.
  static let sources = 256
  /// Answers that wait for their moment on one interface; beyond that askers get none.
  static let waitingAnswers = 64
  /// How often a candidate is dialed that has never proved itself, of all such candidates together.
  package static let unprovenDialInterval = Duration.seconds(1)
}

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
