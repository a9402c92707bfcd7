import DunlinKit
import DunlinTesting
import Testing

/// The code of `Documentation/Writing.md`.
@Suite(.timeLimit(.minutes(15))) struct WritingPageTests {
  private struct OrderIsGone: Error {}

  private let database: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws { database = try TestDatabase("tablet") }

  private func json(_ id: DunlinDocumentID) throws -> String? {
    try dunlin.store["orders"].findByID(id).exec()?.jsonString()
  }

  @Test func `one order is written in all ways`() async throws {
    let orders = dunlin.store["orders"]

    try await orders.upsert(["_id": "o1", "seat": "12A", "extras": ["wine": 1]])
    try await orders.upsert(["_id": "o1", "extras": ["bread": 2]])

    #expect(try json("o1") == #"{"_id":"o1","extras":{"bread":2,"wine":1},"seat":"12A"}"#)

    try await orders.findByID("o1").update { order in
      guard let order else { throw OrderIsGone() }
      order["seat"].set("14C")
      order["extras"]["wine"].remove()
      order["servings"].set(DunlinCounter())
      order["servings"].counter?.increment(by: 1)
    }

    #expect(try json("o1") == #"{"_id":"o1","extras":{"bread":2},"seat":"14C","servings":1}"#)

    try await dunlin.store.execute(
      query: "UPDATE orders SET seat = :seat WHERE _id = 'o1'", arguments: ["seat": "14D"])

    struct Order: Codable, Sendable {
      var _id: String
      var seat: String
      var extras: [String: Int]
    }

    guard let original = try orders.findByID("o1").exec(as: Order.self) else { throw OrderIsGone() }
    var order = original
    order.seat = "15F"
    let saved = try await orders.save(order, from: original)

    #expect(original.seat == "14D")
    #expect(saved.changes == [.set(docID: "o1", path: "seat")])
    #expect(try json("o1") == #"{"_id":"o1","extras":{"bread":2},"seat":"15F","servings":1}"#)

    try await orders.upsert(["_id": "o2", "status": "served"])

    try await orders.findByID("o1").remove()
    await orders.find("status == 'served'").evict()

    #expect(try orders.findAll().count() == 0)
  }

  @Test func `what the tables say of updates and strategies`() async throws {
    let orders = dunlin.store["orders"]
    try await orders.upsert(["_id": "o1", "n": 3, "extras": ["wine": 1]])
    try await orders.findByID("o1").update { order in
      guard let order else { throw OrderIsGone() }
      order["n"].replaceWithCounter()
      order["n"].counter?.increment(by: 2)
      order["extras"].set(["bread": 1])
      #expect(order["extras"].counter == nil)
      order["seat"] = "14C"
    }
    #expect(try json("o1") == #"{"_id":"o1","extras":{"bread":1,"wine":1},"n":5,"seat":"14C"}"#)
    let error = await #expect(throws: DunlinError.self) { try await orders.upsert(["_id": "o1", "n": 7]) }
    #expect(error?.code == .isACounter)
    try await orders.upsert(["_id": "o1", "n": DunlinCounter()])
    try await orders.findByID("o1").update { order in
      guard let order else { throw OrderIsGone() }
      order["extras"].replace(with: ["bread": 2])
      order["n"].counter?.restart(at: 1)
    }
    try await orders.upsert(["_id": "o1", "seat": "1A"], writeStrategy: .insertIfAbsent)
    try await orders.upsert(["_id": "o1", "seat": "1B"], writeStrategy: .insertDefaultIfAbsent)
    #expect(try json("o1") == #"{"_id":"o1","extras":{"bread":2},"n":1,"seat":"14C"}"#)
    let commits = try dunlin.store.statistics().sequence
    try await orders.upsert(["_id": "o1", "seat": "14C"], writeStrategy: .updateDifferentValues)
    #expect(try dunlin.store.statistics().sequence == commits)
    try await orders.findByID("none").update { order in
      #expect(order == nil)
      if order != nil { throw OrderIsGone() }
    }
  }

  @Test func `counters that start apart add up`() async throws {
    let other = try TestDatabase("galley")
    for (database, amount) in [(database, 3), (other, 4)] {
      let orders = database.dunlin.store["orders"]
      try await orders.upsert(["_id": "o1", "servings": DunlinCounter()])
      await orders.findByID("o1").update { $0?["servings"].counter?.increment(by: amount) }
    }
    let subscriptions = [database, other].map { $0.dunlin.store["orders"].findAll().subscribe() }
    try database.connect(to: other)
    for peer in [database, other] {
      for await change in try peer.dunlin.store.changes(of: "SELECT * FROM orders")
      where change.items.first?["servings"].intValue == 7 { break }
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `many documents in one transaction`() async throws {
    try await dunlin.store.write { transaction in
      let orders = transaction["orders"]
      for row in 1...30 {
        try orders.upsert(["_id": "row-\(row)", "seat": "\(row)A", "status": "open"])
      }
    }

    #expect(try dunlin.store["orders"].findAll().count() == 30)
    #expect(try dunlin.store.statistics().sequence == 1)

    try await dunlin.store["orders"].upsert((31...60).map { ["_id": "row-\($0)", "seat": "\($0)A"] })

    #expect(try dunlin.store["orders"].findAll().count() == 60)
    #expect(try dunlin.store.statistics().sequence == 2)
  }
}
