import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct MergeTests {
  @Test
  func `peers that merge each other's documents hold the same, and a merge of the known changes nothing`()
    throws
  {
    let (a, b) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2))
    try a.store.put("x", ["color": .string("red"), "n": .int(1)])
    try b.store.merge("x", from: a.store)
    try b.store.write { try $0.update(DocumentID("x"), in: "cars", [.set(["n"], .int(2))]) }
    try a.store.write { try $0.update(DocumentID("x"), in: "cars", [.set(["color"], .string("blue"))]) }
    #expect(try a.store.merge("x", from: b.store).0 == .changed)
    #expect(try b.store.merge("x", from: a.store).0 == .changed)
    #expect(try a.store.fields("x", in: "cars") == ["color": .string("blue"), "n": .int(2)])
    #expect(try a.store.fields("x", in: "cars") == b.store.fields("x", in: "cars"))
    #expect(try a.store.wire("x") == b.store.wire("x"))
    let (result, receipt) = try a.store.merge("x", from: b.store)
    #expect(result == .unchanged)
    #expect(receipt.sequence == 0)
    #expect(try b.store.count(in: "cars") == 1)
  }

  @Test func `a removal that is merged lowers the count; evicting and merging brings the document back`()
    throws
  {
    let (a, b) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2))
    try a.store.put("x", ["n": .int(1)])
    try b.store.merge("x", from: a.store)
    try b.store.write { try $0.evict(DocumentID("x"), in: "cars") }
    #expect(try b.store.count(in: "cars") == 0)
    try b.store.put("x", ["m": .int(2)])
    try b.store.merge("x", from: a.store)
    #expect(try b.store.fields("x", in: "cars") == ["n": .int(1), "m": .int(2)])
    try a.store.merge("x", from: b.store)
    try a.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    try b.store.merge("x", from: a.store)
    #expect(try b.store.count(in: "cars") == 0)
  }

  @Test func `a peer's clock far ahead is reported and not followed; one a little ahead is`() throws {
    let near = try StoreFixture(seed: 1) { $0.now = { 1_800_000_100_000 } }
    let far = try StoreFixture(seed: 2) { $0.now = { 4_000_000_000_000 } }
    let here = try StoreFixture(seed: 3)
    try far.store.put("x", ["n": .int(1)])
    try here.store.merge("x", from: far.store)
    #expect(here.log.texts.contains { $0.contains("clock") })
    try here.store.put("y", [:])
    #expect(try here.store.latest("y").milliseconds == 1_800_000_000_000)
    // An edit of what one sees wins over it all the same.
    try here.store.put("x", ["n": .int(2)])
    try far.store.merge("x", from: here.store)
    #expect(try far.store.fields("x", in: "cars") == ["n": .int(2)])
    try near.store.put("z", [:])
    try here.store.merge("z", from: near.store)
    try here.store.put("y", ["n": .int(1)])
    #expect(try here.store.latest("y") > near.store.latest("z"))
  }

  @Test func `bytes that are no document are refused and change nothing`() throws {
    let fixture = try StoreFixture()
    let caught = code {
      try fixture.store.write { tx in
        try tx.merge(wire: ([1, 2, 3] as [UInt8]).span.bytes, id: DocumentID("x"), in: "cars")
      }
    }
    #expect(caught == .corrupt)
    #expect(try fixture.store.read { $0.sequence } == 0)
  }
}

extension Store {
  @discardableResult
  fileprivate func merge(_ id: String, from other: Store) throws -> (MergeResult, CommitReceipt) {
    let wire = try other.wire(id)
    return try write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
    }
  }

  fileprivate func latest(_ id: String) throws -> ClockReading {
    try read { tx in
      let cars = try #require(try tx.collection("cars"))
      let sites = tx.sites
      return try #require(
        try tx.withRecord(cars, DocumentID(id)) { record, _ in try record.vector(sites: sites).latest })
    }
  }
}
