import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

/// Writes on documents whose history is far ahead of the clock, which does not follow.
@Suite struct FutureWriteTests {
  private static func merge(_ wire: [UInt8], into store: Store) throws {
    try store.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID("x"), in: "cars")
    }
  }

  private static func ownReading(_ store: Store) throws -> ClockReading? {
    try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      let sites = tx.sites
      let vector = try tx.withRecord(cars, DocumentID("x")) { record, _ in try record.vector(sites: sites) }
      return vector?.elements.filter { $0.writer.site == store.site }.map(\.reading).max()
    }
  }

  /// By each way to write, in transactions of their own or in one, and through a restart.
  @Test(arguments: [false, true], [false, true])
  func `no two have one name, also where the document was evicted and came back as it was`(
    _ isUpsert: Bool, _ isOneTransaction: Bool
  ) throws {
    let far = try StoreFixture(seed: 1) { $0.now = { 1_900_000_000_000 } }
    let here = try StoreFixture(seed: 2)
    try far.store.put("x", ["n": .int(0)])
    let wire = try far.store.wire("x")
    try Self.merge(wire, into: here.store)
    var readings: [ClockReading] = []
    func change(_ n: Int, _ tx: WriteTransaction) throws {
      if isUpsert {
        try tx.upsert(["n": .int(Int64(n))], id: DocumentID("x"), into: "cars")
      } else {
        try tx.update(DocumentID("x"), in: "cars", [.set(["n"], .int(Int64(n)))])
      }
    }
    for round in 0..<4 {
      if isOneTransaction {
        try here.store.write { tx in
          try change(2 * round, tx)
          try tx.evict(DocumentID("x"), in: "cars")
          _ = try tx.merge(wire: wire.span.bytes, id: DocumentID("x"), in: "cars")
          try change(2 * round + 1, tx)
        }
      } else {
        try here.store.write { try change(round, $0) }
      }
      let reading = try #require(try Self.ownReading(here.store))
      expect(reading > readings.last ?? .zero)
      readings.append(reading)
      try here.store.write { try $0.evict(DocumentID("x"), in: "cars") }
      try Self.merge(wire, into: here.store)
      if round == 1 { try here.reopen() }
    }
    #expect(try here.store.verify().damages == [])
    // The clock did not follow. A write that is not from the future has its own time, or up to 16 ms more
    // after a restart.
    try here.store.put("y", [:])
    let latest = try here.store.read { $0.latestReading.milliseconds }
    #expect(1_800_000_000_000...1_800_000_000_016 ~= latest)
  }

  @Test func `none is given out again by a clock that was put back, for a document that was evicted`() throws
  {
    let time = Mutex<UInt64>(1_800_000_600_000)
    let far = try StoreFixture(seed: 1) { $0.now = { 1_800_000_600_000 } }
    let here = try StoreFixture(seed: 2) { $0.now = { time.withLock(\.self) } }
    try here.store.put("y", [:])
    time.withLock { $0 -= 600_000 }
    for n in 0..<9 { try far.store.put("x", ["n": .int(Int64(n))]) }
    try Self.merge(try far.store.wire("x"), into: here.store)
    var last = ClockReading.zero
    for n in 0..<12 {
      try here.store.put("x", ["n": .int(Int64(n))])
      let reading = try #require(try Self.ownReading(here.store))
      expect(reading > last)
      last = reading
      try here.store.write { try $0.evict(DocumentID("x"), in: "cars") }
      if n == 6 { try here.reopen() }
    }
    let latest = try here.store.read { $0.latestReading.milliseconds }
    #expect(1_800_000_600_000...1_800_000_600_016 ~= latest)
  }
}
