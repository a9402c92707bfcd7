import DunlinKit
import DunlinTesting
import Observation
import Testing

/// Live results for views: read on the main actor, and told by the standard library's observation.
@MainActor @Suite(.timeLimit(.minutes(15))) struct LiveResultsTests {
  private struct Car: Decodable, Equatable, Sendable {
    var _id: String
    var color: String
  }

  private let database: TestDatabase
  private var store: DunlinStore { database.dunlin.store }

  init() throws { database = try TestDatabase() }

  /// Waits until what `read` reads has changed to what is looked for, woken by observation alone.
  private func wait(for read: @escaping () -> Bool) async {
    while true {
      let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
      if withObservationTracking(read, onChange: { continuation.yield() }) { return }
      for await _ in changes { break }
    }
  }

  @Test func `items follow writes, and observation tells of each change`() async throws {
    try await store["cars"].upsert(["_id": "a", "color": "red"])
    let cars = try store.liveResults(of: "SELECT * FROM cars ORDER BY _id", as: Car.self)
    #expect(cars.isLoading && cars.items.isEmpty)
    await wait { !cars.isLoading }
    #expect(cars.items == [Car(_id: "a", color: "red")])
    try await store["cars"].upsert(["_id": "b", "color": "blue"])
    await wait { cars.items.count == 2 }
    try await store["cars"].findByID("a").remove()
    await wait { cars.items == [Car(_id: "b", color: "blue")] }
    #expect(cars.error == nil)
  }

  @Test func `another query replaces the first, whose results come no more`() async throws {
    for color in ["red", "blue"] { try await store["cars"].upsert(["_id": color, "color": color]) }
    let query = "SELECT * FROM cars WHERE color = :color"
    let cars = try store.liveResults(of: query, arguments: ["color": "red"], as: Car.self)
    await wait { cars.items.map(\.color) == ["red"] }
    try cars.setQuery(query, arguments: ["color": "blue"])
    #expect(cars.isLoading && cars.items.map(\.color) == ["red"])
    await wait { cars.items.map(\.color) == ["blue"] }
    #expect(throws: DunlinError.self) { try cars.setQuery("SELECT * FORM cars") }
    try await store["cars"].upsert(["_id": "sky", "color": "blue"])
    await wait { cars.items.count == 2 }
  }

  @Test func `a row that does not fit ends it, and the items stay`() async throws {
    try await store["cars"].upsert(["_id": "a", "color": "red"])
    let cars = try store.liveResults(of: "SELECT * FROM cars", as: Car.self)
    await wait { !cars.isLoading }
    try await store["cars"].upsert(["_id": "b", "color": 7])
    await wait { cars.error != nil }
    #expect(cars.error?.code == .decoding)
    #expect(cars.items.map(\._id) == ["a"])
    try cars.setQuery("SELECT * FROM cars WHERE color = 'red'")
    #expect(cars.error == nil)
    await wait { !cars.isLoading }
    #expect(cars.items.map(\._id) == ["a"])
  }

  @Test func `a cancelled one stands still`() async throws {
    let cars = try store.liveResults(of: "SELECT * FROM cars", as: Car.self)
    await wait { !cars.isLoading }
    cars.cancel()
    try await store["cars"].upsert(["_id": "a", "color": "red"])
    let others = try store.liveResults(of: "SELECT * FROM cars", as: Car.self)
    await wait { others.items.count == 1 }
    #expect(cars.items.isEmpty && !cars.isLoading)
  }

  @Test func `what nobody holds any more observes nothing`() async throws {
    weak var gone: DunlinLiveResults<Car>?
    do {
      let cars = try store.liveResults(of: "SELECT * FROM cars", as: Car.self)
      await wait { !cars.isLoading }
      gone = cars
    }
    while gone != nil { await Task.yield() }
  }
}
