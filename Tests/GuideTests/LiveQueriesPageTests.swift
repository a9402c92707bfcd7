import DunlinKit
import DunlinTesting
import Observation
import TestKit
import Testing

/// The code of `Documentation/LiveQueries.md`.
@Suite(.timeLimit(.minutes(15))) struct LiveQueriesPageTests {
  private struct Order: Codable, Sendable, Equatable {
    var _id: String
    var seat: String
  }

  private let database: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws { database = try TestDatabase("galley") }

  @Test func `a loop gets each change`() async throws {
    let orders = dunlin.store["orders"]
    try await orders.upsert(["_id": "o1", "seat": "12A"])

    for try await change in try dunlin.store.changes(of: "SELECT * FROM orders", as: Order.self) {
      print(change.items.map(\.seat))
      break
    }

    let changes = try dunlin.store.changes(of: "SELECT * FROM orders", as: Order.self, unfit: .leaveOut)
    for try await change in changes {
      for row in change.unfit { print(row.documentID ?? "no id", row.error) }
      break
    }

    for try await change in try orders.find("seat == '12A'").changes(as: Order.self) {
      print(change.items.count)
      break
    }

    let removal = Task { try await orders.findAll().remove() }

    for await change in try dunlin.store.changes(of: "SELECT * FROM orders ORDER BY seat") {
      print(change.items.map { $0["seat"].stringValue }, change.insertions, change.updates)
      if change.items.isEmpty { break }
    }

    #expect(try await removal.value == ["o1"])
  }

  @Test func `handlers are called`() async throws {
    let orders = dunlin.store["orders"]

    let observer = try dunlin.store.registerObserver(
      query: "SELECT COUNT(*) AS n FROM orders WHERE status = :status", arguments: ["status": "open"]
    ) { result in
      print(result.items.first?["n"].intValue ?? 0)
    }

    let live = orders.find("status == 'open'").observeLocal { orders, event in
      switch event {
      case .initial:
        print(orders.count, "open orders")
      case .update(let update):
        print("gone:", update.deletions, "new:", update.insertions, "changed:", update.updates)
      }
    }

    let counts = Events<Int>()
    let seen = Events<Seen>()
    let handles = [
      try dunlin.store.registerObserver(
        query: "SELECT COUNT(*) AS n FROM orders WHERE status = :status", arguments: ["status": "open"]
      ) { counts.send($0.items.first?["n"].intValue ?? -1) },
      orders.find("status == 'open'").observeLocal { seen.send(Seen($0, $1)) },
    ]
    try await orders.upsert(["_id": "o1", "status": "open"])
    #expect(await counts.next(2) == [0, 1])
    var inserted = Seen(["o1"])
    inserted.insertions = [0]
    #expect(await seen.next(2) == [Seen([], initial: true), inserted])
    for handle in handles + [observer, live] { handle.cancel() }
    #expect(live.isCancelled && observer.isCancelled)
  }

  @MainActor @Test func `an object for views`() async throws {
    try await dunlin.store["orders"].upsert(["_id": "o1", "seat": "12A"])

    let results = try dunlin.store.liveResults(of: "SELECT * FROM orders ORDER BY seat", as: Order.self)

    #expect(results.isLoading)
    while results.isLoading {
      let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
      let isLoading = withObservationTracking {
        results.isLoading
      } onChange: {
        continuation.yield()
      }
      guard isLoading else { break }
      for await _ in changes { break }
    }
    #expect(results.items == [Order(_id: "o1", seat: "12A")])
  }
}
