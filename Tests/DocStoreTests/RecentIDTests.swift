import CRDTCore
import DocStore
import TestKit
import Testing

/// Ids of new documents stand in a table of their own before they go to the others.
@Suite struct RecentIDTests {
  private func counts(_ store: Store) throws -> (settled: Int, recent: Int) {
    (try store.entries(of: "ids").count, try store.entries(of: "recent").count)
  }

  private func ids(_ store: Store, from: String? = nil, to: String? = nil) throws -> [String] {
    try store.read { tx in
      var found: [String] = []
      let cars = try #require(try tx.collection("cars"))
      try tx.forEachRecord(
        in: cars, from: from.map { try DocumentID($0).bytes }, to: to.map { try DocumentID($0).bytes },
        verify: true
      ) { id, _, _ in
        if case .string(let text) = try DocumentID(validating: id).value { found.append(text) }
        return true
      }
      return found
    }
  }

  @Test(arguments: 1...6)
  func `wherever an id stands, its document is found, in order, once, and can go`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try StoreFixture(seed: seed) { $0.recentIDs = 20 }
    var model: Set<String> = []
    for round in 0..<40 {
      try fixture.store.write { tx in
        for _ in 0..<random.int(below: random.oneIn(5) ? 200 : 12) {
          let id = "id\(random.int(below: 4_000))"
          if random.oneIn(4) {
            let isKnown = try tx.evict(DocumentID(id), in: "cars")
            expectEqual(isKnown, model.remove(id) != nil, "seed \(seed)")
          } else {
            try tx.upsert(["v": .string(id)], id: DocumentID(id), into: "cars")
            model.insert(id)
          }
        }
      }
      let (settled, recent) = try counts(fixture.store)
      expectEqual(settled + recent, model.count, "seed \(seed)")
      expect(recent <= 20, "seed \(seed)")
      if round % 10 == 9 {
        try fixture.reopen()
        try expectEqual(ids(fixture.store), model.sorted(), "seed \(seed)")
        try expectEqual(
          ids(fixture.store, from: "id2", to: "id3"), model.filter { "id2" <= $0 && $0 < "id3" }.sorted(),
          "seed \(seed)")
        for id in model {
          try expectEqual(fixture.store.fields(id, in: "cars"), ["v": .string(id)], "seed \(seed)")
        }
      }
    }
    #expect(try counts(fixture.store).settled > 0)
    #expect(try fixture.store.verify().damages == [])
    try fixture.store.compact()
    #expect(try ids(fixture.store) == model.sorted(), "seed \(seed)")
  }

  @Test func `a transaction that fails leaves ids where they were`() throws {
    struct Stop: Error {}
    let fixture = try StoreFixture { $0.recentIDs = 4 }
    for number in 0..<4 { try fixture.store.put("a\(number)", ["v": .int(0)]) }
    #expect(throws: Stop.self) {
      try fixture.store.write { tx in
        for number in 0..<20 { try tx.upsert(["v": .int(1)], id: DocumentID("b\(number)"), into: "cars") }
        throw Stop()
      }
    }
    #expect(try counts(fixture.store) == (0, 4))
    try fixture.store.put("c", ["v": .int(0)])
    #expect(try counts(fixture.store) == (1, 4))
    #expect(try ids(fixture.store) == ["a0", "a1", "a2", "a3", "c"])
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `an id that stands in both tables is damage`() throws {
    let fixture = try StoreFixture { $0.recentIDs = 1 }
    try fixture.store.put("k1", ["v": .int(1)])
    try fixture.store.put("k2", ["v": .int(2)])
    #expect(try counts(fixture.store) == (1, 1))
    let settled = try #require(try fixture.store.entries(of: "ids").first)
    let recent = try #require(try fixture.store.entries(of: "recent").first)
    try fixture.reopen {
      try FileDamage.replace(
        recent.key + recent.value, by: settled.key + settled.value, at: fixture.dataPath)
    }
    #expect(try !fixture.store.verify().isIntact)
  }

  @Test func `collections with great numbers keep their documents apart`() throws {
    let fixture = try StoreFixture { $0.recentIDs = 50 }
    try fixture.store.write { tx in
      for number in 0..<300 {
        try tx.upsert(["v": .int(Int64(number))], id: DocumentID("x"), into: "c\(number)")
      }
    }
    try fixture.reopen()
    for number in 0..<300 {
      try expectEqual(fixture.store.fields("x", in: "c\(number)"), ["v": .int(Int64(number))])
    }
    #expect(try fixture.store.write { try $0.evict(DocumentID("x"), in: "c200") }.0)
    #expect(try fixture.store.fields("x", in: "c200") == nil)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a large store lets more of them stand apart`() {
    #expect([0, 100_000, 1_000_000, 100_000_000].map(IDSettling.limit) == [8_192, 8_192, 24_000, 240_000])
  }
}
