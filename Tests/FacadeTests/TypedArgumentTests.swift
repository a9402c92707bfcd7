import DunlinKit
import Foundation
import TestKit
import Testing

/// An argument finds what was stored from the same value, in both languages.
@Suite(.timeLimit(.minutes(15))) struct TypedArgumentTests {
  enum Status: String, Codable { case open, served }
  /// It has raw values, and is not `Encodable`.
  enum Gate: Int { case first = 1, second }

  struct Price: Codable { var amount: Decimal }
  struct Wanted: Encodable { var limit: Decimal, all: [Decimal] }

  let peer: Peer
  var store: DunlinStore { peer.store }
  var items: DunlinCollection { peer.store["items"] }

  init() throws { peer = try Peer() }

  private func writePrices(to store: DunlinStore) async throws {
    for number in [9, 10, 100] {
      try await store["items"].upsert(["_id": number, "amount": Decimal(number), "plain": number])
    }
  }

  private func ids(_ query: String, _ arguments: [String: Any?]) async throws -> [Int] {
    try await store.execute(query: query, arguments: arguments).items.compactMap { $0["_id"].int }
  }

  private func found(
    _ predicate: String, _ arguments: [String: Any?], by path: String = "_id"
  ) throws -> [Int] {
    try items.find(predicate, args: arguments).sort(path).exec().compactMap { $0["_id"].int }
  }

  @Test func `a decimal compares as a number`() async throws {
    try await writePrices(to: store)
    let nine: [String: Any?] = ["limit": Decimal(9), "all": [Decimal(9), Decimal(100)]]
    #expect(try await ids("SELECT _id FROM items WHERE amount > :limit ORDER BY _id", nine) == [10, 100])
    #expect(try await ids("SELECT _id FROM items WHERE plain > :limit ORDER BY _id", nine) == [10, 100])
    #expect(try await ids("SELECT _id FROM items WHERE amount IN :all ORDER BY _id", nine) == [9, 100])
    #expect(try found("amount > $args.limit", nine) == [10, 100])
    #expect(try found("plain <= $args.limit", nine) == [9])
    #expect(try found("amount == $args.limit || plain == $args.limit", nine) == [9])
    #expect(try found("decimal(amount) > 9", [:]) == [10, 100])
    #expect(try found("true", [:], by: "decimal(amount)") == [9, 10, 100])
    let wanted = Wanted(limit: 10, all: [9])
    let either = "SELECT amount FROM items WHERE amount >= :limit OR amount IN :all"
    let typed = try await store.execute(query: either, arguments: wanted, as: Price.self)
    #expect(Set(typed.map(\.amount)) == [9, 10, 100])
  }

  @Test func `a live query and a write take a decimal`() async throws {
    try await writePrices(to: store)
    let changes = try store.changes(
      of: "SELECT * FROM items WHERE amount > :limit", arguments: ["limit": Decimal(9)])
    try await store.execute(
      query: "UPDATE items SET amount = :price WHERE amount = :ten",
      arguments: ["price": Decimal(string: "10.50"), "ten": Decimal(10)])
    for await diff in changes where diff.items.contains(where: { $0["amount"].string == "10.5" }) {
      expectEqual(diff.items.count, 2)
      break
    }
  }

  @Test func `a subscription and a remote query take a decimal`() async throws {
    let other = try Peer("other")
    try await writePrices(to: other.store)
    let limit: [String: Any?] = ["limit": Decimal(10)]
    let subscriptions = [
      try peer.dunlin.sync.registerSubscription(
        query: "SELECT * FROM items WHERE amount > :limit", arguments: limit),
      items.find("plain < $args.limit", args: limit).subscribe(),
    ]
    try peer.connect(to: other)
    try await peer.wait(for: "items") { $0.count == 2 }
    #expect(try await ids("SELECT _id FROM items ORDER BY _id", [:]) == [9, 100])
    for await graph in peer.dunlin.presence.graphs {
      guard let remote = graph.remotePeers.first else { continue }
      let query = "SELECT _id FROM items WHERE amount >= :limit ORDER BY _id"
      var rows: [Int?] = []
      for try await row in try peer.dunlin.sync.query(query, on: remote, arguments: limit) {
        rows.append(row["_id"].int)
      }
      expectEqual(rows, [10, 100])
      break
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `dates, data, addresses and enumerations find what was stored from them`() async throws {
    let day = Date(timeIntervalSince1970: 1_646_136_000)
    let data = Data([1, 2, 3])
    let page = try #require(URL(string: "https://example.com/a?b=c"))
    let id = UUID()
    let values: [String: Any?] = [
      "date": day, "data": data, "url": page, "status": Status.open, "gate": Gate.second, "uuid": id,
    ]
    try await items.upsert(values.merging(["_id": 1]) { one, _ in one })
    for name in values.keys.sorted() {
      let argument: [String: Any?] = ["x": values[name] ?? nil]
      try await expectEqual(ids("SELECT _id FROM items WHERE \(name) = :x", argument), [1], "\(name)")
      try expectEqual(found("\(name) == $args.x", argument), [1], "\(name)")
      try await expectEqual(ids("SELECT _id FROM items WHERE \(name) IN [:x]", argument), [1], "\(name)")
    }
    let other: [String: Any?] = ["x": Gate.first]
    #expect(try found("gate > $args.x", other) == [1])
  }

  @Test func `functions of dates answer in the form of what is stored`() async throws {
    let noon = Date(timeIntervalSince1970: 1_646_136_000)
    try await items.upsert(["_id": 1, "at": noon, "day": noon.addingTimeInterval(-43_200)])
    let conditions = [
      "date_trunc(at, 'day') = day", "at = date_add(day, 'hour', 12)", "day >= date_sub(at, 'hour', 12)",
      "at BETWEEN day AND date_add(day, 'hour', 12)", "at = date_format(\(1_646_136_000_000), '')",
      "date_cast(at) = date_cast('2022-03-01T13:00:00+01:00')", "at < clock('')",
    ]
    for condition in conditions {
      try await expectEqual(ids("SELECT _id FROM items WHERE \(condition)", [:]), [1], "\(condition)")
    }
  }
}
