import DunlinKit
import DunlinTesting
import TestKit
import Testing

/// The code of `Documentation/MovingFromOthers.md`.
@Suite(.timeLimit(.minutes(15))) struct MovingFromOthersPageTests {
  private let database: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws { database = try TestDatabase() }

  @Test func `what an application of Realm does`() async throws {
    struct Car: Codable, Sendable {
      var _id: String
      var color: String
    }

    let cars = dunlin.store["cars"]
    try await cars.upsert(Car(_id: "c1", color: "red"))
    await cars.findByID("c1").update { car in car?["color"].set("blue") }
    let blue = try cars.find("color == 'blue'").exec(as: Car.self)
    for try await change in try dunlin.store.changes(of: "SELECT * FROM cars", as: Car.self) {
      print(change.items.count, change.insertions, change.updates, change.deletions)
      break
    }

    #expect(blue.map(\._id) == ["c1"])
  }

  @Test func `what an application of Couchbase Lite does`() async throws {
    try await dunlin.store["cars"].upsert(["_id": "c2", "color": "red"])
    let result = try await dunlin.store.execute(
      query: "SELECT _id, color FROM cars WHERE color = :color", arguments: ["color": "red"])
    for row in result.items { print(row["_id"].stringValue, row["color"].stringValue) }

    let subscription = try dunlin.sync.registerSubscription(query: "SELECT * FROM cars")
    try dunlin.connect(url: "ws://127.0.0.1:4041/")
    try dunlin.startSync()

    #expect(result.items.map { $0.jsonString() } == [#"{"_id":"c2","color":"red"}"#])
    #expect(dunlin.isSyncActive)
    dunlin.stopSync()
    subscription.cancel()
  }

  @Test func `what an application of GRDB does`() async throws {
    try await dunlin.store["trips"].upsert(["_id": "t1", "car": "c1"])

    try await dunlin.store.write { transaction in
      try transaction["cars"].upsert(["_id": "c3", "color": "red"])
      try transaction.execute(query: "UPDATE trips SET car = 'c3' WHERE car = 'c1'")
    }
    let count = try await dunlin.store.read { transaction in
      try transaction["cars"].find("color == 'red'").count()
    }
    let colors = try await dunlin.store.execute(
      query: "SELECT color, COUNT(*) AS n FROM cars GROUP BY color ORDER BY color")

    #expect(count == 1)
    #expect(colors.items.map { $0.jsonString() } == [#"{"color":"red","n":1}"#])
    #expect(try dunlin.store["trips"].find("car == 'c3'").count() == 1)
  }
}
