import DunlinKit
import DunlinTesting
import TestKit
import Testing

/// The code of the page on moving from another product.
@Suite(.timeLimit(.minutes(15))) struct MovingFromDittoPageTests {
  @Test func `what applications call goes on under its names`() async throws {
    let directory = try TemporaryDirectory()
    try run(path: directory.file("db"), Events<Int>())
  }

  @Test func `a write in an async function is awaited`() async throws {
    let database = try TestDatabase()
    let dunlin = database.dunlin

    func paint(_ docID: DunlinDocumentID, _ color: String, in dunlin: Dunlin) async throws {
      await dunlin.store["bikes"].findByID(docID).update { mutableDoc in mutableDoc?["color"].set(color) }
      try await dunlin.store["paints"].upsert(["bike": docID, "color": color])
    }

    let docID = try await dunlin.store["bikes"].upsert(["_id": "b1", "color": "red"])
    try await paint(docID, "blue", in: dunlin)
    let bike = try await dunlin.store.execute(query: "SELECT color FROM bikes WHERE _id = 'b1'").items.first
    #expect(bike?["color"].string == "blue")
    #expect(try dunlin.store["paints"].find("bike == 'b1'").count() == 1)
  }

  private func run(path: String, _ seen: Events<Int>) throws {
    let dunlin = try Dunlin(path: path, identity: .offlinePlayground(appID: "bikes"))
    try dunlin.startSync()
    let docID = try dunlin.store["bikes"].upsert([
      "model": "Tourer", "color": "red", "km": 1_200, "trips": DunlinCounter(),
    ])
    dunlin.store["bikes"].findByID(docID).update { mutableDoc in
      mutableDoc?["color"] = "blue"
      mutableDoc?["trips"].counter?.increment(by: 1)
    }
    let blue = try dunlin.store["bikes"].find("color == 'blue' && km < $args.km", args: ["km": 2_000])
      .sort("km", direction: .descending).exec()
    #expect(blue.map(\.id) == [docID])
    #expect(blue.first?["trips"].counter?.value == 1)

    let observer = try dunlin.store.registerObserver(query: "SELECT * FROM bikes") { result in
      seen.send(result.items.count)
    }
    observer.cancel()
    #expect(observer.isCancelled)
    let subscription = try dunlin.sync.registerSubscription(query: "SELECT * FROM bikes WHERE color = 'blue'")
    subscription.cancel()
    #expect(subscription.isCancelled)
    try dunlin.close()
  }
}
