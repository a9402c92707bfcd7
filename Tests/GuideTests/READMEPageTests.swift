import DunlinKit
import TestKit
import Testing

/// The code of `README.md`.
@Suite(.timeLimit(.minutes(15))) struct READMEPageTests {
  @Test func `the first lines run`() async throws {
    let files = try TemporaryDirectory()
    let path = files.file("garage")

    let dunlin = try Dunlin(path: path, identity: .unsafeDevelopment(appID: "garage"))
    let cars = dunlin.store["cars"]
    try await cars.upsert(["_id": "c1", "color": "red", "trips": DunlinCounter()])
    await cars.findByID("c1").update { car in car?["trips"].counter?.increment(by: 1) }
    let red = try cars.find("color == 'red'").sort("_id").exec()

    let reds = "SELECT * FROM cars WHERE color = 'red'"
    let live = try dunlin.store.registerObserver(query: reds) { result in
      print(result.items.count, "red cars")
    }
    let subscription = try dunlin.sync.registerSubscription(query: reds)
    try dunlin.startSync()

    #expect(red.map { $0["trips"].counter?.value } == [1])
    #expect(dunlin.isSyncActive && !live.isCancelled)
    subscription.cancel()
    live.cancel()
    try dunlin.close()
  }
}
