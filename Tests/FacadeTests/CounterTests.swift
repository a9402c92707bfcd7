import DunlinKit
import Foundation
import TestKit
import Testing

/// Counters that applications make, read and save back.
@Suite(.timeLimit(.minutes(15))) struct CounterTests {
  struct Bike: Codable, Equatable {
    var _id: String
    var color: String
    var trips: DunlinCounter
    var parts: [String: DunlinCounter] = [:]
  }

  let tablet: Peer
  var bikes: DunlinCollection { tablet.store["bikes"] }

  init() throws { tablet = try Peer("tablet") }

  private func trips(_ id: DunlinDocumentID = "b1") throws -> Int? {
    try bikes.findByID(id).exec()?["trips"].counter?.value
  }

  /// Two devices each do something on their own, then meet; both then show the same count.
  private func meet(
    _ first: (DunlinCollection) throws -> Void, _ second: (DunlinCollection) throws -> Void, count: Int
  ) async throws {
    let phone = try Peer("phone")
    try first(bikes)
    try second(phone.store["bikes"])
    let subscriptions = [tablet, phone].map { $0.store["bikes"].findAll().subscribe() }
    try phone.connect(to: tablet)
    for peer in [tablet, phone] {
      try await peer.wait(for: "bikes") { $0.first?["trips"].counter?.value == count }
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  private func insert(_ start: Int, adding amount: Int) -> (DunlinCollection) throws -> Void {
    { bikes in
      try bikes.upsert(["_id": "b1", "trips": DunlinCounter(start)])
      bikes.findByID("b1").update { $0?["trips"].counter?.increment(by: amount) }
    }
  }

  @Test(arguments: [(0, 3, 0, 4, 7), (10, 3, 20, 4, 37), (5, 0, 0, 0, 5), (-2, 1, 2, 1, 2)])
  func `counters that two devices insert apart add up`(
    start: Int, amount: Int, otherStart: Int, otherAmount: Int, count: Int
  ) async throws {
    try await meet(insert(start, adding: amount), insert(otherStart, adding: otherAmount), count: count)
  }

  @Test func `a counter below a map adds up as well`() async throws {
    func insert(_ start: Int) -> (DunlinCollection) throws -> Void {
      { bikes in
        try bikes.upsert(["_id": "b1", "trips": DunlinCounter(), "parts": ["bell": DunlinCounter(start)]])
        bikes.findByID("b1").update { bike in
          bike?["parts"]["bell"].counter?.increment(by: 1)
          bike?["trips"].counter?.increment(by: 1)
        }
      }
    }
    try await meet(insert(2), insert(3), count: 2)
    #expect(try bikes.findByID("b1").exec()?["parts"]["bell"].counter?.value == 7)
  }

  @Test func `a declared counter of an INSERT is made like any other`() async throws {
    let insert = """
      INSERT INTO COLLECTION bikes (trips COUNTER) DOCUMENTS ({'_id': 'b1', 'trips': :n}) ON ID CONFLICT DO UPDATE
      """
    try await tablet.store.execute(query: insert, arguments: ["n": 1])
    try await meet({ _ in }, self.insert(2, adding: 0), count: 3)
    try await tablet.store.execute(query: insert, arguments: ["n": 9])
    #expect(try trips() == 3)
  }

  @Test func `a counter over a counter changes nothing`() throws {
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter(2)])
    bikes.findByID("b1").update { $0?["trips"].counter?.increment(by: 3) }
    for strategy in [DunlinWriteStrategy.merge, .updateDifferentValues, .insertIfAbsent] {
      try bikes.upsert(["_id": "b1", "trips": DunlinCounter(50)], writeStrategy: strategy)
      try expectEqual(trips(), 5)
    }
  }

  @Test func `a counter over an integer keeps it as its start`() throws {
    try bikes.upsert(["_id": "b1", "trips": 5])
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter()])
    #expect(try trips() == 5)
    try bikes.upsert(["_id": "b2", "trips": 5])
    try bikes.upsert(["_id": "b2", "trips": DunlinCounter(2)], writeStrategy: .updateDifferentValues)
    #expect(try trips("b2") == 7)
  }

  @Test(arguments: ["text", 2.5, true, nil, ["a"], ["k": 1]] as [(any Sendable)?])
  func `a counter over another value takes its place`(value: (any Sendable)?) throws {
    try bikes.upsert(["_id": "b1", "trips": value])
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter(4)])
    #expect(try trips() == 4)
  }

  @Test func `a counter where one was removed, or in a document that was, begins anew`() throws {
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter(9)])
    bikes.findByID("b1").update { $0?["trips"].remove() }
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter(1)])
    #expect(try trips() == 1)
    try bikes.findByID("b1").remove()
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter(2)])
    #expect(try trips() == 2)
  }

  @Test func `a struct that is saved takes away nobody's increments`() async throws {
    try await bikes.upsert(Bike(_id: "b1", color: "red", trips: DunlinCounter(10)))
    var bike = try #require(try bikes.findByID("b1").exec()?.decoded(as: Bike.self))
    await bikes.findByID("b1").update { $0?["trips"].counter?.increment(by: 5) }
    bike.color = "blue"
    try await bikes.upsert(bike)
    #expect(try trips() == 15)
    bike.trips.increment(by: 2)
    #expect(bike.trips.value == 12)
    try await bikes.upsert(bike, writeStrategy: .updateDifferentValues)
    #expect(try trips() == 17)
    // A row of a result was read as well, and so was what a document shows.
    let rows = try await tablet.store.execute(query: "SELECT * FROM bikes").items
    try await bikes.upsert(try #require(rows.first).decoded(as: Bike.self))
    let counter = try #require(try bikes.findByID("b1").exec()?["trips"].counter)
    try await bikes.upsert(["_id": "b1", "trips": counter])
    await bikes.findByID("b1").update { $0?["trips"].set(counter) }
    #expect(try trips() == 17)
  }

  @Test func `a counter that was read starts with its own increments where none stands any more`() throws {
    try bikes.upsert(Bike(_id: "b1", color: "red", trips: DunlinCounter(10), parts: ["a": DunlinCounter(1)]))
    var bike = try #require(try bikes.findByID("b1").exec()?.decoded(as: Bike.self))
    bike.parts["a"]?.increment(by: 4)
    bikes.findByID("b1").evict()
    try bikes.upsert(bike)
    #expect(try trips() == 0)
    #expect(try bikes.findByID("b1").exec()?["parts"]["a"].counter?.value == 4)
    try bikes.upsert(bike)
    #expect(try bikes.findByID("b1").exec()?["parts"]["a"].counter?.value == 8)
    // To copy a counter, make one.
    try bikes.upsert(["_id": "b2", "trips": DunlinCounter(DunlinCounter(10).value)])
    #expect(try trips("b2") == 10)
  }

  @Test func `set and restart begin an epoch, and replace makes a register`() throws {
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter(3)])
    bikes.findByID("b1").update { $0?["trips"].set(DunlinCounter(1)) }
    #expect(try trips() == 1)
    bikes.findByID("b1").update { $0?["trips"].counter?.restart(at: 7) }
    #expect(try trips() == 7)
    bikes.findByID("b1").update { $0?["trips"].replace(with: 8) }
    #expect(try trips() == nil)
    #expect(try bikes.findByID("b1").exec()?["trips"].int == 8)
  }

  @Test func `a plain number over a counter is an error that names both ways`() async throws {
    try await bikes.upsert(["_id": "b1", "trips": DunlinCounter(3), "parts": ["bell": DunlinCounter(1)]])
    let document = try #require(try bikes.findByID("b1").exec())
    let writes: [(String, () throws -> Void)] = [
      ("trips", { try bikes.upsert(["_id": "b1", "trips": 5]) }),
      ("trips", { try bikes.upsert(["_id": "b1", "trips": 5.5, "color": "red"]) }),
      ("trips", { try bikes.upsert(["_id": "b1", "trips": 3], writeStrategy: .updateDifferentValues) }),
      ("parts.bell", { try bikes.upsert(["_id": "b1", "parts": ["bell": 2]]) }),
      ("trips", { try bikes.upsert(["_id": "b1", "trips": document["trips"].value]) }),
      (
        "trips",
        {
          try bikes.findByID("b1").update { bike in
            bike?["trips"].set(5)
            try Task.checkCancellation()
          }
        }
      ),
    ]
    for (path, write) in writes {
      let error = try #require(throws: DunlinError.self) { try write() }
      expectEqual(error.code, .isACounter)
      expectEqual(error.context["path"], path)
      expect(error.message.contains("restart") && error.message.contains("replace"))
    }
    await #expect(throws: DunlinError.self) {
      try await tablet.store.execute(query: "UPDATE bikes SET trips = 5")
    }
    #expect(try trips() == 3)
    // Declared, it is said what is meant.
    try await tablet.store.execute(query: "UPDATE COLLECTION bikes (trips COUNTER) SET trips = 5")
    #expect(try trips() == 5)
    try await tablet.store.execute(query: "UPDATE COLLECTION bikes (trips REGISTER) SET trips = 6")
    #expect(try trips() == nil)
    try await bikes.upsert(["_id": "b1", "trips": DunlinCounter()])
    try await tablet.store.execute(
      query: """
        INSERT INTO COLLECTION bikes (trips REGISTER) DOCUMENTS ({'_id': 'b1', 'trips': 1}) ON ID CONFLICT DO UPDATE
        """)
    #expect(try trips() == nil)
  }

  @Test func `a counter that has counted is no argument of a statement`() async throws {
    try await bikes.upsert(["_id": "b1", "trips": DunlinCounter(3)])
    var counter = try #require(try bikes.findByID("b1").exec()?["trips"].counter)
    let found = try await tablet.store.execute(
      query: "SELECT * FROM bikes WHERE trips = :n", arguments: ["n": counter])
    #expect(found.items.count == 1)
    counter.increment()
    let error = await #expect(throws: DunlinError.self) {
      try await tablet.store.execute(query: "SELECT * FROM bikes WHERE trips = :n", arguments: ["n": counter])
    }
    #expect(error?.code == .unsupportedValue)
  }
}
