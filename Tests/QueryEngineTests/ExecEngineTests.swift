import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecEngineTests {
  let directory: TemporaryDirectory
  let store: Store
  let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    let clock = SharedClock()
    store = try Store.open(
      at: directory.file("store"),
      options: StoreOptions(mapBytes: 64 << 20, now: { clock.next() }, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  private func rows(_ statement: String, _ arguments: [TextKey: Value] = [:]) throws -> [Value] {
    try engine.execute(statement, arguments: arguments).rows.map { .map(try $0.values()) }
  }

  private func fill(_ count: Int) throws {
    let documents = (0..<count).map { index in
      Value.map(["_id": .string("d\(100 + index)"), "n": .int(Int64(index)), "g": .string("g\(index % 3)")])
    }
    _ = try engine.execute("INSERT INTO t DOCUMENTS (:list)", arguments: ["list": .array(documents)])
  }

  // MARK: Reading

  @Test func `reads nothing from a collection that was never written`() throws {
    #expect(try rows("SELECT * FROM nowhere").isEmpty)
    #expect(try rows("SELECT COUNT(*) AS n FROM nowhere") == [.map(["n": .int(0)])])
    #expect(try engine.execute("UPDATE nowhere SET a = 1").mutatedDocumentIDs.isEmpty)
  }

  @Test func `counts the documents that live, also inside a transaction`() throws {
    try fill(7)
    _ = try engine.execute("DELETE FROM t WHERE n < 2")
    #expect(try rows("SELECT COUNT(*) AS n FROM t") == [.map(["n": .int(5)])])
    _ = try store.write { transaction in
      _ = try engine.execute(DQL.parse("DELETE FROM t WHERE n = 2"), in: transaction)
      let result = try engine.execute(DQL.parse("SELECT COUNT(*) AS n FROM t"), in: transaction)
      #expect(try result.rows[0].values() == ["n": .int(4)])
      #expect(result.commit == nil)
    }
  }

  @Test func `sees no deleted document by any path`() throws {
    try fill(3)
    _ = try engine.execute("DELETE FROM t WHERE _id = 'd101'")
    for statement in [
      "SELECT * FROM t WHERE _id = 'd101'", "SELECT * FROM t WHERE _id IN ['d101']",
      "SELECT * FROM t WHERE n = 1",
      "SELECT * FROM t WHERE _id >= 'd101' AND _id <= 'd101'",
      "SELECT * FROM t WHERE n = 1 ORDER BY n LIMIT 1",
    ] { try expect(rows(statement).isEmpty, "\(statement)") }
    #expect(try engine.execute("UPDATE t SET x = 1 WHERE _id = 'd101'").mutatedDocumentIDs.isEmpty)
    #expect(try engine.execute("DELETE FROM t WHERE _id = 'd101'").mutatedDocumentIDs.isEmpty)
  }

  @Test(arguments: 0..<6) func `a bounded sort keeps what a full sort would`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let documents = (0..<120).map { index in
      Value.map([
        "_id": .string("d\(index)"), "n": .int(Int64(random.int(below: 9))),
        "s": .string("s\(random.int(below: 4))"),
      ])
    }
    _ = try engine.execute("INSERT INTO t DOCUMENTS (:list)", arguments: ["list": .array(documents)])
    for order in ["n", "n DESC", "s, n DESC", "n % 2, s DESC", "_id DESC"] {
      let whole = try rows("SELECT * FROM t ORDER BY \(order)")
      let limit = random.int(below: 30)
      let offset = random.int(below: 110)
      let part = try rows("SELECT * FROM t ORDER BY \(order) LIMIT \(limit) OFFSET \(offset)")
      expectEqual(part, Array(whole.dropFirst(offset).prefix(limit)), "\(order)")
    }
  }

  @Test func `stops a scan at its limit and pages through it`() throws {
    try fill(10)
    #expect(try rows("SELECT n FROM t LIMIT 3 OFFSET 4") == [4, 5, 6].map { .map(["n": .int($0)]) })
    #expect(try rows("SELECT n FROM t OFFSET 8") == [8, 9].map { .map(["n": .int($0)]) })
    #expect(
      try rows("SELECT DISTINCT g FROM t LIMIT 2 OFFSET 1") == ["g1", "g2"].map { .map(["g": .string($0)]) })
    #expect(throws: QueryError.self) { try rows("SELECT * FROM t LIMIT :n", ["n": .int(-1)]) }
    #expect(throws: QueryError.self) { try rows("SELECT * FROM t LIMIT :n", ["n": .string("1")]) }
  }

  @Test func `counts equal numbers of two types as one distinct value`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'n': 1}), ({'n': 1.0}), ({'n': 1.5})")
    #expect(try rows("SELECT DISTINCT n FROM t").count == 2)
  }

  @Test func `finds with the builder's predicate`() throws {
    try fill(6)
    let found = try engine.find(
      collection: "t", predicate: Builder.parse("n >= $args.low"),
      order: [SortKey(expression: .path([.key("n")]), descending: true)], limit: 2, offset: 1,
      arguments: ["low": .int(1)])
    #expect(try found.map { try $0.values()["n"] } == [.int(4), .int(3)])
    #expect(found[0].id == (try DocumentID("d104")))
  }

  @Test func `shows virtual collections`() throws {
    try fill(2)
    #expect(try rows("SELECT 1 + 1 AS two FROM system:dual") == [.map(["two": .int(2)])])
    #expect(try rows("SELECT 1") == [.map(["($1)": .int(1)])])
    #expect(
      try rows("SELECT COUNT(*) n, 1 + 1 two WHERE 1 IN (SELECT 1)") == [
        .map(["n": .int(1), "two": .int(2)])
      ])
    #expect(try rows("SELECT 1 n WHERE FALSE") == [])
    #expect(
      try rows("SELECT name, documents FROM system:collections") == [
        .map(["name": .string("t"), "documents": .int(2)])
      ])
    _ = try engine.execute("ALTER SYSTEM SET TOMBSTONE_TTL_HOURS = 24")
    let facts = try rows("SELECT `value` FROM system:system_info WHERE `key` LIKE '%tombstone_ttl_hours%'")
    #expect(facts == [.map(["value": .int(24)])])
    #expect { try rows("SELECT * FROM system:nothing") } throws: { ($0 as? QueryError)?.code == .unsupported }
    #expect { try rows("DELETE FROM system:collections") } throws: {
      ($0 as? QueryError)?.code == .unsupported
    }
  }

  @Test func `lists the documents above the hard limit`() throws {
    try engine.parameters.govern(store)
    _ = try engine.execute("ALTER SYSTEM SET DOCUMENT_SIZE_HARD_LIMIT_BYTES = 2000")
    let result = try engine.execute(
      "INSERT INTO t DOCUMENTS ({'_id': 'big', 's': :s})",
      arguments: ["s": .string(String(repeating: "x", count: 3_000))])
    #expect(result.commit?.oversize.map(\.id) == [try DocumentID("big")])
    #expect(
      try rows("SELECT _id, `collection` FROM system:oversize_documents") == [
        .map(["_id": .string("big"), "collection": .string("t")])
      ])
  }

  @Test func `lists the documents above the soft limit`() throws {
    try engine.parameters.govern(store)
    _ = try engine.execute("ALTER SYSTEM SET DOCUMENT_SIZE_SOFT_LIMIT_BYTES = 2000")
    _ = try engine.execute("ALTER SYSTEM SET DOCUMENT_SIZE_HARD_LIMIT_BYTES = 5000")
    for (id, count) in [("small", 1_000), ("large", 3_000), ("gone", 3_000), ("huge", 6_000)] {
      _ = try engine.execute(
        "INSERT INTO t DOCUMENTS ({'_id': :id, 's': :s})",
        arguments: ["id": .string(id), "s": .string(String(repeating: "x", count: count))])
    }
    _ = try engine.execute(
      "INSERT INTO u DOCUMENTS ({'_id': 1, 's': :s})",
      arguments: ["s": .string(String(repeating: "x", count: 4_000))])
    _ = try engine.execute("DELETE FROM t WHERE _id = 'gone'")
    let found = try rows("SELECT _id, `collection`, is_above_hard_limit FROM system:large_documents")
    #expect(
      found == [
        .map(["_id": .string("large"), "collection": .string("t"), "is_above_hard_limit": .bool(false)]),
        .map(["_id": .string("huge"), "collection": .string("t"), "is_above_hard_limit": .bool(true)]),
        .map(["_id": .int(1), "collection": .string("u"), "is_above_hard_limit": .bool(false)]),
      ])
    #expect(
      try rows("SELECT _id FROM system:large_documents WHERE bytes > 4500") == [
        .map(["_id": .string("huge")])
      ])
    // The warning and the list use the same size.
    _ = try engine.execute("ALTER SYSTEM SET DOCUMENT_SIZE_SOFT_LIMIT_BYTES = 200000")
    #expect(try rows("SELECT COUNT(*) AS n FROM system:large_documents") == [.map(["n": .int(0)])])
  }

  @Test func `the list of large documents has bounds`() throws {
    try fill(600)
    try engine.parameters.govern(store)
    _ = try engine.execute("ALTER SYSTEM SET DOCUMENT_SIZE_SOFT_LIMIT_BYTES = 1")
    let text = "SELECT * FROM system:large_documents"
    #expect(try rows(text).count == 600)
    let statement = try DQL.parse(text)
    func code(_ context: StatementContext) throws -> QueryError.Code? {
      do {
        _ = try store.read { try engine.execute(statement, in: $0, context: context) }
        return nil
      } catch let error as QueryError {
        return error.code
      }
    }
    #expect(try code(StatementContext(.still, memoryBytes: 64 << 10)) == .limit)
    let cancelled = StatementContext()
    cancelled.cancel()
    #expect(try code(cancelled) == .cancelled)
    // Polling it would scan the store twice a second.
    #expect { try LiveQuery(dql: text) } throws: { ($0 as? QueryError)?.code == .unsupported }
    #expect { try store.write { try engine.execute(statement, in: $0) } } throws: {
      ($0 as? QueryError)?.code == .unsupported
    }
  }

  @Test func `runs without blocking a task`() async throws {
    let written = try await engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a'})")
    #expect(try #require(written.commit).sequence > 0)
    #expect(try await engine.execute("SELECT * FROM t").rows.count == 1)
  }

  // MARK: Writing

  @Test func `makes an id for a document without one`() throws {
    let ids = try engine.execute("INSERT INTO t DOCUMENTS ({'a': 1}), ({'a': 2})").mutatedDocumentIDs
    #expect(Set(ids).count == 2 && ids == ids.sorted())
  }

  @Test func `a conflict under FAIL names the id and writes nothing`() throws {
    try fill(1)
    let statement = "INSERT INTO t DOCUMENTS ({'_id': 'new'}), ({'_id': 'd100'})"
    #expect { try engine.execute(statement) } throws: { error in
      guard let error = error as? QueryError else { return false }
      return error.code == .conflict && error.message.contains("d100")
        && error.message.contains("using FAIL conflict policy")
    }
    #expect(throws: QueryError.self) {
      try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'x'}), ({'_id': 'x'})")
    }
    #expect(try rows("SELECT COUNT(*) AS n FROM t") == [.map(["n": .int(1)])])
  }

  @Test func `a statement that fails inside a transaction has written nothing of itself`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1}), ({'_id': 'b', 'n': 'text'})")
    _ = try store.write { transaction in
      for statement in [
        "UPDATE t APPLY n INCREMENT BY 1", "UPDATE t SET m = 1, k = :bad",
        "INSERT INTO t DOCUMENTS ({'_id': 'c'}), ({'_id': 'a'})",
        "INSERT INTO t DOCUMENTS ({'_id': 'c'}), (:bad)",
        "INSERT INTO t DOCUMENTS ({'_id': 'c'}), ({'_id': null})",
      ] {
        #expect(throws: QueryError.self, "\(statement)") {
          try engine.execute(
            DQL.parse(statement), arguments: ["bad": .array([.counter(1)])], in: transaction)
        }
      }
      _ = try engine.execute(DQL.parse("INSERT INTO t DOCUMENTS ({'_id': 'z'})"), in: transaction)
    }
    #expect(
      try rows("SELECT * FROM t") == [
        .map(["_id": .string("a"), "n": .int(1)]), .map(["_id": .string("b"), "n": .string("text")]),
        .map(["_id": .string("z")]),
      ])
  }

  @Test func `local differences are written and equal documents are not`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1, 'm': {'k': 1}})")
    let same = "INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 1}) ON ID CONFLICT DO UPDATE_LOCAL_DIFF"
    #expect(try engine.execute(same).mutatedDocumentIDs.isEmpty)
    let other = "INSERT INTO t DOCUMENTS ({'_id': 'a', 'm': {'k': 2}}) ON ID CONFLICT DO UPDATE_LOCAL_DIFF"
    #expect(try engine.execute(other).mutatedDocumentIDs == [DocumentID("a")])
    #expect(try rows("SELECT n, m FROM t") == [.map(["n": .int(1), "m": .map(["k": .int(2)])])])
  }

  @Test func `an update reads the values before it`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'x': 1, 'y': 2})")
    _ = try engine.execute("UPDATE t SET x = y, y = x, sum = x + y, none = nothing, deep.er = 1 WHERE x < y")
    #expect(
      try rows("SELECT * FROM t") == [
        .map([
          "_id": .string("a"), "x": .int(2), "y": .int(1), "sum": .int(3), "deep": .map(["er": .int(1)]),
        ])
      ])
  }

  @Test func `a counter counts, restarts, and is read as a number`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'a', 'n': 40, 's': 'text'})")
    _ = try engine.execute(
      "UPDATE t APPLY n INCREMENT BY 2, fresh PN_INCREMENT BY :by", arguments: ["by": .int(-3)])
    _ = try engine.execute("UPDATE t SET copy = n")
    #expect(
      try rows("SELECT n, fresh, copy FROM t") == [
        .map(["n": .counter(42), "fresh": .counter(-3), "copy": .int(42)])
      ])
    _ = try engine.execute("UPDATE t APPLY n RESTART WITH 7, fresh RESTART")
    #expect(try rows("SELECT n, fresh FROM t") == [.map(["n": .counter(7), "fresh": .counter(0)])])
    #expect { try engine.execute("UPDATE t APPLY n INCREMENT BY 1.5") } throws: { error in
      (error as? QueryError)?.code == .argument
    }
    #expect { try engine.execute("UPDATE t APPLY s INCREMENT BY 1") } throws: { error in
      (error as? QueryError)?.code == .runtime
    }
  }

  @Test func `refuses updates of the id and of one path twice`() {
    let set = Update.Assignment(path: ["_id"], value: .literal(.int(1)))
    let twice = Update.Assignment(path: ["a"], value: .literal(.int(1)))
    for update in [
      Update(collection: "t", assignments: [set]), Update(collection: "t", assignments: [twice, twice]),
      Update(collection: "t", assignments: [twice], removals: [["a"]]), Update(collection: "t"),
    ] {
      #expect { try engine.execute(.update(update)) } throws: { ($0 as? QueryError)?.code == .argument }
    }
  }

  @Test func `deletes and evicts within a window, in order`() throws {
    try fill(6)
    let deleted = try engine.execute("DELETE FROM t WHERE n > 0 ORDER BY n DESC LIMIT 2 OFFSET 1")
      .mutatedDocumentIDs
    #expect(try deleted == [DocumentID("d104"), DocumentID("d103")])
    #expect(try engine.execute("EVICT FROM t LIMIT 1").mutatedDocumentIDs == [DocumentID("d100")])
    #expect(try rows("SELECT n FROM t") == [1, 2, 5].map { .map(["n": .int($0)]) })
  }

  @Test func `does not write in a read transaction`() throws {
    #expect { try store.read { try engine.execute(DQL.parse("DELETE FROM t"), in: $0) } } throws: { error in
      (error as? QueryError)?.code == .unsupported
    }
  }

  @Test func `refuses to write through the store inside a write transaction`() throws {
    _ = try store.write { _ in
      #expect { try engine.execute("DELETE FROM t") } throws: { error in
        (error as? StoreError)?.code == .nestedWriteTransaction
      }
    }
  }
}
