import DunlinKit
import TestKit
import Testing

/// The code of `Documentation/GettingStarted.md`.
@Suite(.timeLimit(.minutes(15))) struct GettingStartedPageTests {
  @Test func `the first document, query and live query`() async throws {
    let files = try TemporaryDirectory()
    let directory = files.file("data")
    let dunlin = try Dunlin(path: directory + "/tablet", identity: .unsafeDevelopment(appID: "meals"))

    let orders = dunlin.store["orders"]
    let id = try await orders.upsert(["seat": "12A", "meal": "pasta", "status": "open"])

    #expect(try orders.findByID(id).exec()?["meal"].string == "pasta")

    struct Order: Codable, Sendable {
      var _id: String
      var seat: String
      var meal: String
      var status: String
    }

    let pending = try orders.find("status == 'open'").sort("seat").exec(as: Order.self)
    for order in pending { print(order.seat, order.meal) }

    #expect(pending.map(\._id) == [id.stringValue])

    let result = try await dunlin.store.execute(
      query: "SELECT meal, COUNT(*) AS n FROM orders WHERE status = :status GROUP BY meal",
      arguments: ["status": "open"])
    for row in result.items { print(row["meal"].stringValue, row["n"].intValue) }

    #expect(result.items.map { $0["n"].intValue } == [1])
    let done = Task { try await dunlin.store.execute(query: "UPDATE orders SET status = 'done'") }

    for await change in try dunlin.store.changes(of: "SELECT * FROM orders WHERE status = 'open'") {
      print(change.items.count, "open orders")
      if change.items.isEmpty { break }
    }

    #expect(try await done.value.mutatedDocumentIDs == [id])
    try dunlin.close()
  }

  @Test func `two databases sync`() async throws {
    let files = try TemporaryDirectory()
    let directory = files.file("data")

    let seat = try Dunlin(path: directory + "/seat", identity: .unsafeDevelopment(appID: "meals"))
    let galley = try Dunlin(path: directory + "/galley", identity: .unsafeDevelopment(appID: "meals"))

    try galley.listen(host: "127.0.0.1", port: 0)
    try galley.startSync()
    seat.connect(host: "127.0.0.1", port: galley.listeningPorts[0])
    try seat.startSync()

    let subscription = try galley.sync.registerSubscription(query: "SELECT * FROM orders")

    let write = try await seat.store.execute(
      query: "INSERT INTO orders DOCUMENTS ({'_id': 'o1', 'seat': '12A', 'status': 'open'})")
    try await seat.sync.waitUntilArrived(write.commitID, timeout: .seconds(10))

    print(try galley.store["orders"].findAll().count())

    #expect(try galley.store["orders"].findByID("o1").exec()?["seat"].string == "12A")
    subscription.cancel()
    for peer in [seat, galley] { try peer.close() }
  }
}
