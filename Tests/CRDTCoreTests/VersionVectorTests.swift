import CRDTCore
import TestKit
import Testing

@Suite struct VersionVectorTests {
  @Test(arguments: 0..<64 as Range<UInt64>)
  func `vectors join by maximum, whatever the order and however often`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    func vector() -> VersionVector {
      VersionVector(
        (0..<generator.int(below: 6)).map { _ in
          let site = SiteID(high: 0, low: UInt64(generator.int(below: 3)))
          let birth = ClockReading(milliseconds: UInt64(generator.int(below: 2)), counter: 0)
          let reading = ClockReading(milliseconds: UInt64(generator.int(below: 9)), counter: 1)
          return .init(writer: Writer(site: site, birth: birth), reading: reading)
        })
    }
    expectJoinLaws((vector(), vector(), vector()), "seed \(seed)") { a, b in
      var joined = a
      joined.join(b)
      #expect(joined.dominates(a) && joined.dominates(b))
      return joined
    }
  }

  @Test func `default data is covered by no vector`() {
    let writer = Writer(site: .zero, birth: .zero)
    #expect(!VersionVector([.init(writer: writer, reading: .zero)]).covers(writer, at: .zero))
  }
}
