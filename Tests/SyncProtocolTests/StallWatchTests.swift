import Testing

@testable import SyncProtocol

/// When a peer that gets nowhere is given up.
@Suite struct StallWatchTests {
  private static let patience = Duration.seconds(60)

  @Test func `who gets on has all of its time again`() {
    var watch = StallWatch()
    watch.note(1, isWaiting: false, now: .seconds(1))
    #expect(watch.deadline(Self.patience) == nil)
    watch.note(1, isWaiting: true, now: .seconds(2))
    watch.note(1, isWaiting: true, now: .seconds(30))
    #expect(watch.deadline(Self.patience) == .seconds(62))
    // It took 40 seconds once.
    watch.note(2, isWaiting: true, now: .seconds(42))
    #expect(watch.deadline(Self.patience) == .seconds(42 + 60 + 80))
    watch.note(2, isWaiting: false, now: .seconds(43))
    #expect(watch.deadline(Self.patience) == nil)
  }

  @Test func `what the peer is yet to hear of adds a second for each thousand bytes`() {
    var watch = StallWatch()
    watch.note(1, asked: 5_000, isWaiting: true, now: .zero)
    watch.note(1, asked: 72_000, isWaiting: true, now: .seconds(1))
    #expect(watch.deadline(Self.patience) == .seconds(60 + 72))
    // Who answers nothing is not kept for ever by being asked more.
    var silent = watch
    silent.note(1, asked: 9_000_000, isWaiting: true, now: .seconds(2))
    #expect(silent.deadline(Self.patience) == .seconds(60 + 600))
    // What came may be of before the last that was asked; what comes then is not.
    watch.note(2, asked: 72_000, isWaiting: true, now: .seconds(1))
    #expect(watch.deadline(Self.patience) == .seconds(1 + 60 + 2 + 72))
    watch.note(3, asked: 72_000, isWaiting: true, now: .seconds(1))
    #expect(watch.deadline(Self.patience) == .seconds(1 + 60 + 2))
  }
}
