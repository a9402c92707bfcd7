import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Windows of LIMIT that are read from indexes, and read again when what is kept behind them is used up.
@Suite struct LiveWindowTests {
  let workload: LiveWorkload
  let engine: Engine

  init() throws {
    workload = try LiveWorkload()
    engine = Engine(store: workload.store, parameters: SystemParameters(), environment: .still)
  }

  /// Few numbers, so that many rows are equal, and texts that an index cuts.
  private func document(_ id: Int, _ random: inout SeededGenerator) -> [TextKey: Value] {
    let text = String(repeating: "x", count: random.oneIn(3) ? 600 : 3) + "\(random.int(below: 9))"
    return [
      "_id": .string("d\(id)"), "n": .int(Int64(random.int(below: 6))), "s": .string(text),
      "g": .string(random.pick(["a", "b"])),
    ]
  }

  private static let windows = [
    "ORDER BY n LIMIT 10", "ORDER BY n DESC LIMIT 5 OFFSET 20", "ORDER BY s LIMIT 12",
    "ORDER BY s DESC LIMIT 12",
    "WHERE g = 'a' ORDER BY n LIMIT 8", "WHERE n IN [1, 2, 4] LIMIT 9", "WHERE n > 2 ORDER BY s, n LIMIT 7",
    "WHERE g = 'b' AND n = 3", "WHERE n = 1 OR s = 'xxx3' ORDER BY s",
  ]

  private func ids(_ rows: some Sequence<Row>) -> [DocumentID?] { rows.map(\.id) }

  @Test(arguments: 0..<4) func `a window is the same whatever it is read by`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let documents = (0..<400).map { document($0, &random) }
    _ = try workload.store.write { transaction in
      for document in documents { try transaction.upsert(document, into: "w") }
    }
    for index in ["byN ON w (n)", "byS ON w (s)", "byG ON w (g, n)", "bySN ON w (s, n)"] {
      _ = try engine.execute("CREATE INDEX \(index)")
    }
    _ = workload.commits.take()
    var queries = try Self.windows.map { try LiveQuery(dql: "SELECT * FROM w \($0)") }
    for index in queries.indices { try queries[index].start(engine) }
    var left = Array(0..<400)
    for round in 0..<24 {
      // More leave than come, and from the front, so that windows have to be filled again and again.
      left.shuffle(using: &random)
      let gone = left.suffix(15)
      left.removeLast(15)
      let new = (0..<3).map { document(400 + round * 3 + $0, &random) }
      _ = try workload.store.write { transaction in
        for id in gone { _ = try transaction.evict(DocumentID("d\(id)"), in: "w") }
        for document in new { try transaction.upsert(document, into: "w") }
      }
      if round == 12 { _ = try engine.execute("DROP INDEX byN ON w") }
      for commit in workload.commits.take() {
        for index in queries.indices {
          let before = Array(queries[index].rows)
          guard let diff = try queries[index].apply(commit) else { continue }
          var rows = before
          diff.apply(to: &rows)
          expectEqual(ids(rows), ids(queries[index].rows))
        }
      }
      for (index, window) in Self.windows.enumerated() {
        var scan = try LiveQuery(dql: "SELECT * FROM w USE INDEX '' \(window)")
        try expectEqual(ids(queries[index].rows), ids(scan.start(engine)), "seed \(seed): \(window)")
      }
    }
  }

  @Test func `a join goes on when the index by which it finds partners is dropped`() throws {
    _ = try engine.execute("CREATE INDEX byName ON u (name)")
    _ = try workload.store.write { transaction in
      try transaction.upsert(["_id": .string("a"), "name": .string("x")], into: "t")
      try transaction.upsert(["_id": .string("b"), "name": .string("x")], into: "u")
    }
    _ = workload.commits.take()
    let statement = "SELECT t._id AS t, u._id AS u FROM t JOIN u ON u.name = t.name"
    var query = try LiveQuery(dql: statement)
    #expect(try query.start(engine).count == 1)
    _ = try engine.execute("DROP INDEX byName ON u")
    _ = try workload.store.write {
      try $0.upsert(["_id": .string("c"), "name": .string("x")], into: "u")
    }
    let commit = try #require(workload.commits.take().first)
    let diff = try #require(try query.apply(commit))
    #expect(diff.insertions.count == 1 && query.rows.count == 2)
    // Who asks for it now is told.
    var other = try LiveQuery(dql: statement)
    #expect { try other.start(engine) } throws: { ($0 as? QueryError)?.code == .unsupported }
  }
}
