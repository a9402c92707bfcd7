import DunlinKit
import DunlinTesting
import Foundation
import Testing

/// The code of the page on testing an application.
@Suite(.timeLimit(.minutes(15))) struct TestingGuideTests {
  @Test func `an order reaches the galley`() async throws {
    let seat = try TestDatabase("seat"), galley = try TestDatabase("galley")
    try seat.connect(to: galley)
    let subscription = try galley.dunlin.sync.registerSubscription(query: "SELECT * FROM orders")
    try await seat.dunlin.store["orders"].upsert(["_id": "12A", "meal": "pasta"])
    for await change in try galley.dunlin.store.changes(of: "SELECT * FROM orders")
    where !change.items.isEmpty { break }
    subscription.cancel()
  }

  @Test func `orders made out of reach arrive when the devices meet again`() async throws {
    let seat = try TestDatabase("seat"), galley = try TestDatabase("galley")
    let subscription = try galley.dunlin.sync.registerSubscription(query: "SELECT * FROM orders")
    let connection = try seat.connect(to: galley)
    connection.cut()
    try await seat.dunlin.store["orders"].upsert(["_id": "12A", "meal": "pasta"])
    try seat.connect(to: galley)
    for await change in try galley.dunlin.store.changes(of: "SELECT * FROM orders")
    where !change.items.isEmpty { break }
    subscription.cancel()
  }

  @Test func `data is there after a restart, and the clock is the test's`() async throws {
    let clock = TestClock()
    let seat = try TestDatabase("seat", clock: clock)
    try await seat.dunlin.store.execute(query: "INSERT INTO orders DOCUMENTS ({'_id': '12A', 'at': clock()})")
    clock.advance(by: .seconds(60))
    let store = try seat.reopen().store
    let late = "SELECT * FROM orders WHERE at <= clock() - 60000"
    #expect(try await store.execute(query: late).items.count == 1)
  }

  @Test func `a date comes back to the millisecond`() async throws {
    let clock = TestClock()
    let orders = try TestDatabase("seat", clock: clock)
    let late = clock.now.addingTimeInterval(0.125)
    try await orders.dunlin.store["orders"].upsert(["_id": "12A", "at": late])
    let stored = try orders.dunlin.store["orders"].find("at > $args.now", args: ["now": clock.now]).exec()
    #expect(stored.map { $0["at"].date } == [late])
    #expect(stored.map { $0["at"].string } == ["2030-01-01T12:00:00.125Z"])
  }

  @Test func `a slow line changes nothing but the time`() async throws {
    let seat = try TestDatabase("seat"), galley = try TestDatabase("galley")
    let subscription = try galley.dunlin.sync.registerSubscription(query: "SELECT * FROM orders")
    let connection = try seat.connect(to: galley, over: .constrained)
    try await seat.dunlin.store["orders"].upsert(["_id": "12A", "meal": "pasta"])
    for await change in try galley.dunlin.store.changes(of: "SELECT * FROM orders")
    where !change.items.isEmpty { break }
    #expect(connection.statistics.sentBytes > 0)
    subscription.cancel()
  }

  @Test func `the files go with the database, and databases do not meet by themselves`() async throws {
    let path: String
    do {
      let database = try TestDatabase()
      let other = try TestDatabase()
      path = database.path
      #expect(path != other.path && FileManager.default.fileExists(atPath: path))
      #expect(!database.dunlin.isSyncActive)
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
