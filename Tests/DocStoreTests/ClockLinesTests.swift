import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

/// What the log says of peers' clocks, which each of their documents may call for.
@Suite struct ClockLinesTests {
  private static let start: UInt64 = 1_800_000_000_000

  /// Ten minutes ahead, and two hundred years.
  @Test(arguments: [600_000, 200 * 366 * 86_400_000] as [UInt64])
  func `each kind of line is written once a minute at most, with how many were passed over`(lead: UInt64)
    throws
  {
    let now = Mutex(Self.start)
    let fixture = try StoreFixture { $0.now = { now.withLock { $0 } } }
    var number = 0
    func merge(_ count: Int, lead: UInt64) throws {
      try fixture.store.write(origin: .remote(1)) { tx in
        for _ in 0..<count {
          number += 1
          let time = now.withLock { $0 } + lead
          let wire = CrowdedDocument.wire(number..<number + 1, at: time)
          _ = try tx.merge(wire: wire.span.bytes, id: DocumentID("d\(number)"), in: "cars")
        }
      }
    }
    try merge(40, lead: lead)
    now.withLock { $0 += 59_000 }
    try merge(2, lead: lead)
    #expect(fixture.log.texts.count == 1)
    now.withLock { $0 += 1_000 }
    try merge(5, lead: lead)
    #expect(fixture.log.texts.count == 2)
    #expect(fixture.log.texts.last?.contains("41 such lines") == true)
    // The other kind has its own minute.
    try merge(3, lead: lead == 600_000 ? 200 * 366 * 86_400_000 : 600_000)
    #expect(fixture.log.texts.count == 3)
    // A clock that goes back hides nothing for longer.
    now.withLock { $0 -= 3_600_000 }
    try merge(1, lead: lead + 3_600_000 + 600_000)
    #expect(fixture.log.texts.count == 4)
    #expect(fixture.log.texts.last?.contains("4 such lines") == true)
  }
}
