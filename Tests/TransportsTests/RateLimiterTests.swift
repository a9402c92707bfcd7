import NIOCore
import TestKit
import Testing

@testable import Links

@Suite struct RateLimiterTests {
  @Test func `so many come at once, and then at the rate`() {
    var rates = RateLimiter<String>(atOnce: 3, interval: .seconds(2))
    func wait(_ name: String, _ milliseconds: Int) -> Duration? {
      rates.take(name, at: .milliseconds(milliseconds))
    }
    for _ in 0..<3 { expect(wait("a", 10_000) == nil) }
    #expect(wait("a", 10_000) == .seconds(2))
    #expect(wait("b", 10_000) == nil)
    #expect(wait("a", 11_500) == .milliseconds(500))
    #expect(wait("a", 12_000) == nil)
    #expect(wait("a", 12_000) == .seconds(2))
    // After a long pause it is as at first, and no more is saved up.
    for _ in 0..<3 { expect(wait("a", 100_000) == nil) }
    #expect(wait("a", 100_000) != nil)
  }

  @Test func `a rate of none lets through what comes at once`() {
    var rates = RateLimiter<Int>(atOnce: 2, perSecond: 0)
    let waits = [0, 1, 1_000_000].map { rates.take(0, at: .seconds($0)) }
    #expect(waits[0] == nil && waits[1] == nil && waits[2] != nil)
  }

  // MARK: - Laws

  /// A token bucket, written down as its definition says.
  private struct Bucket {
    let interval: Duration
    let size: Duration
    var level: Duration
    var time = Duration.zero

    init(_ count: Int, _ interval: Duration) {
      (self.interval, size, level) = (interval, interval * count, interval * count)
    }

    mutating func take(at now: Duration) -> Duration? {
      level = min(size, level + (now - time))
      time = now
      guard level >= interval else { return interval - level }
      level -= interval
      return nil
    }
  }

  @Test(arguments: 0..<50)
  func `it is a token bucket for each name, whatever the clock does`(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let count = Int.random(in: 1...5, using: &random)
    let interval = Duration.milliseconds(Int.random(in: 1...1_000, using: &random))
    var rates = RateLimiter<Int>(atOnce: count, interval: interval)
    var buckets: [Int: Bucket] = [:]
    var (now, latest) = (Duration.seconds(5), Duration.zero)
    for _ in 0..<500 {
      // Now and then the clock goes back.
      let step = interval * Double.random(in: -0.3...1, using: &random)
      now += step
      latest = max(latest, now)
      let name = Int.random(in: 0..<3, using: &random)
      let expected = buckets[name, default: Bucket(count, interval)].take(at: latest)
      let wait = rates.take(name, at: now)
      expectEqual(wait, expected)
    }
  }

  @Test(arguments: 0..<50)
  func `no span of time has more than its share, and who waits as told is let through`(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let count = Int.random(in: 1...4, using: &random)
    let interval = Duration.milliseconds(Int.random(in: 1...50, using: &random))
    var rates = RateLimiter<Int>(atOnce: count, interval: interval)
    var (now, admitted) = (Duration.zero, [Duration]())
    for _ in 0..<300 {
      now += interval * Double.random(in: 0...0.8, using: &random)
      guard let wait = rates.take(0, at: now) else {
        admitted.append(now)
        continue
      }
      // A refusal costs nothing, and its wait is exact.
      expect(wait > .zero)
      let early = rates.take(0, at: now + wait - .nanoseconds(1))
      expectEqual(early, .nanoseconds(1))
      now += wait
      let late = rates.take(0, at: now)
      expect(late == nil)
      admitted.append(now)
    }
    for first in admitted.indices {
      for last in admitted.indices[first...] {
        let share = Double(count) + (admitted[last] - admitted[first]) / interval
        expect(Double(last - first + 1) <= share + 1e-9)
      }
    }
  }

  @Test(arguments: 0..<20)
  func `memory is bounded, names that are kept have their own rate, and all others share one`(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let (entries, count) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...5, using: &random))
    var rates = RateLimiter<Int>(atOnce: count, interval: .seconds(10), entries: entries)
    var admitted = 0
    for name in 0..<1_000 where rates.take(name, at: .seconds(1)) == nil { admitted += 1 }
    #expect(admitted == entries + count)
    #expect(rates.count == entries)
    // Those that came first are not kept out by the others.
    for _ in 1..<count { expect(rates.take(0, at: .seconds(1)) == nil) }
    #expect(rates.take(0, at: .seconds(1)) == .seconds(10))
    // When their time is over there is room again.
    #expect(rates.take(2_000, at: .seconds(1_000)) == nil)
    #expect(rates.count == 1)
  }

  @Test func `entries that have ended are looked for once a second`() {
    var rates = RateLimiter<String>(atOnce: 1, interval: .milliseconds(10), entries: 1)
    func isAdmitted(_ name: String, _ milliseconds: Int) -> Bool {
      rates.take(name, at: .milliseconds(milliseconds)) == nil
    }
    #expect(isAdmitted("a", 0))
    // Looked for now, and the next time at 1 s: until then newcomers share.
    #expect(isAdmitted("b", 0) && !isAdmitted("c", 0))
    #expect(isAdmitted("b", 999) && !isAdmitted("c", 999))
    #expect(isAdmitted("b", 1_000))
    #expect(isAdmitted("c", 1_010) && !isAdmitted("d", 1_010))
  }

  // MARK: - Connections

  @Test func `a flood of connections is closed as it arrives, and another address is not kept out`() throws {
    let (start, here) = (NIODeadline.now(), ConnectionOrigin(named: "here"))
    var limits = ConnectionLimits()
    (limits.arrivalsByAddress, limits.arrivalsByAddressPerSecond) = (4, 1)
    let connections = HalfOpenConnections(limits)
    var admitted = 0
    for _ in 0..<20 {
      guard let place = connections.enter(from: here, at: start) else { continue }
      admitted += 1
      place.end()
    }
    #expect(admitted == 4 && connections.count == 0)
    #expect(connections.enter(from: ConnectionOrigin(named: "there"), at: start) != nil)
    #expect(connections.enter(from: here, at: start + .seconds(1)) != nil)
    #expect(connections.enter(from: here, at: start + .seconds(1)) == nil)
  }
}
