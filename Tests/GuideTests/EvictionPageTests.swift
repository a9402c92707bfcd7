import DunlinKit
import DunlinTesting
import Testing

/// The code of `Documentation/Eviction.md`.
@Suite(.timeLimit(.minutes(15))) struct EvictionPageTests {
  private let database: TestDatabase
  private let server: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws {
    database = try TestDatabase("tablet")
    server = try TestDatabase("server")
  }

  /// Waits until the ids of a collection here are these.
  private func wait(for collection: String, _ ids: [DunlinDocumentID]) async throws {
    for await change in try dunlin.store.changes(of: "SELECT * FROM \(collection) ORDER BY _id")
    where change.items.map(\.id) == ids { break }
  }

  @Test func `the three steps`() async throws {
    let flights = server.dunlin.store["flights"]
    try await flights.upsert(["_id": "f1", "createdAt": "2030-01-01T12:00:00.000Z"])
    try await flights.upsert(["_id": "f2", "createdAt": "2030-01-02T12:00:00.000Z"])
    let yesterday = "2030-01-02T00:00:00.000Z"
    var subscription = try dunlin.sync.registerSubscription(query: "SELECT * FROM flights")
    try database.connect(to: server)
    try await wait(for: "flights", ["f1", "f2"])

    // 1. End the subscription.
    subscription.cancel()
    // 2. Evict what is old.
    try await dunlin.store.execute(
      query: "EVICT FROM flights WHERE createdAt <= :yesterday", arguments: ["yesterday": yesterday])
    // 3. Subscribe to what is new.
    subscription = try dunlin.sync.registerSubscription(
      query: "SELECT * FROM flights WHERE createdAt > :yesterday", arguments: ["yesterday": yesterday])

    try await flights.upsert(["_id": "f3", "createdAt": "2030-01-03T12:00:00.000Z"])
    try await wait(for: "flights", ["f2", "f3"])
    try await dunlin.sync.waitUntilHere(subscription, timeout: .seconds(300))
    #expect(try dunlin.store["flights"].findAll().count() == 2)
    #expect(try flights.findAll().count() == 3)
    subscription.cancel()
  }

  @Test func `what is evicted in spite of a subscription comes back`() async throws {
    try await server.dunlin.store["flights"].upsert(["_id": "f1"])
    let subscription = try dunlin.sync.registerSubscription(query: "SELECT * FROM flights")
    try database.connect(to: server)
    try await wait(for: "flights", ["f1"])
    await dunlin.store["flights"].findAll().evict()
    try await wait(for: "flights", ["f1"])
    subscription.cancel()
  }

  @Test func `documents leave by their state and by a flag`() async throws {
    let keeping = try ["orders", "reports"].map {
      try server.dunlin.sync.registerSubscription(query: "SELECT * FROM \($0)")
    }
    try await server.dunlin.store["orders"].upsert(["_id": "o1", "status": "open"])
    try await server.dunlin.store["orders"].upsert(["_id": "o2", "status": "open"])
    try await server.dunlin.store["reports"].upsert(["_id": "r1", "isSafeToEvict": false])

    let active = dunlin.store["orders"].find("status != 'served'").subscribe(onLeave: .evict)

    let wanted = dunlin.store["reports"].find("isSafeToEvict == false").subscribe(onLeave: .evict)

    try database.connect(to: server)
    try await wait(for: "orders", ["o1", "o2"])
    try await wait(for: "reports", ["r1"])
    try await server.dunlin.store["orders"].upsert(["_id": "o1", "status": "served"])
    try await dunlin.store["orders"].upsert(["_id": "o2", "status": "served"])
    try await server.dunlin.store["reports"].upsert(["_id": "r1", "isSafeToEvict": true])
    try await wait(for: "orders", [])
    try await wait(for: "reports", [])
    #expect(try server.dunlin.store["orders"].find("status == 'served'").count() == 2)
    for subscription in keeping + [active, wanted] { subscription.cancel() }
  }

  @Test func `a soft delete`() async throws {
    for id in ["n1", "n2"] { try await dunlin.store["notes"].upsert(["_id": id, "isDeleted": false]) }

    await dunlin.store["notes"].findByID("n1").update { note in note?["isDeleted"].set(true) }
    let visible = try dunlin.store["notes"].find("isDeleted == false").exec()
    await dunlin.store["notes"].find("isDeleted == true").evict()

    #expect(visible.map(\.id) == ["n2"])
    #expect(try dunlin.store["notes"].findAll().count() == 1)
  }
}
