import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct RequestInfoTests {
  @Test func `request_info tells the application, the statement's number and when it began`() throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      let environment = EngineEnvironment(now: { 0 }, wallClock: { 86_400_000 }, appID: "till")
      let engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
      _ = try engine.execute("SHOW ALL")
      let info = try engine.execute("SELECT request_info() AS r FROM system:dual").rows[0].values()
      #expect(
        info["r"]
          == .map([
            "app_id": .string("till"), "request_id": .int(2),
            "start_time": .string("1970-01-02T00:00:00.000Z"),
          ]))
      let refused = #expect(throws: QueryError.self) {
        try SubscriptionQuery(dql: "SELECT * FROM c WHERE a = request_info()")
      }
      #expect(refused?.code == .unsupported)
    }
  }

  @Test(arguments: [
    "SELECT COUNT(*) AS n FROM t HAVING clock() > 0", "SELECT clock() AS c, COUNT(*) AS n FROM t GROUP BY a",
    "SELECT b.a FROM t b JOIN t d ON d._id = b._id WHERE clock() > 0",
    "SELECT a FROM t WHERE d < clock() ORDER BY a", "SELECT COUNT(*) AS n FROM t WHERE a = 1 AND d < clock()",
    "DELETE FROM t RETURNING clock() AS c", "SELECT a FROM t UNION SELECT a FROM t ORDER BY clock()",
  ])
  func `the clock is known wherever an expression stands`(statement: String) throws {
    try TemporaryDirectory.with { directory in
      let store = try Store.open(
        at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
      defer { store.close() }
      let environment = EngineEnvironment(now: { 0 }, wallClock: { 86_400_000 })
      let engine = Engine(store: store, parameters: SystemParameters(), environment: environment)
      _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'a': 1, 'd': 0})")
      _ = try engine.execute("CREATE INDEX i ON t (a)")
      #expect(try engine.execute(statement).rows.count == 1)
    }
  }
}
