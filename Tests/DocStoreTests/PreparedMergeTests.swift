import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct PreparedMergeTests {
  /// A store, and one that had the same documents and wrote on.
  private static func pair(_ ids: String...) throws -> (here: StoreFixture, there: StoreFixture) {
    let (here, there) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2))
    for id in ids {
      try there.store.put(id, ["n": .int(1), "old": .string("x")])
      let wire = try there.store.wire(id)
      try here.store.write(origin: .remote(1)) {
        try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
      }
      try there.store.put(id, ["n": .int(2), "new\(id)": .bool(true)])
    }
    return (here, there)
  }

  @Test func `what is prepared and not stored leaves no trace`() throws {
    let (here, there) = try Self.pair("a")
    try there.store.put("b", ["other": .int(1)])
    let before = try here.store.statistics()
    let receipt = try here.store.write { tx in
      for id in ["a", "b"] {
        let wire = try there.store.wire(id)
        // Nor does a collection come into being.
        for collection in ["cars", "boats"] {
          let prepared = try tx.prepare(wire: wire.span.bytes, id: DocumentID(id), in: collection)
          expectEqual(prepared.result, .changed)
        }
      }
    }.1
    #expect(receipt.sequence == 0)
    #expect(try here.store.statistics().collections == before.collections)
    #expect(try here.store.fields("a", in: "cars") == ["n": .int(1), "old": .string("x")])
    #expect(try here.store.verify().isIntact)
  }

  /// With an index, and with somebody who listens, too.
  @Test(arguments: [false, true], [false, true])
  func `what is stored later comes out as if it had been merged at once`(_ isIndexed: Bool, _ isHeard: Bool)
    throws
  {
    let (here, there) = try Self.pair("a", "b", "c")
    let (control, _) = try Self.pair("a", "b", "c")
    let commits = CommitLog()
    let listener = isHeard ? here.store.onCommit { commits.append($0) } : nil
    if isIndexed {
      for store in [here.store, control.store] { try store.createIndex(.cars("byN", "n")) }
    }
    try there.store.put("fresh", ["n": .int(9)])
    let ids = ["a", "fresh", "b", "c"]
    let wires = try ids.map { (try DocumentID($0), try there.store.wire($0)) }
    try here.store.write(origin: .remote(1)) { tx in
      let prepared = try wires.map { try tx.prepare(wire: $0.1.span.bytes, id: $0.0, in: "cars") }
      for one in prepared { try expect(tx.store(one)) }
    }
    try control.store.write(origin: .remote(1)) { tx in
      for (id, wire) in wires {
        let result = try tx.merge(wire: wire.span.bytes, id: id, in: "cars")
        expectEqual(result, .changed)
      }
    }
    for id in ids { try expectEqual(here.store.wire(id), control.store.wire(id)) }
    if isIndexed { #expect(try here.store.ids(in: "byN") == control.store.ids(in: "byN")) }
    if isHeard {
      let changes = try #require(commits.all.last).changes
      #expect(changes.map(\.id) == wires.map(\.0))
      #expect(changes.map { $0.before == nil } == [false, true, false, false])
    }
    #expect(try here.store.verify().isIntact)
    withExtendedLifetime(listener) {}
  }

  @Test func `what was prepared before the document was written is not stored`() throws {
    let (here, there) = try Self.pair("a")
    try there.store.put("fresh", ["n": .int(9)])
    try here.store.write { tx in
      for id in ["a", "fresh"] {
        let wire = try there.store.wire(id)
        let first = try tx.prepare(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
        let second = try tx.prepare(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
        try expect(tx.store(first))
        try expect(!tx.store(second))
        let result = try tx.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
        expectEqual(result, .unchanged)
      }
    }
    #expect(try here.store.fields("a", in: "cars") == there.store.fields("a", in: "cars"))
    #expect(try here.store.fields("fresh", in: "cars") == ["n": .int(9)])
    #expect(try here.store.verify().isIntact)
  }

  @Test func `the caller sees what stands here and decides`() throws {
    let (here, there) = try Self.pair("a")
    let wire = try there.store.wire("a")
    try here.store.write { tx in
      var seen: [Bool] = []
      let left = try tx.merge(wire: wire.span.bytes, id: DocumentID("a"), in: "cars") { existing, _ in
        seen.append(existing != nil)
        return .leave
      }
      #expect(left == .missingBase)
      #expect(seen.last == true)
      let prepared = try tx.prepare(wire: wire.span.bytes, id: DocumentID("a"), in: "cars") { _, _ in .leave }
      #expect(prepared.result == .missingBase)
    }
    #expect(try here.store.fields("a", in: "cars")?["n"] == .int(1))
  }
}
