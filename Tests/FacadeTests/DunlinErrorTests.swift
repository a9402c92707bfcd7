import DunlinKit
import Foundation
import Logging
import TestKit
import Testing

/// Every failure is one public error with a code, and leaves everything as it was.
@Suite struct DunlinErrorTests {
  let peer: Peer
  var store: DunlinStore { peer.store }

  init() throws { peer = try Peer() }

  private func code(_ body: () throws -> Void) -> DunlinError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? DunlinError)?.code
    }
  }

  @Test func `a database that is open cannot be opened again`() {
    let error = #expect(throws: DunlinError.self) {
      try Dunlin(
        path: peer.directory.file("db"), identity: .unsafeDevelopment(appID: "tests"),
        configuration: DunlinConfiguration(logger: peer.log.logger))
    }
    #expect(error?.code == .alreadyOpen)
    #expect("\(error as Any)".contains("database: \(peer.directory.file("db"))"))
  }

  @Test func `a bad statement names the place and what was expected`() throws {
    let error = try #require(
      throws: DunlinError.self,
      performing: { try store.execute(query: "SELECT * FORM bikes") as DunlinQueryResult })
    #expect(error.code == .syntax)
    #expect(error.context["line"] == "1")
    #expect(error.context["column"] == "10")
    #expect(error.context["expected"]?.isEmpty == false)
    #expect(error.localizedDescription == error.message)
    #expect(error.underlying != nil)
  }

  @Test func `a bad query of the builder language fails when it is used`() {
    let pending = store["bikes"].find("color ==")
    #expect(code { _ = try pending.exec() } == .syntax)
    #expect(code { try pending.remove() } == .syntax)
    #expect(code { _ = try store["bikes"].find("color == $args.c").exec() } == .argument)
    #expect(code { _ = try store["bikes"].findAll().sort("a[").exec() } == .syntax)
    #expect(code { _ = try store["bikes"].findAll().limit(-1).exec() } == .argument)
  }

  @Test func `calls that do not throw report their failure`() throws {
    try store["bikes"].upsert(["_id": "b1", "color": "red"])
    let bikes = store["bikes"]
    #expect(bikes.find("color ==").evict().isEmpty)
    let subscription = bikes.find("color ==").subscribe()
    #expect(subscription.isCancelled)
    let liveQuery = bikes.find("color ==").observeLocal { _, _ in }
    #expect(liveQuery.isCancelled)
    bikes.findByID("b1").update { $0?["_id"].set("b2") }
    store.write { _ in bikes.findByID("b1").evict() }
    #expect(
      peer.log.codes == [.syntax, .syntax, .syntax, .invalidDocumentID, .nestedWriteTransaction])
    #expect(peer.log.lines(with: "evict failed", from: .error).count == 2)
    #expect(try bikes.findAll().exec().count == 1)
  }

  @Test func `a failed eviction inside a transaction undoes the transaction`() throws {
    #expect(
      code {
        try store.write { tx in
          try tx["bikes"].upsert(["_id": "b1"])
          tx["bikes"].find("color ==").evict()
        }
      } == .syntax)
    #expect(try store["bikes"].findAll().exec().isEmpty)
  }

  @Test func `names, ids and values that documents do not have are refused`() throws {
    #expect(code { try store[""].upsert(["a": 1]) } == .invalidCollectionName)
    #expect(code { try store["__users"].upsert(["a": 1]) } == .invalidCollectionName)
    #expect(code { try store["a"].upsert(["_id": 1.5]) } == .invalidDocumentID)
    #expect(code { try store["a"].upsert(["_id": String(repeating: "x", count: 300)]) } == .invalidDocumentID)
    #expect(
      code { try store["a"].findByID(String(repeating: "x", count: 300)).remove() } == .invalidDocumentID)
    #expect(code { _ = try DunlinDocumentID(value: nil) } == .invalidDocumentID)
    struct Secret {}
    let error = try #require(
      throws: DunlinError.self, performing: { try store["a"].upsert(["list": [["deep": Secret()]]]) })
    #expect(error.code == .unsupportedValue)
    #expect(error.context["path"] == "list.0.deep")
    #expect(try store.collectionNames().isEmpty)
  }

  @Test func `no message holds what a document holds`() throws {
    let secret = "swordfish"
    try store["a"].upsert(["_id": "d1", "name": secret, "list": [secret]])
    let calls: [() throws -> Void] = [
      { try store["a"].findByID("d1").update { doc in try change(doc) } },
      { try store["a"].upsert(["_id": "d1", "x": ["list": UInt64.max]]) },
      { _ = try store["a"].findByID("d1").exec()?.decoded(as: [String: Int].self) },
      {
        _ =
          try store.execute(query: "UPDATE a SET n = :missing WHERE name = '\(secret)'") as DunlinQueryResult
      },
      {
        _ =
          try store.execute(query: "INSERT INTO a DOCUMENTS ({'_id': 'd1', 'name': '\(secret)'})")
          as DunlinQueryResult
      },
    ]
    for call in calls {
      let error = try #require(throws: DunlinError.self, performing: call)
      expect(!error.message.contains(secret))
    }
    func change(_ document: DunlinMutableDocument?) throws { document?["name"].replaceWithCounter() }
  }

  @Test func `statements fail with the code of their mistake`() async throws {
    try await store["bikes"].upsert(["_id": "b1"])
    let cases: [(String, DunlinError.Code)] = [
      ("INSERT INTO bikes DOCUMENTS ({'_id': 'b1'})", .conflict),
      ("SELECT * FROM bikes WHERE a = :a", .argument),
      ("SELECT nosuch(1) FROM bikes", .unknownFunction),
      ("ALTER SYSTEM SET NO_SUCH_THING = 1", .unknownParameter),
      ("ALTER SYSTEM SET DQL_STRICT_MODE = 1", .argument),
    ]
    for (statement, code) in cases {
      let error = await #expect(throws: DunlinError.self) { try await store.execute(query: statement) }
      expectEqual(error?.code, code, "\(statement)")
    }
  }

  @Test func `an error of the application leaves a transaction as it is`() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try store.write { tx in
        try tx["bikes"].upsert(["_id": "b1"])
        throw Stop()
      }
    }
    #expect(throws: Stop.self) { try store["bikes"].findAll().update { _ in throw Stop() } }
    #expect(try store["bikes"].findAll().exec().isEmpty)
  }

  @Test func `a closed database says so and closes again`() async throws {
    let liveQuery = store["bikes"].findAll().observeLocal { _, _ in }
    let subscription = store["bikes"].findAll().subscribe()
    try peer.dunlin.startSync()
    try peer.dunlin.close()
    try peer.dunlin.close()
    #expect(liveQuery.isCancelled)
    #expect(subscription.isCancelled)
    #expect(!peer.dunlin.isSyncActive)
    #expect(code { try store["bikes"].upsert(["_id": "b1"]) } == .closed)
    #expect(code { _ = try store["bikes"].findAll().exec() } == .closed)
    #expect(code { try peer.dunlin.startSync() } == .closed)
    #expect(code { _ = try peer.dunlin.sync.registerSubscription(query: "SELECT * FROM bikes") } == .closed)
    #expect(code { _ = try store.registerObserver(query: "SELECT * FROM bikes") { _ in } } == .closed)
    for await _ in try store.changes(of: "SELECT * FROM bikes") {
      Issue.record("a closed database has changes")
    }
    for await _ in peer.dunlin.presence.graphs { Issue.record("a closed database has peers") }
  }

  @Test func `a port in use is named and nothing runs`() throws {
    let other = try Peer()
    try other.dunlin.listen()
    try other.dunlin.startSync()
    let port = try #require(other.dunlin.listeningPorts.first)
    try peer.dunlin.listen(port: port)
    let error = try #require(throws: DunlinError.self, performing: { try peer.dunlin.startSync() })
    #expect(error.code == .portInUse)
    #expect(error.message.contains("\(port)"))
    #expect(!peer.dunlin.isSyncActive)
    #expect(peer.dunlin.listeningPorts.isEmpty)
  }

  @Test(arguments: [
    "UPDATE orders SET x = 1", "SELECT _id, status FROM orders", "SELECT DISTINCT * FROM orders",
    "SELECT * FROM orders ORDER BY total", "SELECT * FROM system:collections", "SELECT * FROM",
  ])
  func `a subscription takes whole documents by a predicate alone`(query: String) {
    #expect(throws: DunlinError.self) { try peer.dunlin.sync.registerSubscription(query: query) }
    #expect(peer.dunlin.sync.subscriptions.isEmpty)
  }

  @Test func `a peer has no more subscriptions than others answer`() throws {
    var kept: [DunlinSubscription] = []
    for number in 0..<256 { kept.append(store["c\(number)"].findAll().subscribe()) }
    let refused = store["one more"].findAll().subscribe()
    #expect(refused.isCancelled)
    #expect(peer.log.codes == [.limit])
    // The same query again costs nothing.
    kept.append(store["c0"].findAll().subscribe())
    #expect(peer.dunlin.sync.subscriptions.count == 257)
    for subscription in kept { subscription.cancel() }
  }

  @Test func `only SELECT can be observed`() {
    #expect(
      code { _ = try store.registerObserver(query: "UPDATE orders SET x = 1") { _ in } } == .unsupported)
    #expect(code { _ = try store.changes(of: "EVICT FROM orders") } == .unsupported)
    #expect(code { _ = try store.changes(of: "SELECT * FROM orders WHERE a = :a") } == .argument)
  }
}
