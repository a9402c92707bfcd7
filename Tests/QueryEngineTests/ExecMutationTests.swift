import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import TestKit
import Testing

/// RETURNING, INSERT … SELECT, and the statements on indexes.
@Suite struct ExecMutationTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    var options = StoreOptions(mapBytes: 64 << 20, log: { _, _ in })
    // Each slice does the least it can, so that there is progress to tell.
    options.writerSlice = .zero
    store = try Store.open(at: directory.file("store"), options: options)
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
    _ = try engine.execute(
      "INSERT INTO t DOCUMENTS ({'_id': 1, 'a': 1}), ({'_id': 2, 'a': 2}), ({'_id': 3, 'a': 3, 'm': {'x': 1}})"
    )
  }

  private static let columns = Select.Projection.columns([
    Select.Column(expression: .path([.key("_id")]), name: "_id"),
    Select.Column(
      expression: .binary(.multiply, .path([.key("a")]), .parameter("n")), name: "b"),
  ])

  private func texts(_ result: QueryResult) throws -> [String] {
    try result.rows.map { JSON.text(of: .map(try $0.values())) }
  }

  private func texts(_ statement: String) throws -> [String] { try texts(engine.execute(statement)) }

  private func run(_ engine: Engine, _ statement: Statement) throws -> QueryResult {
    try engine.execute(statement)
  }

  // MARK: RETURNING

  @Test func `INSERT returns the documents as they are after it`() throws {
    let insert = Insert(
      into: Source("t"),
      .documents([.parameter("d")]), conflict: .doUpdate, returning: Self.columns)
    let documents = Value.array([
      .map(["_id": .int(1), "z": .int(9)]), .map(["_id": .int(7), "a": .int(7)]),
    ])
    let result = try engine.execute(.insert(insert), arguments: ["d": documents, "n": .int(10)])
    #expect(try texts(result) == [#"{"_id":1,"b":10}"#, #"{"_id":7,"b":70}"#])
    #expect(result.mutatedDocumentIDs.count == 2 && result.commit != nil)
    var nothing = insert
    nothing.conflict = .doNothing
    #expect(try engine.execute(.insert(nothing), arguments: ["d": documents, "n": .int(1)]).rows.isEmpty)
  }

  @Test func `UPDATE returns new values, DELETE and EVICT the last ones`() throws {
    let one = Expression.binary(.equal, .path([.key("_id")]), .literal(.int(1)))
    let update = Update(
      Source("t"), assignments: [.init(path: ["a"], value: .literal(.int(5)))], predicate: one,
      returning: Self.columns)
    #expect(try texts(engine.execute(.update(update), arguments: ["n": .int(2)])) == [#"{"_id":1,"b":10}"#])
    let star = Select.Projection.elements([.star(source: 0), .without([.key("m"), .key("x")])])
    let three = Expression.binary(.equal, .path([.key("_id")]), .literal(.int(3)))
    let deleted = try engine.execute(
      .delete(Removal(from: Source("t"), predicate: three, returning: star)))
    #expect(try texts(deleted) == [#"{"_id":3,"a":3,"m":{}}"#])
    #expect(
      try engine.execute(.delete(Removal(from: Source("t"), predicate: three, returning: star))).rows.isEmpty)
    let evicted = try engine.execute(.evict(Removal(from: Source("t"), predicate: one, returning: .all)))
    #expect(try texts(evicted) == [#"{"_id":1,"a":5}"#])
    #expect(try texts("SELECT _id FROM t") == [#"{"_id":2}"#])
  }

  @Test(arguments: [false, true])
  func `UPDATE changes the first documents of an order, and no other`(isIndexed: Bool) throws {
    if isIndexed { _ = try engine.execute("CREATE INDEX a ON t (a)") }
    #expect(
      try texts("UPDATE t SET b = a ORDER BY a DESC LIMIT 2 RETURNING _id, b")
        == [#"{"_id":3,"b":3}"#, #"{"_id":2,"b":2}"#])
    #expect(try texts("UPDATE t SET b = 9 WHERE a > 1 ORDER BY a LIMIT 1 RETURNING _id") == [#"{"_id":2}"#])
    #expect(try texts("UPDATE t SET a = 0 ORDER BY a OFFSET 2 RETURNING _id") == [#"{"_id":3}"#])
    #expect(
      try texts("SELECT _id, a, b FROM t ORDER BY _id")
        == [#"{"_id":1,"a":1}"#, #"{"_id":2,"a":2,"b":9}"#, #"{"_id":3,"a":0,"b":3}"#])
    #expect(try engine.execute("UPDATE t SET a = 5 LIMIT 0").mutatedDocumentIDs.isEmpty)
    #expect(throws: QueryError.self) { try texts("UPDATE t SET a = 5 LIMIT -1") }
  }

  @Test func `a RETURNING that fails leaves nothing behind, also inside a transaction`() throws {
    let large = Expression.call(.repeat, [.literal(.string("x")), .literal(.int(40 << 20))])
    let update = Statement.update(
      Update(
        Source("t"), assignments: [.init(path: ["a"], value: .literal(.int(0)))],
        returning: .columns([Select.Column(expression: large, name: "x")])))
    let before = try texts("SELECT * FROM t ORDER BY _id")
    #expect { try engine.execute(update) } throws: { ($0 as? QueryError)?.code == .limit }
    #expect(throws: StoreError.self) {
      try store.write { transaction in
        _ = try? engine.execute(update, in: transaction)
        _ = try engine.execute(.select(Select(collection: "t")), in: transaction)
      }
    }
    #expect(try texts("SELECT * FROM t ORDER BY _id") == before)
  }

  // MARK: INSERT … SELECT

  @Test func `INSERT takes the rows of a query as documents`() throws {
    var select = try query("SELECT _id + 100 AS _id, a AS b FROM t ORDER BY a LIMIT 2")
    let result = try engine.execute(.insert(Insert(into: Source("u"), .query(select))))
    #expect(result.mutatedDocumentIDs.map(\.value) == [.int(101), .int(102)])
    #expect(try texts("SELECT * FROM u ORDER BY _id") == [#"{"_id":101,"b":1}"#, #"{"_id":102,"b":2}"#])
    #expect { try engine.execute(.insert(Insert(into: Source("u"), .query(select)))) } throws: {
      ($0 as? QueryError)?.code == .conflict
    }
    select = try query("SELECT a FROM t")
    _ = try engine.execute(.insert(Insert(into: Source("v"), .query(select))))
    #expect(try texts("SELECT a FROM v ORDER BY a") == [#"{"a":1}"#, #"{"a":2}"#, #"{"a":3}"#])
    let itself = Insert(
      into: Source("t"), .query(Select(collection: "t")), conflict: .doUpdateLocalDiff)
    #expect(try engine.execute(.insert(itself)).mutatedDocumentIDs.isEmpty)
    let plan = try texts(engine.execute(.explain(.insert(itself))))
    #expect(plan[0].contains("collectionScan") && plan[0].contains(#""operator":"insert""#))
  }

  private func query(_ text: String) throws -> Select {
    guard case .select(let select) = try DQL.parse(text) else { throw QueryError(.syntax, "no SELECT") }
    return select
  }

  // MARK: Indexes

  private static let index = CreateIndex("i", on: "t", [.init(["m", "x"]), .init(["a"], descending: true)])

  @Test func `an index is made and dropped by statements, and listed`() async throws {
    let steps = Atomic(0)
    let watched = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(
        now: { 0 }, indexProgress: { _ in steps.add(1, ordering: .relaxed) }))
    #expect(try run(watched, .createIndex(Self.index)).commit == nil)
    let listed = [
      #"{"_id":"t.i","collection":"t","fields":[{"direction":"asc","key":["m","x"]},"#
        + #"{"direction":"desc","key":["a"]}]}"#
    ]
    #expect(try texts("SELECT * FROM system:indexes") == listed)
    #expect(try texts("SELECT * FROM dql_indexes WHERE `collection` = 't'") == listed)
    #expect(throws: StoreError.self) { try run(engine, .createIndex(Self.index)) }
    var again = CreateIndex("i", on: "t", [.init(["b"])])
    again.allowsExisting = true
    _ = try run(engine, .createIndex(again))
    #expect(try texts("SELECT * FROM system:indexes") == listed)
    _ = try await engine.execute(.dropIndex(DropIndex("i", on: "t")))
    #expect(try texts("SELECT * FROM system:indexes").isEmpty)
    await #expect(throws: StoreError.self) { try await engine.execute(.dropIndex(DropIndex("i", on: "t"))) }
    _ = try await engine.execute(.dropIndex(DropIndex("i", on: "t", allowsMissing: true)))
    _ = try await engine.execute(.createIndex(again))
    #expect(try texts("SELECT COUNT(*) FROM system:indexes") == [#"{"($1)":1}"#])
    let documents = (0..<2_000).map { Value.map(["a": .int($0)]) }
    _ = try run(engine, .insert(Insert(collection: "big", documents: [.literal(.array(documents))])))
    _ = try run(watched, .createIndex(CreateIndex("i", on: "big", [.init(["a"])])))
    #expect(steps.load(ordering: .relaxed) > 0)
  }

  @Test func `indexes are not made inside transactions, of virtual collections, or when cancelled`() throws {
    for statement in [Statement.createIndex(Self.index), .dropIndex(DropIndex("i", on: "t"))] {
      let inside = #expect(throws: QueryError.self) {
        try store.write { try engine.execute(statement, in: $0) }
      }
      expect(inside?.code == .unsupported && inside?.message.contains("inside a transaction") == true)
      #expect(throws: QueryError.self) { try store.read { try engine.execute(statement, in: $0) } }
      let context = StatementContext()
      context.cancel()
      #expect { try engine.execute(statement, context: context) } throws: {
        ($0 as? QueryError)?.code == .cancelled
      }
    }
    let virtual = CreateIndex("i", on: "system:collections", [.init(["name"])])
    #expect(throws: QueryError.self) { try engine.execute(.createIndex(virtual)) }
    #expect(try texts("SELECT * FROM system:indexes").isEmpty)
    #expect(
      try texts(engine.execute(.explain(.createIndex(Self.index))))
        == [#"{"plan":[{"collection":"t","index":"i","operator":"createIndex"}]}"#])
  }
}
