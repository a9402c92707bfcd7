import DunlinKit
import Foundation

/// Meal orders on an aircraft: three tablets, no server, and no network until the crew meets.
///
/// Two attendants take orders, each on their own tablet. The third tablet is in the galley. Both of the
/// others connect to it, so orders reach one attendant from the other through the galley. Run it with the
/// name of a directory to keep the databases: `swift run meal-orders /tmp/flight`.
@main
struct MealOrders {
  /// What a passenger wants to eat.
  ///
  /// `served` counts portions, so two attendants who serve at the same time add up.
  struct Order: Codable, Sendable {
    var _id: String
    var flight = "DL101"
    var seat: String
    var meal: String
    var status = "open"
    var served = DunlinCounter()
  }

  static func main() async throws {
    let directory =
      CommandLine.arguments.dropFirst().first ?? NSTemporaryDirectory() + "/meal-orders-\(UUID())"
    defer { if CommandLine.arguments.count < 2 { try? FileManager.default.removeItem(atPath: directory) } }
    let galley = try Tablet("galley", in: directory)
    let forward = try Tablet("forward", in: directory)
    let aft = try Tablet("aft", in: directory)

    // Before they meet, everybody writes for themselves.
    try await galley.dunlin.store["stock"].upsert(["_id": "pasta", "left": DunlinCounter(), "loaded": 40])
    try await forward.orders.upsert(Order(_id: "12A", seat: "12A", meal: "pasta"))
    try await forward.orders.upsert(Order(_id: "14C", seat: "14C", meal: "fish"))
    try await aft.orders.upsert(Order(_id: "30F", seat: "30F", meal: "pasta"))
    print(
      "apart:    forward has \(try forward.count) orders, aft \(try aft.count), galley \(try galley.count)")

    // The galley listens, and the tablets connect to it. Tablets on one network may find each other instead:
    // `try dunlin.updateTransportConfig { $0.peerToPeer.lan.isEnabled = true }`.
    try galley.dunlin.listen(host: "127.0.0.1", port: 0)
    try galley.dunlin.startSync()
    for tablet in [forward, aft] {
      tablet.dunlin.connect(host: "127.0.0.1", port: galley.dunlin.listeningPorts[0])
      try tablet.dunlin.startSync()
    }
    for tablet in [galley, forward, aft] { try await tablet.wait { try $0.findAll().count() == 3 } }
    print("together: each of the three has \(try aft.count) orders")

    // The galley cooks: the order's state and the stock change together, at every tablet.
    for order in try galley.orders.find("meal == 'pasta'").exec(as: Order.self) {
      await galley.dunlin.store.write { transaction in
        transaction["orders"].findByID(order._id).update { $0?["status"].set("cooking") }
        transaction["stock"].findByID("pasta").update { $0?["left"].counter?.increment(by: -1) }
      }
    }
    try await aft.wait { try $0.find("status == 'cooking'").count() == 2 }
    print(
      "cooking:  aft sees \(try aft.orders.find("status == 'cooking'").count()) pasta orders on their way")

    // Two attendants change one order at the same time: both changes are kept.
    async let changed: Void = forward.update("14C") { $0["meal"].set("curry") }
    async let noted: Void = aft.update("14C") { $0["wish"].set("no salt") }
    _ = try await (changed, noted)
    try await galley.wait { try $0.find("meal == 'curry' && wish == 'no salt'").count() == 1 }
    print("merged:   14C is \(try galley.orders.findByID("14C").exec()?.jsonString() ?? "gone")")

    // What is served leaves the attendants' tablets. The galley keeps it until the flight is over.
    for id in ["12A", "30F"] {
      try await aft.update(id) { order in
        order["served"].counter?.increment(by: 1)
        order["status"].set("served")
      }
    }
    for tablet in [forward, aft] { try await tablet.wait { try $0.findAll().count() == 1 } }
    print(
      "served:   the attendants have \(try forward.count) order left, the galley has all \(try galley.count)")

    for tablet in [forward, aft, galley] { try tablet.close() }
  }
}

/// A tablet with its database.
struct Tablet {
  struct OrderIsGone: Error {}

  let dunlin: Dunlin
  private let subscriptions: [DunlinSubscription]

  var orders: DunlinCollection { dunlin.store["orders"] }
  var count: Int { get throws { try orders.findAll().count() } }

  /// Opens the database, and subscribes to the documents that the tablet needs.
  ///
  /// The galley wants all orders of the flight, the others those that are not served yet.
  init(_ name: String, in directory: String) throws {
    // A product uses `.sharedKey` or certificates: see Documentation/Security.md.
    dunlin = try Dunlin(
      path: "\(directory)/\(name)", identity: .unsafeDevelopment(appID: "meals"),
      configuration: DunlinConfiguration(peerName: name))
    let orders = dunlin.store["orders"]
    subscriptions = [
      name == "galley"
        ? orders.find("flight == 'DL101'").subscribe()
        : orders.find("flight == 'DL101' && status != 'served'").subscribe(onLeave: .evict),
      dunlin.store["stock"].findAll().subscribe(),
    ]
  }

  /// Changes one order.
  func update(_ id: String, _ body: @escaping @Sendable (DunlinMutableDocument) -> Void) async throws {
    try await orders.findByID(id).update { order in
      guard let order else { throw OrderIsGone() }
      body(order)
    }
  }

  /// Waits until the tablet holds what is waited for; a view would observe the query instead.
  func wait(until isHere: (DunlinCollection) throws -> Bool) async throws {
    for try await _ in try dunlin.store.changes(of: "SELECT * FROM orders") where try isHere(orders) {
      return
    }
  }

  func close() throws {
    for subscription in subscriptions { subscription.cancel() }
    try dunlin.close()
  }
}
