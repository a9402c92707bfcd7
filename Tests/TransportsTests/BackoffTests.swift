import Links
import TestKit
import Testing

@Suite struct BackoffTests {
  @Test func `doubles its bound up to the longest, and begins again after a success`() {
    var backoff = Backoff(initial: .milliseconds(100), longest: .seconds(1), random: { .max })
    let delays = (0..<6).map { _ in backoff.next() }
    let bounds = [100, 200, 400, 800, 1_000, 1_000].map { Duration.milliseconds($0) }
    for (delay, bound) in zip(delays, bounds) { expect(delay <= bound && delay > bound * 0.999) }
    backoff.reset()
    #expect(backoff.next() <= .milliseconds(100))
  }

  @Test func `never waits less than half of the bound`() {
    var backoff = Backoff(initial: .milliseconds(100), longest: .seconds(1), random: { 0 })
    #expect(backoff.next() == .milliseconds(50))
    #expect(backoff.next() == .milliseconds(100))
  }

  @Test func `stays at the longest however many failures there are`() {
    var backoff = Backoff(initial: .milliseconds(100), longest: .seconds(30), random: { 0 })
    var last = Duration.zero
    for _ in 0..<200 { last = backoff.next() }
    #expect(last == .seconds(15))
  }
}
