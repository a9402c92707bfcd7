import Synchronization
import TestKit
import Testing

@testable import Links

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

  @Test(arguments: [
    (asked: Duration?.none, waited: Duration.milliseconds(50)), (.milliseconds(1), .milliseconds(50)),
    (.seconds(120), .seconds(120)), (.seconds(100_000), .seconds(300)),
  ])
  func `who asks to wait is waited for, up to five minutes`(asked: Duration?, waited: Duration) async {
    let delays = Mutex<[Duration]>([])
    await Task {
      let backoff = Backoff(initial: .milliseconds(100), longest: .seconds(1), random: { 0 })
      await backoff.repeating(clock: .continuous, longestDelay: { nil }, ready: {}) { _, delay in
        delays.withLock { $0.append(delay) }
        // It ends instead of waiting.
        withUnsafeCurrentTask { $0?.cancel() }
      } attempt: { () async throws(LinkError) -> Bool in
        throw LinkError(.refused, "The server is busy", retryAfter: asked)
      }
    }.value
    #expect(delays.withLock { $0 } == [waited])
  }
}
