import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// A query for one document by its id is read at once; its result is what executing it gives.
@Suite struct OnlyRowTests {
  private let directory: TemporaryDirectory
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    let store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    let documents: [Value] = (0..<20).map {
      .map(["_id": .int($0), "n": .double(Double($0) / 4), "name": .string("é \"\($0)\"")])
    }
    _ = try engine.execute(
      "INSERT INTO t DOCUMENTS (:d)",
      arguments: ["d": .array(documents + [.map(["_id": .string("x"), "m": .map(["$bytes": .int(1)])])])])
    _ = try engine.execute("CREATE INDEX by_n ON t (n)")
  }

  /// Reads a statement at once.
  ///
  /// - Returns: The rows' texts; `nil` for a statement that is not read so.
  private func textsAtOnce(_ text: String, _ arguments: [TextKey: Value]) throws -> [String]? {
    var texts: [String] = []
    let isDone = try engine.forOnlyRow(
      of: engine.prepare(text), arguments: arguments, context: engine.makeContext()
    ) { row in
      var bytes: [UInt8] = []
      try row.writeJSON(to: &bytes, options: .init(escapesTags: true))
      texts.append(String(decoding: bytes, as: UTF8.self))
    }
    return isDone ? texts : nil
  }

  private func texts(_ text: String, _ arguments: [TextKey: Value]) throws -> [String] {
    try engine.execute(text, arguments: arguments).rows.map {
      JSON.text(of: .map(try $0.values()), options: .init(escapesTags: true))
    }
  }

  @Test(
    arguments: [
      ("SELECT * FROM t WHERE _id = :id", .int(7), 1), ("SELECT * FROM t WHERE _id = 8", .null, 1),
      ("SELECT * FROM t WHERE :id = _id", .string("x"), 1), ("SELECT * FROM t WHERE _id = :id", .int(99), 0),
      ("SELECT * FROM t WHERE _id = :id", .double(7), 1), ("SELECT * FROM t WHERE _id = 'y'", .null, 0),
      ("SELECT * FROM t WHERE _id = :id LIMIT 1", .int(7), 1),
      ("SELECT * FROM t WHERE _id = :id LIMIT 0", .int(7), 0),
      ("SELECT * FROM t WHERE _id = :id OFFSET 1", .int(7), 0),
      ("SELECT * FROM none WHERE _id = :id", .int(7), 0),
    ] as [(String, Value, Int)])
  func `a query for one document gives what executing it gives`(text: String, id: Value, count: Int) throws {
    let arguments: [TextKey: Value] = ["id": id]
    let found = try #require(try textsAtOnce(text, arguments))
    #expect(try found == texts(text, arguments))
    #expect(found.count == count)
  }

  @Test(arguments: [
    "SELECT * FROM t", "SELECT * FROM t WHERE n = :id", "SELECT * FROM t WHERE _id > :id",
    "SELECT * FROM t WHERE _id = :id OR n = 1", "SELECT * FROM t WHERE _id IN (:id, 3)",
    "SELECT n FROM t WHERE _id = :id", "SELECT COUNT(*) FROM t WHERE _id = :id",
    "SELECT * FROM t WHERE _id = :id ORDER BY n", "SELECT * FROM t WHERE _id = :missing",
    "SELECT * FROM system:collections WHERE _id = :id", "EXPLAIN SELECT * FROM t WHERE _id = :id",
    "SELECT * FROM t JOIN t AS u ON u._id = t.n WHERE t._id = :id", "DELETE FROM t WHERE _id = :id",
  ])
  func `any other statement is left alone`(text: String) throws {
    let history = try engine.execute("SELECT * FROM system:request_history").rows.count
    #expect(try textsAtOnce(text, ["id": .int(7)]) == nil)
    #expect(try texts("SELECT * FROM t WHERE _id = 7", [:]).count == 1)
    // The two queries of this test alone were recorded.
    #expect(try engine.execute("SELECT * FROM system:request_history").rows.count == history + 2)
  }

  @Test func `it is recorded once, with its rows and its failure`() throws {
    _ = try textsAtOnce("SELECT * FROM t WHERE _id = :id", ["id": .int(7)])
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try engine.forOnlyRow(
        of: engine.prepare("SELECT * FROM t WHERE _id = 3"), arguments: [:], context: engine.makeContext()
      ) { _ in throw Refusal() }
    }
    let context = engine.makeContext()
    context.cancel()
    #expect(throws: QueryError.self) {
      try engine.forOnlyRow(
        of: engine.prepare("SELECT * FROM t WHERE _id = 4"), arguments: [:], context: context
      ) { _ in }
    }
    let kept = try engine.execute("SELECT * FROM system:request_history ORDER BY _id").rows.suffix(3)
    #expect(
      try kept.map { try $0.values()["state"] } == [
        .string("completed"), .string("failed"), .string("failed"),
      ])
    #expect(try kept.map { try $0.values()["rows"] } == [.int(1), .int(1), .int(0)])
  }

  @Test func `likely mistakes are told as when it is executed, at each run`() throws {
    let text = "SELECT * FROM nowhere WHERE _id = :id"
    for id in 0..<3 {
      let context = engine.makeContext()
      _ = try engine.forOnlyRow(
        of: engine.prepare(text), arguments: ["id": .int(Int64(id))], context: context
      ) { _ in }
      try expectEqual(context.hints, engine.execute(text, arguments: ["id": .int(Int64(id))]).hints)
    }
  }
}
