import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// The index finds every query that a commit concerns, and only those where a constant tells them apart.
@Suite struct ObserverIndexTests {
  private func matches(_ predicate: Expression, _ change: Change) throws -> Bool {
    var matcher = try RecordMatcher(predicate)
    matcher.resolve(change.collection.keys)
    let id = change.id.bytes
    return [change.before, change.after].contains { record in
      record?.withView { $0.isAlive && matcher.matches(id.span.bytes, $0) } ?? false
    }
  }

  @Test(arguments: 0..<4)
  func `no query is overlooked whose documents a commit touches`(seed: UInt64) throws {
    let workload = try LiveWorkload()
    var queries = RandomQueries(seed: seed)
    let predicates = (0..<150).map { _ in queries.predicate(depth: 3) }
    var index = ObserverIndex()
    for (id, predicate) in predicates.enumerated() {
      index.insert(UInt64(id), collection: "t", predicate: try predicate.binding([:]))
    }
    var touched = 0
    for round in 0..<40 {
      // Those taken out are found no more.
      if round % 8 == 7 { index.remove(UInt64(round)) }
      let documents = try (0..<3).map { _ in
        var document = queries.document()
        document["_id"] = queries.id()
        if queries.random.oneIn(3) { document["new\(round)"] = .int(1) }
        return (try DocumentID(document["_id"] ?? .null), document)
      }
      let isRemoved = queries.random.oneIn(4)
      _ = try workload.store.write { transaction in
        for (_, document) in documents { try transaction.upsert(document, into: "t") }
        for (id, _) in documents.prefix(isRemoved ? 1 : 0) { try transaction.evict(id, in: "t") }
      }
      for commit in workload.commits.take() {
        let found = index.affected(by: commit)
        expect(found == found.sorted() && Set(found).count == found.count)
        for (id, predicate) in predicates.enumerated() where !(id % 8 == 7 && id <= round) {
          guard try commit.changes.contains(where: { try matches(predicate, $0) }) else { continue }
          touched += 1
          expect(found.contains(UInt64(id)), "seed \(seed): \(predicate)")
        }
        for id in stride(from: 7, through: round, by: 8) { expect(!found.contains(UInt64(id))) }
      }
    }
    #expect(touched > 1_000)
  }

  @Test(arguments: [
    "n = 3", "3 = n", "n = 3.0", "n IN [3, 4]", "n = 3 OR n = 4", "n = 3 AND g LIKE 'a%'",
    "g != 'z' AND n IN [1, 3] AND m = 'x'", "_id = 'a'", "_id IN ['a', 'b'] AND n > 0",
    "n = 3 AND (n = 3 OR z)", "flag", "g = 'abc'", "deep.n = 3",
  ])
  func `a query with constants is found by documents that have them, and no others`(
    predicate: String
  ) throws {
    let workload = try LiveWorkload()
    guard case .select(let select) = try DQL.parse("SELECT * FROM t WHERE \(predicate)") else { return }
    var index = ObserverIndex()
    index.insert(1, collection: "t", predicate: try select.predicate?.binding([:]))
    index.insert(2, collection: "t", predicate: nil)
    let fitting: [TextKey: Value] = [
      "_id": .string("a"), "n": .int(3), "g": .string("abc"), "m": .string("x"), "flag": .bool(true),
      "deep": .map(["n": .double(3)]),
    ]
    let other: [TextKey: Value] = [
      "_id": .string("c"), "n": .int(7), "g": .string("b"), "m": .int(3), "flag": .bool(false),
      "deep": .array([.int(3)]),
    ]
    let id = try DocumentID("a")
    _ = try workload.store.write { try $0.upsert(other, into: "t") }
    _ = try workload.store.write { try $0.upsert(fitting, into: "u") }
    _ = try workload.store.write { try $0.upsert(fitting, into: "t") }
    _ = try workload.store.write { try $0.remove(id, in: "t") }
    #expect(workload.commits.take().map { index.affected(by: $0) } == [[2], [], [1, 2], [1, 2]])
    index.remove(1)
    index.remove(2)
    #expect(index.isEmpty)
  }
}
