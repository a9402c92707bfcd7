import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct IndexTests {
  private struct Stop: Error {}

  @Test func `gives documents in order, with those made before it and those made after`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["n": .int(3)])
    try store.put("b", ["n": .int(1)])
    try store.createIndex(.cars("byN", "n"))
    try store.put("c", ["n": .int(2)])
    try store.put("d", [:])
    try store.put("e", ["n": .null])
    #expect(try store.ids(in: "byN") == ["b", "c", "a", "e", "d"].map(Value.string))
    #expect(try store.ids(in: "byN", reversed: true) == ["d", "e", "a", "c", "b"].map(Value.string))
    #expect(
      try store.ids(in: "byN", from: .before([.int(2)]), to: .after([.int(3)])) == [
        .string("c"), .string("a"),
      ])
    let info = try #require(try store.indexes().first)
    #expect(info.state == .ready && info.rowCount == 5 && info.definition == .cars("byN", "n"))
    try store.read { tx in
      let limited = try tx.countRows(in: info, limit: 3)
      #expect(limited == 3)
      let range = try tx.countRows(in: info, from: .after([.int(1)]), to: .before([nil]), limit: 10)
      #expect(range == 3)
    }
  }

  @Test func `follows updates, removals, revivals and evictions`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(.cars("byN", "-size.n", "color"))
    for (id, n) in [("a", 1), ("b", 2), ("c", 3)] {
      try store.put(id, ["size": .map(["n": .int(Int64(n))]), "color": .string("red")])
    }
    #expect(try store.ids(in: "byN") == ["c", "b", "a"].map(Value.string))
    try store.write { tx in
      try tx.update(DocumentID("a"), in: "cars", [.set(["size", "n"], .int(9))])
      try tx.update(DocumentID("b"), in: "cars", [.set(["other"], .int(9))])
      try tx.remove(DocumentID("c"), in: "cars")
    }
    #expect(try store.ids(in: "byN") == ["a", "b"].map(Value.string))
    try store.write { try $0.evict(DocumentID("a"), in: "cars") }
    try store.put("c", ["size": .int(1)])
    #expect(try store.ids(in: "byN") == ["c", "b"].map(Value.string))
    #expect(try store.indexes().first?.rowCount == 2)
    #expect(try store.indexFindings() == [])
  }

  @Test func `a transaction reads its own rows, and leaves none when it fails`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(.cars("byN", "n"))
    try store.put("a", ["n": .int(1)])
    #expect(throws: Stop.self) {
      try store.write { tx in
        try tx.upsert(["n": .int(0)], id: DocumentID("b"), into: "cars")
        try tx.update(DocumentID("a"), in: "cars", [.set(["n"], .int(-5))])
        let collection = try #require(try tx.collection("cars"))
        let index = try #require(try tx.indexes(of: collection).first)
        #expect(index.rowCount == 2)
        var ids: [Value] = []
        try tx.forEachRow(in: index) { row in
          let id = try tx.withRecord(numbered: row.document, in: collection) { id, _, _ in
            try DocumentID(validating: id).value
          }
          ids.append(try #require(id))
          #expect(code { try tx.remove(DocumentID("a"), in: "cars") } == .writeInsideRead)
          return true
        }
        #expect(ids == ["a", "b"].map(Value.string))
        throw Stop()
      }
    }
    #expect(try store.ids(in: "byN") == [.string("a")])
    #expect(try store.indexFindings() == [])
  }

  @Test func `a document that changes often in one transaction has the last row alone`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(.cars("byN", "n"))
    try store.write { tx in
      for n: Int64 in [5, 3, 5, 4, 5] { try tx.upsert(["n": .int(n)], id: DocumentID("a"), into: "cars") }
      try tx.upsert(["n": .int(1)], id: DocumentID("b"), into: "cars")
      try tx.evict(DocumentID("b"), in: "cars")
    }
    #expect(try store.ids(in: "byN", from: .before([.int(5)])) == [.string("a")])
    #expect(try store.indexes().first?.rowCount == 1)
    #expect(try store.indexFindings() == [])
  }

  @Test func `ids of the greatest length and values of any length fit`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(.cars("byText", "text", "more"))
    let id = try DocumentID(.string(String(repeating: "i", count: 255)))
    for text in [String(repeating: "t", count: 100_000), String(repeating: "\u{0}", count: 300), "t"] {
      try store.write { tx in
        try tx.upsert(["text": .string(text), "more": .string(text)], id: id, into: "cars")
      }
      try expectEqual(store.ids(in: "byText"), [id.value])
      try expectEqual(store.indexFindings(), [])
    }
  }

  @Test func `refuses what cannot be an index, and a name that is taken`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(.cars("byN", "n"))
    #expect(code { try store.createIndex(.cars("byN", "m")) } == .indexExists)
    for definition: IndexDefinition in [
      .cars("", "n"), .cars("x"), .cars("x", "n", "-n"), .cars("x", "_id"), .cars("x\u{0}", "n"),
      .cars(String(repeating: "x", count: 101), "n"),
      IndexDefinition(name: "x", collection: "cars", fields: [.init([])]),
      .cars("x", "a", "b", "c", "d", "e", "f", "g", "h", "i"),
    ] {
      expectEqual(code { try store.createIndex(definition) }, .invalidIndex)
    }
    let system = IndexDefinition(name: "x", collection: "__x", fields: [.init(["n"])])
    #expect(code { try store.createIndex(system) } == .invalidCollectionName)
    #expect(code { try store.dropIndex("other", on: "cars") } == .indexNotFound)
    #expect(code { try store.dropIndex("byN", on: "boats") } == .indexNotFound)
    #expect(try store.indexes().map(\.definition.name) == ["byN"])
    for number in 1..<64 { try store.createIndex(.cars("more\(number)", "n")) }
    #expect(code { try store.createIndex(.cars("oneMore", "n")) } == .limit)
  }

  @Test func `one name may be used in two collections, and again after a drop`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let first = try store.createIndex(.cars("byN", "n"))
    let boats = IndexDefinition(name: "byN", collection: "boats", fields: [IndexField(["n"])])
    try store.createIndex(boats)
    try store.put("a", ["n": .int(1)])
    try store.put("b", ["n": .int(1)], into: "boats")
    try store.dropIndex("byN", on: "cars")
    #expect(try store.indexes() == [])
    #expect(try store.indexes(of: "boats").map(\.rowCount) == [1])
    let again = try store.createIndex(.cars("byN", "m"))
    #expect(again > first)
    try store.dropIndex("byN", on: "cars")
    try fixture.reopen()
    #expect(try fixture.store.createIndex(.cars("byN", "n")) > again)
    #expect(try fixture.store.ids(in: "byN") == [.string("a")])
    #expect(try fixture.store.indexFindings() == [])
  }

  @Test func `a snapshot keeps the index it has`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    try store.createIndex(.cars("byN", "n"))
    try store.read { tx in
      let collection = try #require(try tx.collection("cars"))
      let index = try #require(try tx.indexes(of: collection).first)
      try store.put("b", ["n": .int(0)])
      try store.dropIndex("byN", on: "cars")
      let count = try tx.countRows(in: index, limit: 10)
      #expect(count == 1)
      let indexes = try tx.indexes(of: collection)
      #expect(indexes == [index])
    }
  }

  @Test func `is not synced, not announced and takes no place in the log`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    let commits = CommitLog()
    let listener = store.onCommit { commits.append($0) }
    try store.createIndex(.cars("byN", "n"))
    try store.dropIndex("byN", on: "cars")
    #expect(commits.all.isEmpty)
    #expect(try store.read { $0.sequence } == 1)
    listener.cancel()
  }

  @Test func `a damaged row is noticed and named`() throws {
    let fixture = try StoreFixture()
    try fixture.store.createIndex(.cars("byText", "text"))
    try fixture.store.put("a", ["text": .string("some text to find")])
    try fixture.store.put("b", ["text": .string("another text")])
    let index = try #require(try fixture.store.indexes().first).number
    let row = { (text: String) in [UInt8(index), 0x40] + Array(text.utf8) }
    try fixture.reopen {
      let count = try FileDamage.replace(
        row("some text to find"), by: row("some text to fine"), at: fixture.dataPath)
      #expect(count > 0)
    }
    // First, for once the damage is met the index is made anew.
    let findings = try fixture.store.indexFindings()
    #expect(findings.contains { $0.contains("damaged row") && $0.contains("byText") })
    #expect(findings.contains { $0.contains("lacks the row") })
    #expect(try fixture.store.fields("a", in: "cars") == ["text": .string("some text to find")])
  }

  @Test func `a damaged document leaves no row behind when it is evicted`() throws {
    let fixture = try StoreFixture()
    try fixture.store.createIndex(.cars("byText", "text"))
    try fixture.store.put("a", ["text": .string("in row"), "bulk": .string("marker in the record")])
    try fixture.store.put("b", ["text": .string("x")])
    try fixture.reopen {
      try FileDamage.replace(
        Array("marker in the record".utf8), by: Array("marker is the record".utf8), at: fixture.dataPath)
    }
    let store = fixture.store
    #expect(code { try store.put("a", ["text": .string("new")]) } == .corrupt)
    #expect(code { try store.createIndex(.cars("byBulk", "bulk")) } == .corrupt)
    #expect(try store.indexes().map(\.definition.name) == ["byText"])
    try store.write { try $0.evict(DocumentID("a"), in: "cars") }
    #expect(try store.ids(in: "byText") == [.string("b")])
    #expect(try store.indexes().first?.rowCount == 1)
    #expect(try store.indexFindings() == [])
  }
}
