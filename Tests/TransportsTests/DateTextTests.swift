#if TLS
  import Foundation
  import Links
  import TestKit
  import Testing

  /// The text of a time is what Foundation makes of it, without its calendar.
  @Suite struct DateTextTests {
    private static func expectSame(_ seconds: Double) {
      let date = Date(timeIntervalSince1970: seconds)
      expectEqual(
        date.timeText, date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
        "\(seconds)")
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `any time has the text that Foundation makes`(seed: UInt64) {
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<500 {
        Self.expectSame(Double.random(in: 0..<4e9, using: &generator))
        Self.expectSame(Double.random(in: -6e10..<253_402_300_800, using: &generator))
        Self.expectSame(
          Double(generator.int(below: 4_000_000_000)) + Double(generator.int(below: 1_000)) / 1_000)
      }
    }

    @Test func `the first and the last moment of days, months and years`() {
      for day in stride(from: 0, to: 60_000, by: 7) {
        Self.expectSame(Double(day) * 86_400)
        Self.expectSame(Double(day) * 86_400 - 0.001)
      }
      #expect(Date(timeIntervalSince1970: 951_782_400).timeText == "2000-02-29T00:00:00.000Z")
      #expect(Date(timeIntervalSince1970: 253_402_300_799.5).timeText == "9999-12-31T23:59:59.500Z")
    }
  }
#endif
