/// How long to wait before the next attempt to connect: longer after each failure, with jitter.
///
/// Each delay is drawn evenly from the upper half of a bound that doubles from `initial` to `longest`. So
/// many peers that lose the same server come back spread over time. A connection that ends soon after its
/// peer's hello counts as a failure.
public struct Backoff: Sendable {
  /// The bound of the first delay.
  public var initial: Duration
  /// The bound that later delays do not exceed.
  public var longest: Duration
  /// A session that lasted this long was a success.
  public var resetAfter: Duration = .seconds(30)
  /// A session that has moved documents and lasted this long was a success too.
  public var resetAfterDocuments: Duration = .seconds(5)
  private var failures = 0
  private let random: @Sendable () -> UInt64

  /// Starts at the shortest delay.
  ///
  /// - Parameters:
  ///   - initial: The bound of the first delay, above zero.
  ///   - longest: The greatest bound, at least `initial`.
  ///   - random: The source of the jitter.
  public init(
    initial: Duration = .milliseconds(100), longest: Duration = .seconds(30),
    random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }
  ) {
    self.initial = initial
    self.longest = longest
    self.random = random
  }

  /// The delay before the next attempt, after one more failure.
  public mutating func next() -> Duration {
    // 2^30 times the initial delay is beyond any sensible bound; the shift must not overflow.
    let bound = min(longest, initial * (1 << min(failures, 30)))
    failures += 1
    let unit = Double(random() >> 11) / Double(1 << 53)
    return bound * (0.5 + unit / 2)
  }

  /// Starts again at the shortest delay, after a success.
  public mutating func reset() { failures = 0 }
}
