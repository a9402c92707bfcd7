import DunlinKit
import DunlinTesting
import Foundation
import TestKit
import Testing

/// The code of the page on conflicts and deletes, and what it says of them.
@Suite(.timeLimit(.minutes(15))) struct ConflictsPageTests {
  private struct Order: Codable, Equatable, Sendable {
    let _id: String
    var seat: String
    var meal: String
  }
  private struct OrderIsGone: Error {}

  let devices: TwoDevices
  var tablet: DunlinStore { devices.first.dunlin.store }
  var phone: DunlinStore { devices.second.dunlin.store }

  init() throws { devices = try TwoDevices() }

  /// The order on both devices, which must show the same.
  private func order(_ id: String = "o1") throws -> DunlinDocument? {
    let (here, there) = (try tablet["orders"].findByID(id).exec(), try phone["orders"].findByID(id).exec())
    #expect(here?.jsonString() == there?.jsonString())
    return here
  }

  private func insert() async throws {
    try await tablet["orders"].upsert([
      "_id": "o1", "seat": "12A", "meal": "pasta", "served": DunlinCounter(),
    ])
    try await devices.meet()
  }

  @Test func `different fields, keys and increments are all kept`() async throws {
    try await insert()
    await tablet["orders"].findByID("o1").update { $0?["meal"].set("fish") }
    await phone["orders"].findByID("o1").update { $0?["seat"].set("14C") }
    try await devices.meet()
    #expect(try order()?["meal"].string == "fish")
    #expect(try order()?["seat"].string == "14C")

    await tablet["orders"].findByID("o1").update { $0?["extras"]["water"].set(1) }
    await phone["orders"].findByID("o1").update { $0?["extras"]["bread"].set(2) }
    try await devices.meet()
    #expect(try order()?["extras"]["water"].int == 1)
    #expect(try order()?["extras"]["bread"].int == 2)

    await tablet["orders"].findByID("o1").update { $0?["served"].counter?.increment(by: 2) }
    await phone["orders"].findByID("o1").update { $0?["served"].counter?.increment(by: 1) }
    try await devices.meet()
    #expect(try order()?["served"].counter?.value == 3)
    devices.end()
  }

  @Test func `the later write wins a field, and an array whole`() async throws {
    try await insert()
    await tablet["orders"].findByID("o1").update { $0?["meal"].set("salad") }
    await phone["orders"].findByID("o1").update { $0?["meal"].set("soup") }  // a moment later
    await phone["orders"].findByID("o1").update { $0?["wishes"].set(["no salt"]) }
    await tablet["orders"].findByID("o1").update { $0?["wishes"].set(["more salt", "pepper"]) }
    try await devices.meet()
    #expect(try order()?["meal"].string == "soup")
    #expect(try order()?["wishes"].array?.count == 2)
    devices.end()
  }

  @Test func `two new documents under one id become one`() async throws {
    try await tablet["orders"].upsert(["_id": "o9", "seat": "1A", "meal": "fish"])
    try await phone["orders"].upsert(["_id": "o9", "seat": "1C", "drink": "tea"])
    try await devices.meet()
    #expect(try order("o9")?["seat"].string == "1C")
    #expect(try order("o9")?["meal"].string == "fish")
    #expect(try order("o9")?["drink"].string == "tea")
    devices.end()
  }

  @Test func `a form writes what its user has changed`() async throws {
    try await insert()
    guard let original = try phone["orders"].findByID("o1").exec(as: Order.self) else { throw OrderIsGone() }
    var edited = original
    edited.seat = "15D"
    // This arrives while the form is open:
    await phone["orders"].findByID("o1").update { $0?["meal"].set("curry") }
    try await phone["orders"].save(edited, from: original)
    #expect(try phone["orders"].findByID("o1").exec()?["seat"].string == "15D")
    #expect(try phone["orders"].findByID("o1").exec()?["meal"].string == "curry")
    try await phone["orders"].save(edited)
    #expect(try phone["orders"].findByID("o1").exec()?["meal"].string == "pasta")
    devices.end()
  }

  @Test func `a delete beats updates, and what knows of it begins anew`() async throws {
    try await insert()
    try await tablet["orders"].findByID("o1").remove()
    // Later, and the order stays deleted all the same:
    await phone["orders"].findByID("o1").update { $0?["meal"].set("cake") }
    try await devices.meet()
    #expect(try order() == nil)
    let results = await phone["orders"].findByID("o1").update { #expect($0 == nil) }
    #expect(results.isEmpty)

    // The phone knows of the delete. So this is a new order, in which only the later edit (cake) is left:
    try await phone["orders"].upsert(["_id": "o1", "seat": "12A"])
    try await devices.meet()
    #expect(try order()?["seat"].string == "12A")
    #expect(try order()?["meal"].string == "cake")
    #expect(try order()?["served"].exists == false)
    devices.end()
  }

  @Test func `an upsert that did not know of the delete brings all of the document back`() async throws {
    try await insert()
    try await tablet["orders"].findByID("o1").remove()
    try await phone["orders"].upsert(["_id": "o1", "seat": "20F"])
    try await devices.meet()
    #expect(try order()?["seat"].string == "20F")
    #expect(try order()?["meal"].string == "pasta")
    devices.end()
  }

  @Test func `a field in place of a delete keeps late edits`() async throws {
    try await tablet["orders"].upsert(["_id": "o2", "meal": "rice", "isDeleted": false])
    try await devices.meet()
    await tablet["orders"].findByID("o2").update { $0?["isDeleted"].set(true) }
    let shown = try tablet["orders"].find("isDeleted == false").exec()
    #expect(shown.isEmpty)
    await phone["orders"].findByID("o2").update { $0?["meal"].set("beans") }
    try await devices.meet()
    await tablet["orders"].findByID("o2").update { $0?["isDeleted"].set(false) }
    try await devices.meet()
    #expect(try order("o2")?["meal"].string == "beans")
    devices.end()
  }

  @Test func `deletes are remembered for as long as the page says`() async throws {
    for kind in [DunlinPeerKind.small, .big] {
      let database = try TestDatabase(configuration: DunlinConfiguration(peerKind: kind))
      func hours(_ name: String) async throws -> Int? {
        try await database.dunlin.store.execute(query: "SHOW \(name)").items.first?[name].int
      }
      try await expectEqual(hours("tombstone_ttl_hours"), (kind == .small ? 7 : 30) * 24)
      try await expectEqual(hours("certificate_ttl_hours"), kind == .small ? 365 * 24 : 0)
    }
    devices.end()
  }
}
