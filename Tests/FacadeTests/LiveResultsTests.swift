import Dispatch
import DunlinKit
import DunlinTesting
import Observation
import TestKit
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

  @Test func `a row that does not fit is left out for as long as it does not`() async throws {
    try await store["cars"].upsert(["_id": "a", "color": "red"])
    let cars = try store.liveResults(of: "SELECT * FROM cars", as: Car.self)
    await wait { !cars.isLoading }
    try await store["cars"].upsert(["_id": "b", "color": 7])
    await wait { cars.error != nil }
    #expect(cars.error?.code == .decoding)
    #expect(cars.error?.context["document"] == "\"b\"")
    #expect(cars.items.map(\._id) == ["a"])
    #expect(cars.unfit.map(\.documentID) == ["b"])
    try await store["cars"].upsert(["_id": "c", "color": "blue"])
    await wait { cars.items.map(\._id) == ["a", "c"] }
    #expect(cars.error != nil)
    try await store["cars"].upsert(["_id": "b", "color": "green"])
    await wait { cars.items.map(\._id) == ["a", "b", "c"] }
    #expect(cars.error == nil && cars.unfit.isEmpty)
    try await store["cars"].upsert(["_id": "a", "color": 1])
    await wait { cars.items.map(\._id) == ["b", "c"] }
    try cars.setQuery("SELECT * FROM cars WHERE _id != 'a'")
    #expect(cars.error == nil)
    await wait { !cars.isLoading }
    #expect(cars.items.map(\._id) == ["b", "c"] && cars.unfit.isEmpty)
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func `diffs without the rows that do not fit are exact`(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let query = "SELECT * FROM cars ORDER BY place"
    var changes = try store.changes(of: query, as: Car.self, unfit: .leaveOut).makeAsyncIterator()
    var items: [Car] = []
    for _ in 0..<60 {
      let diff = try #require(try await changes.next())
      expectEqual(diff.oldItems, items)
      items = Self.applying(diff, to: items)
      expectEqual(items, diff.items)
      let ids = (0..<8).map { "\($0)" }
      let writes = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
        (
          id: ids.randomElement(using: &generator) ?? "0", kind: Int.random(in: 0..<5, using: &generator),
          place: Int.random(in: 0..<100, using: &generator)
        )
      }
      try await store.write { transaction in
        for (id, kind, place) in Dictionary(writes.map { ($0.id, $0) }, uniquingKeysWith: { $1 }).values {
          switch kind {
          case 0: try transaction["cars"].findByID(DunlinDocumentID(value: id)).remove()
          case 1: try transaction["cars"].upsert(["_id": id, "color": place, "place": place])
          default: try transaction["cars"].upsert(["_id": id, "color": "\(place)", "place": place])
          }
        }
        // Each round has something to see.
        try transaction["cars"].upsert(["_id": "clock", "color": "\(DispatchTime.now().uptimeNanoseconds)"])
      }
    }
  }

  /// A result after a diff, by the steps that the page names.
  private static func applying(_ diff: DunlinTypedDiff<Car>, to old: [Car]) -> [Car] {
    let gone = Set(diff.deletions + diff.moves.map(\.from))
    var result = old.indices.filter { !gone.contains($0) }.map { old[$0] }
    let arriving =
      diff.insertions.map { ($0, diff.items[$0]) } + diff.moves.map { ($0.to, old[$0.from]) }
    for (index, item) in arriving.sorted(by: { $0.0 < $1.0 }) { result.insert(item, at: index) }
    for index in diff.updates { result[index] = diff.items[index] }
    return result
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
