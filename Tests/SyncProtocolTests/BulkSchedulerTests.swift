import Testing

@testable import SyncProtocol

/// Two or three sessions whose peers could bring the same.
@Suite struct BulkSchedulerTests {
  private let scheduler = BulkScheduler()

  private func claim(
    _ session: UInt64, of count: UInt64? = 1_000, _ collection: String = "cars", at milliseconds: Int
  ) -> Duration? {
    scheduler.claim(collection, of: count, for: session, received: 0, now: .milliseconds(milliseconds))
  }

  private func note(_ session: UInt64, bytes: UInt64, at milliseconds: Int, isApplying: Bool = false) {
    scheduler.note(
      session, received: bytes, progressedAt: .milliseconds(milliseconds), isApplying: isApplying)
  }

  @Test func `one of several that have about the same is asked at a time`() {
    #expect(claim(1, at: 0) == nil)
    #expect(claim(2, at: 0) != nil)
    #expect(claim(2, "bikes", at: 0) == nil)
    // Asked once more, who has the leave keeps it.
    #expect(claim(1, at: 10) == nil)
    #expect(scheduler.leave(2) == [])
    #expect(claim(3, at: 20) != nil)
    #expect(scheduler.leave(1) == [3])
    #expect(claim(3, at: 30) == nil)
  }

  @Test func `who has clearly more or less waits for nobody`() {
    #expect(claim(1, of: 1_000, at: 0) == nil)
    #expect(claim(2, of: 949, at: 0) == nil)
    #expect(scheduler.leave(2) == [])
    #expect(claim(2, of: 950, at: 0) != nil)
    // What is not known counts as the same.
    #expect(claim(3, of: nil, at: 0) != nil)
  }

  @Test func `nobody waits long for one that brings nothing`() {
    #expect(claim(1, at: 0) == nil)
    #expect(claim(2, at: 100) != nil)
    #expect(claim(2, at: 599) != nil)
    #expect(claim(2, at: 600) == nil)
  }

  @Test func `a slow one is waited for longer, and a quick one as long as it brings something`() {
    #expect(claim(1, at: 0) == nil)
    #expect(claim(2, at: 0) != nil)
    note(1, bytes: BulkScheduler.muchBytes, at: 100)
    #expect(claim(2, at: 1_999) != nil)
    note(1, bytes: 4 << 20, at: 3_000)
    #expect(claim(2, at: 7_999) != nil)
    #expect(claim(2, at: 8_000) == nil)
  }

  @Test func `one that is applying is not silent`() {
    #expect(claim(1, at: 0) == nil)
    #expect(claim(2, at: 0) != nil)
    note(1, bytes: 64 << 20, at: 3_000, isApplying: true)
    #expect(claim(2, at: 20_000) != nil)
    note(1, bytes: 64 << 20, at: 3_000)
    #expect(claim(2, at: 20_000) == nil)
  }

  @Test func `a wait that was given up does not count for the next`() {
    #expect(claim(1, at: 0) == nil)
    #expect(claim(2, at: 0) != nil)
    #expect(scheduler.leave(2) == [])
    // Nobody waits any more.
    #expect(scheduler.leave(1) == [])
    #expect(claim(1, at: 10_000) == nil)
    #expect(claim(2, at: 10_000) != nil)
    #expect(claim(2, at: 10_499) != nil)
    #expect(claim(2, at: 10_500) == nil)
  }
}
