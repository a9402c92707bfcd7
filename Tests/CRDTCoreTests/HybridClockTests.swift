import CRDTCore
import CRDTModel
import TestKit
import Testing

@Suite struct HybridClockTests {
  @Test(arguments: 0..<32 as Range<UInt64>)
  func `readings rise strictly, whatever the wall clock does and peers send`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var clock = HybridClock()
    var last = ClockReading.zero
    var now: UInt64 = 1_700_000_000_000
    for _ in 0..<500 {
      now = now &+ UInt64(generator.int(below: 2_000)) &- 900
      if generator.oneIn(3) {
        let seen = ClockReading(
          milliseconds: now &+ UInt64(generator.int(below: 900_000)) &- 300_000,
          counter: UInt16(truncatingIfNeeded: generator.next()))
        let isAdopted = clock.observe(seen, now: now)
        expectEqual(isAdopted, seen.milliseconds <= now + 300_000)
        if isAdopted { last = max(last, seen) }
      }
      let reading = clock.tick(now: now)
      expect(reading > last && reading.milliseconds >= now)
      expectEqual(clock.latest, reading)
      last = reading
    }
  }

  @Test func `a reading more than five minutes ahead is refused and drags nothing`() {
    var clock = HybridClock()
    let now: UInt64 = 1_000_000
    let isAdopted = clock.observe(ClockReading(milliseconds: now + 300_000, counter: 9), now: now)
    #expect(isAdopted)
    #expect(clock.latest == ClockReading(milliseconds: now + 300_000, counter: 9))
    for reading in [ClockReading(milliseconds: now + 300_001), ClockReading(rawValue: .max)] {
      let isAdopted = clock.observe(reading, now: now)
      expect(!isAdopted)
    }
    let next = clock.tick(now: now)
    #expect(next == ClockReading(milliseconds: now + 300_000, counter: 10))
  }

  @Test func `a reading of its own drags a clock no further ahead than it is`() {
    var clock = HybridClock(latest: ClockReading(milliseconds: 900_000, counter: 3))
    var isAdopted = clock.goOn(from: ClockReading(milliseconds: 900_000, counter: 7), now: 1)
    #expect(isAdopted && clock.latest == ClockReading(milliseconds: 900_000, counter: 7))
    isAdopted = clock.goOn(from: ClockReading(milliseconds: 900_001), now: 1)
    #expect(!isAdopted && clock.latest == ClockReading(milliseconds: 900_000, counter: 7))
    isAdopted = clock.goOn(from: ClockReading(milliseconds: 900_001), now: 600_001)
    #expect(isAdopted && clock.latest == ClockReading(milliseconds: 900_001))
    isAdopted = clock.goOn(from: ClockReading(milliseconds: 5), now: 600_001)
    #expect(isAdopted && clock.latest == ClockReading(milliseconds: 900_001))
  }

  @Test func `a clock goes on from where it was persisted, and counts on over the milliseconds`() {
    var clock = HybridClock(latest: ClockReading(milliseconds: 50, counter: .max))
    let readings = [10, 10, 60].map { clock.tick(now: $0) }
    #expect(
      readings == [
        ClockReading(milliseconds: 51, counter: 0), ClockReading(milliseconds: 51, counter: 1),
        ClockReading(milliseconds: 60, counter: 0),
      ])
    #expect(ClockReading(rawValue: .max).next == ClockReading(rawValue: .max))
    #expect(ClockReading(milliseconds: .max, counter: 3).milliseconds == 0xFFFF_FFFF_FFFF)
  }

  @Test func `a document from 2099 stays writable, and every edit of what one sees wins`() throws {
    let today: UInt64 = 1_760_000_000_000
    let year2099: UInt64 = 4_070_908_800_000
    var poisoner = Peer(9)
    try poisoner.upsert(["x": .string("future"), "c": .counter(1), "m": .map(["k": .int(1)])], now: year2099)
    var a = Peer(1)
    try a.pull(poisoner)
    for turn in 0..<5 as Range<UInt64> {
      try a.upsert(["x": .int(Int64(turn))], now: today + turn)
      try a.update([.increment(["c"], 1), .remove(["m", "k"])], now: today + turn)
      try expectEqual(a.fields?["x"], .int(Int64(turn)))
    }
    #expect(try a.fields == ["x": .int(4), "c": .counter(6), "m": .map([:])])
    #expect(try a.vector.latest > ClockReading(milliseconds: year2099))
    #expect(a.clock.latest < ClockReading(milliseconds: today + 1_000))
    try poisoner.pull(a)
    #expect(try poisoner.fields == a.fields)
    try a.remove(now: today + 9)
    #expect(try a.fields == nil)
    try a.upsert(["new": .int(1)], .insertIfAbsent, now: today + 10)
    try poisoner.pull(a)
    #expect(try poisoner.fields == ["new": .int(1)])
  }
}
