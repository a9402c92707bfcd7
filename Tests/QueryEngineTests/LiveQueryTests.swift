import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct LiveQueryTests {
  let workload: LiveWorkload
  let engine: Engine
  var store: Store { workload.store }
  var commits: CommitLog { workload.commits }

  init() throws {
    workload = try LiveWorkload()
    engine = Engine(store: workload.store, parameters: SystemParameters(), environment: .still)
  }

  private static let statements =
    [
      "SELECT * FROM t", "SELECT * FROM t WHERE n > 2", "SELECT * FROM t WHERE n > 2 ORDER BY n DESC",
      "SELECT * FROM t ORDER BY g, n DESC", "SELECT * FROM t WHERE g != 'b' ORDER BY g LIMIT 4",
      "SELECT * FROM t LIMIT 5", "SELECT * FROM t ORDER BY n LIMIT 3 OFFSET 2", "SELECT * FROM t OFFSET 3",
      "SELECT g FROM t ORDER BY n", "SELECT g, n FROM t WHERE n IS NOT MISSING ORDER BY n LIMIT 6",
      "SELECT COUNT(*) AS total FROM t WHERE g = 'a'", "SELECT * FROM t LIMIT 0",
      "SELECT * FROM t WHERE _id IN ['d1', 'd2', 'd3'] ORDER BY n",
      "SELECT _id, n + 1 AS m FROM t WHERE n < 4", "SELECT t FROM t WHERE n > 2",
      "SELECT g, object_length(t) AS l FROM t WHERE object_length(t) > 2 ORDER BY object_length(t) LIMIT 4",
    ] + groups + distinct + reruns

  private static let groups = [
    "SELECT COUNT(*) AS c, SUM(n) AS s, AVG(n) AS a FROM t", "SELECT MIN(n) AS low FROM t WHERE n > 4",
    "SELECT g, COUNT(*) AS c, MIN(n) AS low, MAX(n) AS high FROM t GROUP BY g ORDER BY c DESC",
    "SELECT g, MEDIAN(n) AS m, MID(n) AS i, COUNT(n) AS c FROM t GROUP BY g",
    """
    SELECT g, COUNT(DISTINCT n) AS d, SUM(DISTINCT n) AS s, AVG(DISTINCT n) AS a, MEDIAN(DISTINCT n) AS m
    FROM t GROUP BY g
    """,
    "SELECT g, COUNT(*) AS c FROM t WHERE n > 1 GROUP BY g HAVING COUNT(*) > 2 ORDER BY g LIMIT 2",
    "SELECT n, g, COUNT(*) AS c FROM t GROUP BY n, g ORDER BY c, g DESC LIMIT 3 OFFSET 1",
    "SELECT n % 2 AS odd, SUM(n) AS s FROM t GROUP BY n % 2 HAVING SUM(n) > 3",
    "SELECT object_length(x) AS l, COUNT(x) AS c FROM t x GROUP BY object_length(x)",
    "SELECT COUNT(*) AS c FROM t GROUP BY g OFFSET 1", "SELECT COUNT(*) AS c FROM t HAVING COUNT(*) > 5",
  ]

  private static let distinct = [
    "SELECT DISTINCT g FROM t ORDER BY g", "SELECT DISTINCT n, g FROM t",
    "SELECT DISTINCT * FROM t WHERE n = 3",
    "SELECT DISTINCT g FROM t WHERE n > 1 ORDER BY g DESC LIMIT 2", "SELECT DISTINCT n > 3 AS big FROM t",
    "SELECT DISTINCT COUNT(*) FROM t",
  ]

  private static let reruns = [
    "SELECT DISTINCT g FROM t ORDER BY n", "SELECT DISTINCT COUNT(*) AS c FROM t GROUP BY g",
    "SELECT t._id AS i, e.n AS n FROM t JOIN elsewhere e ON e._id = t._id WHERE t.n > 2",
    "SELECT t._id AS i, e.n AS n FROM t LEFT JOIN elsewhere e ON e._id = t._id AND e.n > 3 ORDER BY t._id",
    "SELECT t._id AS i FROM t LEFT JOIN elsewhere e ON e._id = t._id WHERE e.n IS MISSING OR e.n > 3",
    "SELECT t.n AS n, e._id AS i FROM t RIGHT JOIN elsewhere e ON t._id = e._id AND t.n > 1 WHERE e.n < 5",
    "SELECT * FROM t JOIN elsewhere e ON e._id = t._id",
    "SELECT e.n AS n, COUNT(*) AS c FROM t JOIN elsewhere e ON e._id = t._id GROUP BY e.n",
    "SELECT * FROM t WHERE n IN (SELECT n FROM elsewhere WHERE n > 2)",
    "SELECT COUNT(*) AS c FROM t WHERE g = 'a' AND n NOT IN (SELECT n FROM elsewhere)",
    "SELECT n FROM t UNION SELECT n FROM elsewhere", "SELECT n FROM t UNION ALL SELECT n FROM elsewhere",
    "SELECT n FROM t WHERE n > 1 EXCEPT SELECT n FROM elsewhere ORDER BY n LIMIT 3",
    "SELECT n FROM t INTERSECT SELECT n FROM elsewhere WHERE n < 5",
    "SELECT * FROM t WHERE EXISTS (SELECT _id FROM elsewhere WHERE n = 6)",
    "SELECT g COLLATE NOCASE AS k, COUNT(*) AS c FROM t GROUP BY g COLLATE NOCASE",
    "SELECT name, documents FROM system:collections", "SELECT t.n AS n FROM t JOIN elsewhere e ON e.n = t.n",
  ]

  /// Joined without ids.
  private static let indexes = ["CREATE INDEX byNumber ON elsewhere (n)", "CREATE INDEX byGroup ON t (g, n)"]

  @Test(arguments: 0..<4) func `diffs turn each result into the next`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for index in Self.indexes { _ = try engine.execute(index) }
    var queries = try Self.statements.map { try LiveQuery(dql: $0) }
    var results: [[Row]] = []
    for index in queries.indices { results.append(Array(try queries[index].start(engine))) }
    for _ in 0..<25 {
      // Sometimes several commits are waiting, so that a query that is run again is ahead of them.
      for _ in 0...(random.oneIn(4) ? 2 : 0) { try workload.change(&random) }
      for commit in commits.take() {
        for index in queries.indices { try advance(&queries[index], by: commit, &results[index], index) }
      }
      for (index, statement) in Self.statements.enumerated() {
        if queries[index].isPolled, let diff = try queries[index].refresh() {
          diff.apply(to: &results[index])
        }
        var fresh = try LiveQuery(dql: statement)
        try expectEqual(texts(results[index]), texts(Array(fresh.start(engine))), "\(seed): \(statement)")
        // Which rows a window without an order shows, and in which order rows stand, is left open.
        guard !Self.isOpen(statement) else { continue }
        let rows = try engine.execute(statement).rows
        try expectEqual(texts(results[index]).sorted(), texts(rows).sorted(), "\(seed): \(statement)")
      }
    }
  }

  private func advance(
    _ query: inout LiveQuery, by commit: Commit, _ result: inout [Row], _ index: Int
  ) throws {
    guard let diff = try query.apply(commit) else { return }
    let rows = Array(query.rows)
    try expectExact(diff, from: result, to: rows, Self.statements[index])
    diff.apply(to: &result)
    expectEqual(result.map(\.id), rows.map(\.id), "\(Self.statements[index])")
    try expectEqual(result.map { try $0.values() }, rows.map { try $0.values() }, "\(Self.statements[index])")
  }

  /// Whether the statement may answer other rows when it is run in another order.
  private static func isOpen(_ statement: String) -> Bool {
    (statement.contains("LIMIT") || statement.contains("OFFSET")) && !statement.contains("EXCEPT")
  }

  /// The rows with numbers by their values, whatever their kinds: which of two equal ones stands for both is
  /// left open.
  private func texts(_ rows: [Row]) throws -> [String] {
    try rows.map { row in
      JSON.text(
        of: .map(
          try row.values().mapValues { value in
            if case .double(let number) = value {
              Int64(exactly: number).map { .int($0) } ?? value
            } else {
              value
            }
          }))
    }
  }

  private func expectExact(_ diff: ResultDiff, from old: [Row], to new: [Row], _ comment: String) throws {
    expect(diff.deletions.count == diff.deletedRows.count && diff.insertions.count == diff.insertedRows.count)
    expect(
      !(diff.insertions.isEmpty && diff.deletions.isEmpty && diff.updates.isEmpty && diff.moves.isEmpty),
      "\(comment)")
    for (index, row) in zip(diff.deletions, diff.deletedRows) { expectEqual(old[index].id, row.id) }
    for (index, row) in zip(diff.updates, diff.replacedRows) {
      expectEqual(new[index].id, row.id)
      try expect(new[index].values() != row.values(), "\(comment): an update that shows nothing new")
    }
    for move in diff.moves { expectEqual(old[move.from].id, new[move.to].id) }
  }

  @Test func `a commit that changes nothing in the result gives no diff`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1, 'm': 1})")
    var query = try LiveQuery(dql: "SELECT n FROM t WHERE n = 1")
    try query.start(store)
    _ = try engine.execute("UPDATE t SET n = 1 WHERE _id = 'a'")
    _ = try engine.execute("UPDATE t SET m = 2 WHERE _id = 'a'")
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'b', 'n': 2})")
    _ = try engine.execute("INSERT INTO other DOCUMENTS ({'_id': 'a', 'n': 1})")
    for commit in commits.take() { try expect(query.apply(commit) == nil) }
  }

  @Test func `tells apart what comes, goes, changes and moves`() throws {
    _ = try engine.execute(
      "INSERT INTO t DOCUMENTS (:list)",
      arguments: [
        "list": .array((1...5).map { .map(["_id": .string("d\($0)"), "n": .int($0 * 10)]) })
      ])
    var query = try LiveQuery(dql: "SELECT * FROM t WHERE n > 0 ORDER BY n")
    try query.start(store)
    _ = commits.take()
    _ = try store.write { transaction in
      try transaction.update(DocumentID("d1"), in: "t", [.set(["n"], .int(45))])
      try transaction.update(DocumentID("d2"), in: "t", [.set(["n"], .int(0))])
      try transaction.update(DocumentID("d3"), in: "t", [.set(["x"], .int(1))])
      try transaction.upsert(["_id": .string("d6"), "n": .int(5)], into: "t")
    }
    let commit = try #require(commits.take().first)
    let diff = try #require(try query.apply(commit))
    #expect(diff.insertions == [0])
    #expect(diff.deletions == [1])
    #expect(diff.updates == [1, 3])
    #expect(diff.moves == [ResultDiff.Move(from: 0, to: 3)])
    #expect(try diff.replacedRows.map { try $0.values()["n"] } == [.int(30), .int(10)])
  }

  @Test func `passes over commits that the initial result includes`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})")
    var query = try LiveQuery(dql: "SELECT * FROM t")
    #expect(try query.start(store).count == 1)
    for commit in commits.take() { try expect(query.apply(commit) == nil) }
    #expect(query.rows.count == 1)
  }

  @Test func `a group that changes is updated, and has the same place among the others`() throws {
    _ = try engine.execute(
      "INSERT INTO t DOCUMENTS (:list)",
      arguments: [
        "list": .array((1...6).map { .map(["_id": .string("d\($0)"), "g": .int($0 % 3), "n": .int($0)]) })
      ])
    var query = try LiveQuery(dql: "SELECT g, SUM(n) AS s, MAX(n) AS m FROM t GROUP BY g ORDER BY s")
    #expect(try query.start(store).map { try $0.values()["s"] } == [.int(5), .int(7), .int(9)])
    _ = commits.take()
    _ = try engine.execute("UPDATE t SET n = 3 WHERE _id = 'd4'")
    let commit = try #require(commits.take().first)
    let diff = try #require(try query.apply(commit))
    #expect(diff.updates == [0] && diff.insertions.isEmpty && diff.deletions.isEmpty && diff.moves.isEmpty)
    #expect(try diff.updatedRows.map { try $0.values() } == [["g": .int(1), "s": .int(4), "m": .int(3)]])
    #expect(try diff.replacedRows.map { try $0.values()["m"] } == [.int(4)])
    _ = try engine.execute("EVICT FROM t WHERE g = 1")
    let eviction = try #require(commits.take().first)
    let next = try #require(try query.apply(eviction))
    #expect(next.deletions == [0] && next.insertions.isEmpty && next.updates.isEmpty)
  }

  @Test(arguments: [
    ("SELECT t.n AS n FROM t JOIN u ON u._id = t._id WHERE t.n > 5 AND u.n = 2", "t", 5, 6),
    ("SELECT t.n AS n FROM t JOIN u ON u._id = t._id WHERE t.n > 5 AND u.n = 2", "u", 3, 2),
    ("SELECT t.n AS n FROM t LEFT JOIN u ON u._id = t._id AND u.n = 2", "u", 3, 2),
    ("SELECT * FROM t WHERE n IN (SELECT n FROM u WHERE n > 4)", "u", 4, 5),
    ("SELECT * FROM t WHERE g = 'a' AND n IN (SELECT n FROM u)", "t", nil, nil),
    ("SELECT n FROM t WHERE n > 3 UNION SELECT n FROM u WHERE n = 9", "u", 8, 9),
  ])
  func `a query is run again only when a commit touches what one of its sources asks for`(
    statement: String, collection: String, untouching: Int?, touching: Int?
  ) throws {
    var query = try LiveQuery(dql: statement)
    try query.start(engine)
    let document = { (number: Int?) -> [TextKey: Value] in
      ["_id": .string("x"), "n": .int(Int64(number ?? 1)), "g": .string("b")]
    }
    _ = try store.write { try $0.upsert(document(untouching), into: collection) }
    if let touching { _ = try store.write { try $0.upsert(document(touching), into: collection) } }
    let all = commits.take()
    store.close()
    // Whoever reads a store that is closed is told.
    #expect(try query.apply(all[0]) == nil)
    if touching != nil { #expect(throws: StoreError.self) { try query.apply(all[1]) } }
  }

  @Test(arguments: [
    "UPDATE t SET x = 1", "EXPLAIN SELECT * FROM t", "SHOW ALL", "SELECT * FROM system:nothing",
  ])
  func `refuses what cannot be observed`(statement: String) {
    #expect { try LiveQuery(dql: statement) } throws: { ($0 as? QueryError)?.code == .unsupported }
  }
}
