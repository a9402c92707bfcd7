import DunlinKit
import DunlinTesting
import Foundation
import TestKit
import Testing

/// The code of `Documentation/Modelling.md`.
@Suite(.timeLimit(.minutes(15))) struct ModellingPageTests {
  private let database: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws { database = try TestDatabase("seat") }

  @Test func `ids are made, taken from the data, and composed`() async throws {
    let orders = dunlin.store["orders"]
    let made = try await orders.upsert(["seat": "12A"])
    try await orders.upsert(["_id": "UA1545-12A", "seat": "12A"])
    try await orders.upsert(["_id": ["flight": "UA1545", "seat": "14C"], "meal": "soup"])
    let ofFlight = try orders.find("_id.flight == 'UA1545'").exec()

    #expect(made.string != nil)
    #expect(ofFlight.map { $0["meal"].string } == ["soup"])
    let id = try DunlinDocumentID(value: ["seat": "14C", "flight": "UA1545"])
    #expect(ofFlight.first?.id == id)

    struct Passenger: Codable, Identifiable, Sendable {
      var id: String
      var name: String

      enum CodingKeys: String, CodingKey {
        case id = "_id"
        case name
      }
    }

    let passengers = dunlin.store["passengers"]
    for name in ["Ann", "Anna"] { try await passengers.upsert(Passenger(id: "p1", name: name)) }
    #expect(try passengers.findAll().exec(as: Passenger.self).map(\.name) == ["Anna"])
    #expect(try passengers.findByID("p1").exec()?.id.string == "p1")
  }

  @Test func `entries of a map that two devices add both stay, and those of an array do not`() async throws {
    let other = try TestDatabase("galley")
    let (seat, galley) = (database.dunlin, other.dunlin)

    // On one device:
    try await seat.store["orders"].upsert(["_id": "o1", "items": ["i1": ["meal": "pasta"]]])
    // On another device, at the same time:
    try await galley.store["orders"].upsert(["_id": "o1", "items": ["i2": ["meal": "tea"]]])

    for peer in [seat, galley] {
      try await peer.store["lists"].upsert(["_id": "l1", "items": [peer === seat ? "pasta" : "tea"]])
    }
    let subscriptions = try [seat, galley].flatMap { peer in
      try ["orders", "lists"].map { try peer.sync.registerSubscription(query: "SELECT * FROM \($0)") }
    }
    try database.connect(to: other)
    for peer in [seat, galley] {
      for await change in try peer.store.changes(of: "SELECT * FROM orders")
      where change.items.first?["items"].dictionaryValue.count == 2 { break }
      let remote = try #require(peer.presence.graph.remotePeers.first)
      try await peer.sync.waitUntilInSync(with: remote, timeout: .seconds(300))
      let list = try peer.store["lists"].findByID("l1").exec()
      expectEqual(list?["items"].arrayValue.count, 1)
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `counters, references and money`() async throws {
    let orders = dunlin.store["orders"]

    try await orders.upsert(["_id": "o1", "servings": DunlinCounter()])
    await orders.findByID("o1").update { order in order?["servings"].counter?.increment(by: 1) }

    #expect(try orders.findByID("o1").exec()?["servings"].counter?.value == 1)

    try await dunlin.store.write { transaction in
      try transaction["flights"].upsert(["_id": "f1", "number": "UA1545"])
      try transaction["orders"].upsert(["_id": "o7", "flight": "f1", "meal": "pasta"])
    }
    let rows = try await dunlin.store.execute(
      query: "SELECT o.meal, f.number FROM orders o JOIN flights f ON f._id = o.flight")

    #expect(rows.items.map { $0.jsonString() } == [#"{"meal":"pasta","number":"UA1545"}"#])

    try await orders.upsert(["_id": "o1", "priceCents": 1250, "currency": "EUR"])

    try await orders.upsert(["_id": "o2", "price": Decimal(string: "12.50")])
    let order = try orders.findByID("o2").exec()
    #expect(order?["price"].string == "12.5" && order?["price"].decimal == Decimal(string: "12.5"))
  }

  @Test func `types of an application`() async throws {
    let orders = dunlin.store["orders"]

    enum Status: String, Codable { case open, cooking, served }

    struct Order: Codable, Sendable {
      var _id: String
      var seat: String
      var status: Status
      var createdAt: Date
      var items: [String: Item]
      var note: String?
    }

    struct Item: Codable, Sendable {
      var meal: String
      var count: Int
    }

    let order = Order(
      _id: "o2", seat: "12A", status: .open, createdAt: Date(), items: ["i1": Item(meal: "pasta", count: 1)])
    try await orders.upsert(order)
    let open = try orders.find("status == $args.status", args: ["status": Status.open]).exec(as: Order.self)

    #expect(open.map(\.items["i1"]?.meal) == ["pasta"])
    let stored = try orders.findByID("o2").exec()
    #expect(stored?["createdAt"].date != nil && stored?["note"].exists == false)
    let error = await #expect(throws: DunlinError.self) {
      try await orders.upsert(["_id": "o3", "bad": ["value": Order.self as Any]])
    }
    #expect(error?.code == .unsupportedValue && error?.context["path"] == "bad.value")
  }

  @Test func `an enumeration keeps a case that it does not know`() async throws {
    enum Stage: RawRepresentable, Codable, Hashable, Sendable {
      case open, cooking, served
      case unknown(String)

      init(rawValue: String) {
        switch rawValue {
        case "open": self = .open
        case "cooking": self = .cooking
        case "served": self = .served
        default: self = .unknown(rawValue)
        }
      }

      var rawValue: String {
        switch self {
        case .open: "open"
        case .cooking: "cooking"
        case .served: "served"
        case .unknown(let text): text
        }
      }
    }

    struct Order: Codable, Sendable {
      var _id: String
      var stage: Stage
      var seat: String?
    }

    let orders = dunlin.store["orders"]
    try await orders.upsert(["_id": "o1", "stage": "refunded"])
    var order = try #require(try orders.findByID("o1").exec(as: Order.self))
    #expect(order.stage == .unknown("refunded"))
    order.seat = "12A"
    try await orders.save(order)
    let stored = try orders.findByID("o1").exec()
    #expect(stored?.jsonString() == #"{"_id":"o1","seat":"12A","stage":"refunded"}"#)
    try await orders.upsert(["_id": "o1", "stage": Stage.cooking])
    #expect(try orders.find("stage == $args.s", args: ["s": Stage.cooking]).count() == 1)
  }

  @Test func `documents of several versions of an application`() async throws {
    let orders = dunlin.store["orders"]

    struct OrderV2: Codable, Sendable {
      var _id: String
      var seat: String
      var allergies: [String]?
    }

    func row(of order: DunlinDocument) -> Int? {
      switch order["schemaVersion"].intValue {
      case ..<2: Int(order["seat"].stringValue.prefix { $0.isNumber })
      default: order["row"].int
      }
    }

    try await orders.upsert(["_id": "o1", "seat": "12A"])
    try await orders.upsert(["_id": "o2", "seat": "14C", "row": 14, "schemaVersion": 2] as [String: Any?])
    let found = try orders.findAll().sort("_id").exec()
    #expect(found.map(row) == [12, 14])
    #expect(try found.decoded(as: OrderV2.self).map(\.allergies) == [nil, nil])

    var moved = 0
    repeat {
      moved = try await dunlin.store.commit { transaction in
        let old = transaction["orders"].find("schemaVersion != 2").limit(1_000)
        return old.update { orders in
          for order in orders {
            order["row"].set(Int(order["seat"].stringValue.prefix { $0.isNumber }))
            order["schemaVersion"].set(2)
          }
        }.count
      }.value
    } while moved > 0

    #expect(try orders.find("schemaVersion == 2").sort("_id").exec().map { $0["row"].int } == [12, 14])

    let dunlin = dunlin
    try dunlin.startSync()

    let guardian = try dunlin.store.registerObserver(
      query: "SELECT * FROM settings WHERE minimumVersion > :version", arguments: ["version": 1]
    ) { result in
      if !result.items.isEmpty { dunlin.stopSync() }
    }

    let told = Events<Bool>()
    let observer = try dunlin.store.registerObserver(query: "SELECT * FROM settings") { result in
      if result.items.count == 2 { told.send(dunlin.isSyncActive) }
    }
    // The handlers of the first write are over when one of the second runs.
    for id in ["s1", "s2"] {
      try await dunlin.store["settings"].upsert(["_id": id, "minimumVersion": 2] as [String: Any?])
    }
    #expect(await told.next(1) == [false])
    for handle in [guardian, observer] { handle.cancel() }
  }
}
