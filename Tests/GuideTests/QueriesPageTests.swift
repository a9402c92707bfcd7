import DunlinKit
import DunlinTesting
import TestKit
import Testing

/// The code of `Documentation/Queries.md`.
@Suite(.timeLimit(.minutes(15))) struct QueriesPageTests {
  private let database: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws { database = try TestDatabase("tablet") }

  private func prepare() async throws {
    try await dunlin.store.execute(
      query: """
        INSERT INTO orders DOCUMENTS
          ({'_id': 'o1', 'seat': '12B', 'status': 'open', 'meal': 'tea', 'createdAt': '2', 'note': 'hot'}),
          ({'_id': 'o2', 'seat': '12A', 'status': 'open', 'meal': 'tea', 'createdAt': '3',
            'items': {'i1': {'count': 2}}}),
          ({'_id': 'o3', 'seat': '12C', 'status': 'served', 'meal': 'pasta', 'createdAt': '1'}),
          ({'_id': 'o4', 'seat': '12D'})
        """)
  }

  @Test func `documents are found, read and decoded`() async throws {
    try await prepare()

    let orders = dunlin.store["orders"]
    let open = try orders.find("status == 'open'").sort("seat").limit(10).exec()
    let first = try orders.find("status == 'open'").sort("createdAt").first()
    let count = try orders.find("status != 'open'").count()
    let one = try orders.findByID("o1").exec()

    #expect(open.map(\.id) == ["o2", "o1"])
    #expect(first?.id == "o1" && count == 2 && one?["note"].string == "hot")

    let seat = "12A"
    let mine = try orders.find("seat == $args.seat", args: ["seat": seat]).exec()

    #expect(mine.map(\.id) == ["o2"])
    #expect(mine.first?["items"]["i1"]["count"].int == 2)

    for order in open {
      print(order.id, order["seat"].stringValue, order["items"]["i1"]["count"].intValue)
      if let note = order["note"].string { print(note) }
    }

    struct Order: Codable, Sendable {
      var _id: String
      var seat: String
      var status: String
    }

    let typed = try orders.find("status == 'open'").exec(as: Order.self)
    let maybe = try orders.findByID("o1").exec(as: Order.self)

    #expect(typed.count == 2 && maybe?.seat == "12B")
    let error = #expect(throws: DunlinError.self) { try orders.findByID("o4").exec(as: Order.self) }
    #expect(error?.code == .decoding && error?.message.contains("the field status is missing") == true)
    try await orders.upsert(["_id": "o4", "status": 4])
    let other = #expect(throws: DunlinError.self) { try orders.findByID("o4").exec(as: Order.self) }
    #expect(other?.context["path"] == "status" && other?.context["type"] == "Order")

    let read = try orders.findAll().exec(as: Order.self, unfit: .leaveOut)
    for row in read.unfit { print(row.documentID ?? "no id", row.error) }

    #expect(read.items.count == 3 && read.unfit.map(\.documentID) == ["o4"])
  }

  @Test func `statements are run`() async throws {
    try await prepare()
    let orders = dunlin.store["orders"]
    struct Order: Codable, Sendable {
      var _id: String
      var seat: String
    }

    let result = try await dunlin.store.execute(
      query: "SELECT meal, COUNT(*) AS n FROM orders WHERE status = :status GROUP BY meal ORDER BY n DESC",
      arguments: ["status": "open"])
    for row in result.items { print(row["meal"].stringValue, row["n"].intValue) }

    #expect(result.items.map { $0.jsonString() } == [#"{"meal":"tea","n":2}"#])

    struct Wanted: Encodable { var status: String, seats: [String] }

    let wanted = try await dunlin.store.execute(
      query: "SELECT * FROM orders WHERE status = :status AND seat IN :seats",
      arguments: Wanted(status: "open", seats: ["12A", "12B"]), as: Order.self)

    #expect(Set(wanted.map(\._id)) == ["o1", "o2"])

    let others = try await dunlin.store.execute(query: "SELECT * FROM orders WHERE status != 'open'")
    let more = try orders.find("status != 'open'").exec()

    #expect(others.items.map(\.id) == ["o3"])
    #expect(Set(more.map(\.id)) == ["o3", "o4"])

    let update = try await dunlin.store.execute(
      query: "UPDATE orders SET status = 'served' WHERE seat = '12A'")
    print(update.mutatedDocumentIDs, update.commitID ?? 0)

    #expect(update.mutatedDocumentIDs == ["o2"] && update.commitID == 2)
    let none = try await dunlin.store.execute(query: "UPDATE orders SET status = 'x' WHERE saet = '12A'")
    #expect(none.commitID == nil && none.hints.count == 1)

    var seats: [String] = []
    for try await order in try dunlin.store.rows(of: "SELECT * FROM orders", as: Order.self) {
      print(order.seat)
    }
    for try await order in try dunlin.store.rows(of: "SELECT * FROM orders", as: Order.self) {
      seats.append(order.seat)
    }
    #expect(seats.sorted() == ["12A", "12B", "12C", "12D"])

    let bySeat = try dunlin.store.prepare(query: "SELECT * FROM orders WHERE seat = :seat")
    let aisle = try await bySeat.execute(arguments: ["seat": "12C"])
    let window = try await bySeat.execute(arguments: ["seat": "12A"])

    #expect((aisle.items + window.items).map(\.id) == ["o3", "o2"])

    try await dunlin.store.execute(
      query: "CREATE INDEX IF NOT EXISTS by_seat ON orders (seat, createdAt DESC)")
    let plan = try await dunlin.store.execute(
      query: "EXPLAIN SELECT * FROM orders WHERE seat = '12A'")
    let advice = try await dunlin.store.execute(
      query: "ADVISE SELECT * FROM orders WHERE meal = 'pasta'")

    #expect(plan.items.first?.jsonString().contains("by_seat") == true)
    #expect(advice.items.first?.jsonString().contains("CREATE INDEX") == true)
  }

  @Test func `another peer answers, where it is set so`() async throws {
    try await prepare()
    let galley = try TestDatabase(
      "galley", configuration: DunlinConfiguration(answersRemoteQueries: true))
    try galley.connect(to: database)
    let written = galley.dunlin.store["orders"]
    try await written.upsert(["_id": "o9", "status": "open", "seat": "30C"])
    for answering in [true, false] {
      let dunlin = answering ? dunlin : galley.dunlin
      for await graph in dunlin.presence.graphs where !graph.remotePeers.isEmpty { break }
      func ask() async throws {
        for peer in dunlin.presence.graph.remotePeers {
          let query = "SELECT * FROM orders WHERE status = :status"
          for try await row in try dunlin.sync.query(query, on: peer, arguments: ["status": "open"]) {
            print(peer.deviceName, row["seat"].stringValue)
          }
        }
      }
      if answering {
        try await ask()
        let peer = try #require(dunlin.presence.graph.remotePeers.first)
        var seats: [String] = []
        for try await row in try dunlin.sync.query("SELECT * FROM orders", on: peer) {
          seats.append(row["seat"].stringValue)
        }
        expectEqual(seats, ["30C"])
      } else {
        let error = await #expect(throws: DunlinError.self) { try await ask() }
        expectEqual(error?.code, .denied)
      }
    }
  }
}
