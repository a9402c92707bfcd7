import CRDTCore
import DocStore
import TestKit
import Testing

/// Documents that are more than every store takes.
@Suite struct DocumentLimitTests {
  private static let limit = Limits.sitesPerDocument

  @Test func `a merge that is too much leaves what is here, and the rest of its transaction is stored`()
    throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let first = CrowdedDocument.wire(0..<Self.limit)
    let second = CrowdedDocument.wire(1..<Self.limit + 1)
    let id = try DocumentID("x")
    try store.write(origin: .remote(1)) { _ = try $0.merge(wire: first.span.bytes, id: id, in: "cars") }
    let sites = try store.statistics().siteCount
    let receipt = try store.write(origin: .remote(1)) { tx in
      guard case .refused(let error) = try tx.merge(wire: second.span.bytes, id: id, in: "cars") else {
        Issue.record("it was merged")
        return
      }
      #expect(error.code == .tooManySites)
      let prepared = try tx.prepare(wire: second.span.bytes, id: id, in: "cars")
      #expect(prepared.result == .refused(error))
      #expect(try tx.store(prepared))
      try tx.upsert(["n": .int(1)], id: DocumentID("y"), into: "cars")
    }.1
    #expect(receipt.sequence > 0)
    #expect(try store.fields("y", in: "cars") == ["n": .int(1)])
    #expect(try store.wire("x") == first)
    // The store's own site is new, that of the refused one is not.
    let after = try store.statistics().siteCount
    #expect(after == sites + 1)
    #expect(try store.verify().isIntact)
  }

  @Test func `a write by one site more fails, and what it belongs to can go on`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let wire = CrowdedDocument.wire(0..<Self.limit)
    let id = try DocumentID("x")
    try store.write(origin: .remote(1)) { _ = try $0.merge(wire: wire.span.bytes, id: id, in: "cars") }
    try store.write { tx in
      for write: () throws -> Void in [
        { try tx.upsert(["n": .int(1)], id: id, into: "cars") },
        { _ = try tx.update(id, in: "cars", [.set(["n"], .int(1))]) },
        { _ = try tx.remove(id, in: "cars") },
      ] {
        let error = #expect(throws: StoreError.self) { try write() }
        expectEqual(error?.document?.code, .tooManySites)
      }
      try tx.upsert(["n": .int(1)], id: DocumentID("y"), into: "cars")
    }
    #expect(try store.wire("x") == wire)
    #expect(try store.count(in: "cars") == 2)
    // Who lets go of it can write it anew.
    try store.write { _ = try $0.evict(id, in: "cars") }
    try store.put("x", ["n": .int(1)])
    #expect(try store.fields("x", in: "cars") == ["n": .int(1)])
  }

  @Test func `however many names peers bring, a collection keeps no more in memory than there may be`()
    throws
  {
    let (here, there) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2))
    var expected: [String: [TextKey: Value]] = [:]
    for number in 0..<30 {
      let names = (0..<200).map { "name \(number) \($0)" }
      let fields = Dictionary(uniqueKeysWithValues: names.map { (TextKey($0), Value.int(1)) })
      expected["d\(number)"] = fields.merging(["below": .map(fields)]) { $1 }
    }
    for (id, fields) in expected.sorted(by: { $0.key < $1.key }) {
      try there.store.put(id, fields)
      let wire = try there.store.wire(id)
      try here.store.write(origin: .remote(1)) {
        _ = try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
      }
    }
    for store in [here.store, there.store] {
      for (id, fields) in expected { try expectEqual(store.fields(id, in: "cars"), fields) }
      let names = try store.read { try $0.collection("cars")?.keys.count }
      expectEqual(names, KeyTable.capacity)
    }
  }

  @Test func `documents by thousands of sites read the same after the store was opened anew`() throws {
    let fixture = try StoreFixture()
    func wire(_ number: Int) -> [UInt8] {
      let first = number * Self.limit
      return CrowdedDocument.wire(first..<first + Self.limit, at: 1_700_000_000_000 + UInt64(number))
    }
    for number in 0..<4 {
      try fixture.store.write(origin: .remote(1)) {
        _ = try $0.merge(wire: wire(number).span.bytes, id: DocumentID("d\(number)"), in: "cars")
      }
    }
    func check() throws {
      #expect(try fixture.store.statistics().siteCount == 4 * Self.limit)
      for number in 0..<4 { try expectEqual(fixture.store.wire("d\(number)"), wire(number)) }
      let last = CrowdedDocument.site(4 * Self.limit - 1)
      let reading = ClockReading(milliseconds: 1_700_000_000_003 + UInt64(4 * Self.limit - 1))
      let found = try fixture.store.read { tx in
        [try tx.highestReading(of: last), try tx.highestReading()]
      }
      #expect(found == [reading, reading])
    }
    try check()
    try fixture.reopen()
    try check()
    try fixture.reopen()
    try fixture.store.write(origin: .remote(1)) { tx in
      let wire = CrowdedDocument.wire(9_000..<9_001)
      _ = try tx.merge(wire: wire.span.bytes, id: DocumentID("e"), in: "cars")
    }
    try fixture.reopen()
    for number in 0..<4 { try expectEqual(fixture.store.wire("d\(number)"), wire(number)) }
    #expect(try fixture.store.verify().isIntact)
  }
}
