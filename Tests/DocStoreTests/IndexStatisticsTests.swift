import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct IndexStatisticsTests {
  /// Half of the documents have one `kind`, the others one of a hundred; `n` is different in all.
  private static func filled(
    _ count: Int = 4_000, _ adjust: (inout StoreOptions) -> Void = { $0.writerSlice = .zero }
  ) throws -> StoreFixture {
    let fixture = try StoreFixture(adjust)
    try fixture.store.write { tx in try Self.put(0..<count, tx) }
    return fixture
  }

  private static func put(_ numbers: Range<Int>, _ tx: WriteTransaction) throws {
    for number in numbers {
      let kind = number % 2 == 0 ? "often" : "kind \(number / 2 % 100)"
      try tx.upsert(
        ["n": .int(Int64(number)), "kind": .string(kind)], id: DocumentID(.int(Int64(number))), into: "cars")
    }
  }

  private static func index(_ store: Store, _ name: String) throws -> IndexInfo {
    try store.read { tx in
      let collection = try #require(try tx.collection("cars"))
      return try #require(try tx.readyIndexes(of: collection).first { $0.definition.name == name })
    }
  }

  /// The part of the rows that lie between two bounds, counted.
  private static func counted(
    _ store: Store, _ index: IndexInfo, _ from: IndexBound?, _ to: IndexBound?
  ) throws -> Double {
    let count = try store.read { try $0.countRows(in: index, from: from, to: to, limit: .max) }
    return Double(count) / Double(index.rowCount)
  }

  @Test func `a built index knows how many different values there are and how they are spread`() throws {
    let fixture = try Self.filled()
    let store = fixture.store
    let definitions: [IndexDefinition] = [
      .cars("n", "n"), .cars("kind", "kind", "-n"), .cars("down", "-n", "kind"),
    ]
    for definition in definitions { try store.createIndex(definition) }
    let n = try #require(try Self.index(store, "n").statistics)
    #expect(n.rowCount == 4_000 && n.distinctCounts == [4_000])
    #expect(try #require(try Self.index(store, "kind").statistics).distinctCounts == [101, 4_000])
    #expect(try #require(try Self.index(store, "down").statistics).distinctCounts == [4_000, 4_000])
    let often: [Value?] = [.string("often")]
    let rare: [Value?] = [.string("kind 17")]
    let spans: [(String, IndexBound?, IndexBound?)] = [
      ("n", .before([.int(1_000)]), .before([.int(2_000)])), ("n", .after([.int(3_900)]), nil),
      ("n", nil, .before([.int(37)])), ("n", .before([.int(2_000)]), .after([.int(2_009)])),
      ("n", .before([.int(77)]), .after([.int(77)])), ("n", .before([.int(9_000)]), .after([.int(9_000)])),
      ("n", nil, nil), ("down", .before([.int(2_000)]), .before([.int(1_000)])),
      ("kind", .before(often), .after(often)), ("kind", .before(rare), .after(rare)),
      ("kind", .beforePrefix([], text: "kind"), .afterPrefix([], text: "kind")),
      ("kind", .before(often + [.int(2_000)]), .after(often + [.int(1_000)])),
      ("kind", .before(often + [.int(2_000)]), .after(often + [.int(2_000)])),
    ]
    for (name, from, to) in spans {
      let index = try Self.index(store, name)
      let share = try #require(index.share(from: from, to: to))
      let truth = try Self.counted(store, index, from, to)
      expect(abs(share - truth) < 0.025 && share > 0, "\(name): \(share) for \(truth)")
    }
    let rareIndex = try Self.index(store, "kind")
    let share = try #require(rareIndex.share(from: .before(rare), to: .after(rare)))
    #expect(share > 0.003 && share < 0.008)
    #expect(try store.indexFindings() == [])
    #expect(try store.verify().damages == [])
  }

  @Test func `few rows have no statistics, and those there are live as long as their index`() throws {
    let fixture = try Self.filled(255)
    try fixture.store.createIndex(.cars("n", "n"))
    #expect(try Self.index(fixture.store, "n").statistics == nil)
    try fixture.store.write { try Self.put(255..<300, $0) }
    try fixture.store.updateStatistics(of: "boats")
    #expect(try Self.index(fixture.store, "n").statistics == nil)
    try fixture.store.updateStatistics()
    #expect(try fixture.store.entries(of: "indexes").count == 2)
    let before = try #require(try Self.index(fixture.store, "n").share(from: nil, to: .before([.int(100)])))
    for _ in 0..<2 {
      try fixture.reopen()
      try fixture.store.compact()
      let share = try Self.index(fixture.store, "n").share(from: nil, to: .before([.int(100)]))
      expectEqual(share, before)
    }
    #expect(try fixture.store.verify().damages == [])
    try fixture.store.dropIndex("n", on: "cars")
    #expect(try fixture.store.entries(of: "indexes").isEmpty)
    #expect(try fixture.store.createIndex(.cars("n", "n")) == 2)
    #expect(try Self.index(fixture.store, "n").statistics?.rowCount == 300)
  }

  @Test func `statistics are made anew once a fifth of the rows has changed, also after a restart`()
    async throws
  {
    let fixture = try Self.filled(1_000) { $0.statisticsDelay = .zero }
    try await fixture.store.createIndex(.cars("n", "n"))
    try await fixture.store.write { try Self.put(1_000..<1_150, $0) }
    #expect(try Self.index(fixture.store, "n").statistics?.rowCount == 1_000)
    try fixture.reopen()
    try await fixture.store.write { try Self.put(1_150..<1_250, $0) }
    let store = fixture.store
    try await waitUntil { try Self.index(store, "n").statistics?.rowCount == 1_250 }
    try await store.write { tx in
      for number in 0..<1_100 { try tx.remove(DocumentID(.int(Int64(number))), in: "cars") }
    }
    try await waitUntil { try Self.index(store, "n").statistics == nil }
    try await store.write { try Self.put(0..<300, $0) }
    try await waitUntil { try Self.index(store, "n").statistics?.rowCount == 450 }
    #expect(try store.indexFindings() == [])
  }

  @Test func `damaged statistics are reported and made anew, and no reason not to open`() async throws {
    let fixture = try Self.filled(1_000) { $0.statisticsDelay = .zero }
    try await fixture.store.createIndex(.cars("kind", "kind"))
    let entries = try fixture.store.entries(of: "indexes")
    let value = try #require(entries.first { $0.key.count == 5 }).value
    fixture.store.close()
    var damaged = value
    damaged[value.count / 2] ^= 4
    try #expect(FileDamage.replace(value, by: damaged, at: fixture.dataPath) > 0)
    let whole = try Store.verify(at: fixture.path)
    #expect(!whole.damages.isEmpty)
    try fixture.reopen()
    let store = fixture.store
    try await waitUntil { try store.indexFindings() == [] }
    #expect(try Self.index(store, "kind").statistics != nil)
    #expect(try store.verify().damages == [])
  }
}
