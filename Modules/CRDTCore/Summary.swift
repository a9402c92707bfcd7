/// A 128-bit hash of a document's state, the same for equal states at every peer.
///
/// It is the sum of the hashes of the live entries, the life, the floor and the version vector. So sums over
/// many documents compare whole sets.
public struct Summary: Hashable, Sendable {
  public var high: UInt64
  public var low: UInt64

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  public static let zero = Summary(high: 0, low: 0)

  /// The sum modulo 2^128.
  public static func &+ (a: Summary, b: Summary) -> Summary {
    let (low, carry) = a.low.addingReportingOverflow(b.low)
    return Summary(high: a.high &+ b.high &+ (carry ? 1 : 0), low: low)
  }

  package mutating func add(_ lanes: HashLanes) {
    self = self &+ Summary(high: lanes.first, low: lanes.second)
  }

  /// Subtracts the hash of a part.
  mutating func subtract(_ lanes: HashLanes) {
    let (low, borrow) = low.subtractingReportingOverflow(lanes.second)
    self.low = low
    high = high &- lanes.first &- (borrow ? 1 : 0)
  }

  /// The hash of `bytes`, for keys that a summary includes.
  package init(hashing bytes: RawSpan, seed: UInt64 = 0) {
    let lanes = HashLanes(bytes, seed: seed)
    self.init(high: lanes.first, low: lanes.second)
  }
}
