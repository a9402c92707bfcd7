import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct IndexReaderTests {
  private func names(_ snapshot: borrowing ReadTransaction) throws -> [String] {
    guard let cars = try snapshot.collection("cars") else { return [] }
    return try snapshot.readyIndexes(of: cars).map(\.definition.name)
  }

  @Test func `what is ready is told without reading, and as each snapshot had it`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    try store.read { before in
      let version = before.catalogueVersion
      #expect(version != nil)
      try store.createIndex(.cars("byN", "n"))
      try store.put("b", ["n": .int(2)])
      // The old snapshot keeps to its own pages.
      let (old, oldVersion) = (try names(before), before.catalogueVersion)
      #expect(old == [] && oldVersion == version)
      try store.read { now in
        let newer = now.catalogueVersion
        #expect(newer != version)
        try store.dropIndex("byN", on: "cars")
        let kept = try names(now)
        #expect(kept == ["byN"])
        let last = try store.read { try names($0) }
        #expect(last == [])
      }
    }
  }

  @Test func `versions stay where only documents change, and change with field names and indexes`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    func version() throws -> UInt64? { try store.read { $0.catalogueVersion } }
    try store.put("a", ["n": .int(1)])
    let first = try version()
    try store.put("b", ["n": .int(2)])
    #expect(try version() == first)
    try store.put("b", ["new": .int(2)])
    let second = try version()
    #expect(second != first)
    try store.createIndex(.cars("byN", "n"))
    #expect(try version() != second)
    let built = try version()
    let late = try store.read { $0.catalogueVersion }
    #expect(late == built)
    try store.compact()
    try store.put("c", ["n": .int(2)])
    let (last, known) = try store.read { (try names($0), $0.catalogueVersion) }
    #expect(last == ["byN"] && known != nil)
  }

  @Test func `an index of a commit that fails is told to nobody`() throws {
    let untilFault = Mutex(Int.max)
    let fixture = try StoreFixture {
      $0.commitFault = {
        untilFault.withLock { left in
          left -= 1
          return left == 0 ? ENOSPC : 0
        }
      }
    }
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    // The first commit makes the index, the second one makes it ready.
    untilFault.withLock { $0 = 2 }
    #expect(code { try store.createIndex(.cars("byN", "n")) } == .full)
    try store.put("b", ["n": .int(1)])
    let ready = try store.read { try names($0) }
    let known = try store.indexes()
    #expect(ready == [] && known == [])
  }

  @Test func `counts documents with one read, own writes included`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", [:])
    try store.put("b", [:])
    try store.write { tx in
      let cars = try #require(try tx.collection("cars"))
      try tx.remove(DocumentID("a"), in: "cars")
      #expect(try tx.documentCount(of: cars) == 1)
      try tx.upsert([:], id: DocumentID("c"), into: "cars")
      #expect(try tx.documentCount(of: cars) == 2)
    }
    let count = try store.read { tx in try tx.collection("cars").map { try tx.documentCount(of: $0) } }
    #expect(count == 2)
  }

  @Test func `reads documents of several ranges through one reader, both ways`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(.cars("byN", "n"))
    for n in 0..<20 { try store.put("d\(n)", ["n": .int(Int64(n / 2))]) }
    func check(_ reader: borrowing IndexReader) throws {
      for reversed in [false, true] {
        var found: [Value] = []
        for n in [7, 3] {
          let wantsAll = try reader.forEachDocument(
            from: .before([.int(Int64(n))]), to: .after([.int(Int64(n))]), reversed: reversed
          ) { _, id, record in
            let isAlive = record.isAlive
            expect(isAlive)
            found.append(try DocumentID(validating: id).value)
            return true
          }
          expect(wantsAll)
        }
        let expected = ["d14", "d15", "d6", "d7"]
        let turned = ["d15", "d14", "d7", "d6"]
        expectEqual(found, (reversed ? turned : expected).map(Value.string))
      }
      var seen = 0
      let wantsAll = try reader.forEachDocument { _, _, _ in
        seen += 1
        return seen < 3
      }
      #expect(!wantsAll && seen == 3)
      let count = try reader.countRows(from: .after([.int(4)]), limit: 100)
      #expect(count == 10)
    }
    let collection = try store.read { try $0.collection("cars") }
    let cars = try #require(collection)
    let index = try #require(try store.indexes().first)
    try store.read { tx in try tx.withIndex(index, of: cars) { try check($0) } }
    _ = try store.write { tx in
      try tx.upsert(["n": .int(0)], id: DocumentID("d1"), into: "cars")
      try tx.withIndex(index, of: cars) { reader in
        try check(reader)
        #expect(code { try tx.remove(DocumentID("d1"), in: "cars") } == .writeInsideRead)
      }
      #expect(try tx.countRows(in: index, from: .after([.int(4)]), limit: 100) == 10)
    }
  }

  @Test(arguments: [false, true])
  func `bounds of a prefix hold all strings that begin with it`(descending: Bool) throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.createIndex(.cars("byText", "n", descending ? "-text" : "text", "more"))
    let long = String(repeating: "p", count: 300)
    let texts = [
      "", "a", "ab", "ab\u{0}", "ab\u{1}", "ab\u{7F}", "abz", "abé", "ab\u{10FFFF}", "ac", "b", long,
    ]
    for (number, text) in texts.enumerated() {
      try store.put("d\(number)", ["n": .int(1), "text": .string(text), "more": .null])
    }
    try store.put("other", ["n": .int(1), "text": .array([])])
    try store.put("low", ["n": .int(1), "text": .bytes([255, 255, 255])])
    try store.put("next", ["n": .int(2), "text": .string("ab")])
    for text in ["ab", "", "a", "ab\u{0}", "zz", String(repeating: "p", count: 250), long] {
      let found = try store.ids(
        in: "byText", from: .beforePrefix([.int(1)], text: text), to: .afterPrefix([.int(1)], text: text))
      let expected = texts.indices.filter { texts[$0].utf8.starts(with: text.utf8) }
        .map { Value.string("d\($0)") }
      expect(Set(found) == Set(expected) && found.count == expected.count, "\(text)")
    }
  }
}
