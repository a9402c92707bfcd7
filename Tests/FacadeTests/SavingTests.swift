import DunlinKit
import Foundation
import TestKit
import Testing

/// Saving a whole document: what is stored equals it, and only what differs is written.
@Suite(.timeLimit(.minutes(15))) struct SavingTests {
  struct Order: Codable, Equatable {
    struct Line: Codable, Equatable {
      var meal: String
      var count: Int
    }
    var _id: String
    var seat: String
    var note: String?
    var price: Double = 0
    var lines: [Line] = []
    var extras: [String: Bool] = [:]
    var served = DunlinCounter()
    var views = 0
  }

  let peer: Peer
  var orders: DunlinCollection { peer.store["orders"] }
  let order = Order(
    _id: "o1", seat: "12A", note: "no salt", price: 5, lines: [.init(meal: "soup", count: 1)],
    extras: ["wine": true, "water": false])

  init() throws { peer = try Peer() }

  private func stored(_ id: DunlinDocumentID = "o1") throws -> Order? {
    try orders.findByID(id).exec(as: Order.self)
  }

  private struct Ticket: Codable, Identifiable {
    var id: String
    var seat: String
  }

  private struct NamedTicket: Codable, Identifiable {
    var id: String
    enum CodingKeys: String, CodingKey { case id = "_id" }
  }

  @Test func `a type with id and without _id gets a hint, in the log once and in each result`() async throws {
    let ticket = Ticket(id: "t1", seat: "12A")
    let hint = """
      Ticket is Identifiable by its field id and has no field _id, so each write of one makes a new document: \
      name the field _id, for example with CodingKeys
      """
    #expect(try await orders.save(ticket).hints == [hint])
    #expect(try await orders.save(ticket).hints == [hint])
    let first = try await orders.upsert(ticket)
    #expect(try await orders.upsert(ticket) != first)
    try await peer.store.write { try $0["orders"].upsert(ticket) }
    #expect(peer.log.lines(with: "Ticket is Identifiable").count == 1)
    try await orders.upsert(["id": "t1"])
    #expect(try await orders.save(NamedTicket(id: "t1")).hints.isEmpty)
    #expect(try await orders.upsert(NamedTicket(id: "t1")) == "t1")
    #expect(try await orders.save(order).hints.isEmpty)
    #expect(peer.log.lines(with: "is Identifiable").count == 1)
  }

  @Test func `an array is upserted as several documents in one transaction, or not at all`() async throws {
    var second = order
    second._id = "o2"
    #expect(try await orders.upsert([order, second]) == ["o1", "o2"])
    #expect(try peer.store.statistics().sequence == 1)
    #expect(try stored("o2") == second)
    let ids = try await orders.upsert([["_id": "o3", "seat": "1A"], ["_id": "o4", "seat": nil]])
    #expect(ids == ["o3", "o4"])
    #expect(try await orders.upsert([Order]()).isEmpty)
    #expect(try peer.store.statistics().sequence == 2)
    let error = await #expect(throws: DunlinError.self) {
      try await orders.upsert([["_id": "o5"], ["_id": 1.5]])
    }
    #expect(error?.code == .invalidDocumentID && error?.context["row"] == "1")
    let bad = await #expect(throws: DunlinError.self) {
      try await orders.upsert([["_id": "o5"], ["_id": "o6", "bad": Order.self as Any]])
    }
    #expect(bad?.code == .unsupportedValue && bad?.context["row"] == "1" && bad?.context["path"] == "bad")
    #expect(try orders.findByID("o5").exec() == nil)
    try await peer.store.transaction { [order] tx in
      _ = try await tx["orders"].upsert([order, second])
      _ = try await tx["orders"].upsert([["_id": "o6"]])
    }
    try upsertBlocking()
    #expect(try orders.findAll().count() == 6)
    let set = await #expect(throws: DunlinError.self) { try await orders.upsert(Set(["o1"])) }
    #expect(set?.message.hasSuffix("does not encode as: upsert takes several documents as an Array") == true)
  }

  private func upsertBlocking() throws {
    #expect(try orders.upsert([order]) == ["o1"])
    #expect(try orders.upsert([["_id": "o1", "seat": "2A"]]) == ["o1"])
    let ids = try peer.store.write { tx in
      try tx["orders"].upsert([order]) + tx["orders"].upsert([["_id": "o7"]])
    }
    #expect(ids == ["o1", "o7"])
  }

  @Test func `a new document is written whole, and the same again is not`() throws {
    let first = try orders.save(order)
    #expect(first.isNew && first.id == "o1" && first.commitID == 1)
    #expect(first.changes.map(\.path) == ["extras", "lines", "note", "price", "seat", "served", "views"])
    #expect(try stored() == order)
    let second = try orders.save(order)
    #expect(second.isEmpty && !second.isNew && second.commitID == nil)
    #expect(try peer.store.statistics().sequence == 1)
  }

  @Test func `what is gone is removed, and only what differs is written`() throws {
    try orders.save(order)
    var edited = order
    edited.note = nil
    edited.extras = ["wine": true, "bread": true]
    edited.lines.append(.init(meal: "tea", count: 2))
    let result = try orders.save(edited)
    #expect(
      result.changes == [
        .set(docID: "o1", path: "extras.bread"), .removed(docID: "o1", path: "extras.water"),
        .set(docID: "o1", path: "lines"), .removed(docID: "o1", path: "note"),
      ])
    #expect(try stored() == edited)
    #expect(try orders.findByID("o1").exec()?["note"].exists == false)
    edited.extras = [:]
    try orders.save(edited)
    #expect(try stored() == edited)
    #expect(try orders.save(edited).isEmpty)
  }

  @Test func `an upsert merges where a save replaces`() throws {
    try orders.upsert(["_id": "o1", "a": 1, "m": ["x": 1, "y": 2]])
    try orders.upsert(["_id": "o1", "m": ["x": 3]])
    #expect(try orders.findByID("o1").exec()?.jsonString() == #"{"_id":"o1","a":1,"m":{"x":3,"y":2}}"#)
    try orders.save(["_id": "o1", "m": ["x": 3]])
    #expect(try orders.findByID("o1").exec()?.jsonString() == #"{"_id":"o1","m":{"x":3}}"#)
  }

  @Test func `a counter that was read adds what it has counted since`() throws {
    try orders.save(order)
    var read = try #require(try stored())
    orders.findByID("o1").update { $0?["served"].counter?.increment(by: 10) }
    read.served.increment(by: 2)
    #expect(try orders.save(read).changes == [.incremented(docID: "o1", path: "served", amount: 2)])
    #expect(try stored()?.served.value == 12)
  }

  @Test func `a value that is saved and read again can be saved on and on`() throws {
    var kept = order
    try orders.save(&kept)
    for round in 1...3 {
      kept.served.increment()
      kept.seat = "\(round)B"
      try orders.save(&kept)
      try expect(orders.save(&kept).isEmpty)
      expectEqual(kept.served.value, round)
    }
    // What others have written meanwhile is in it.
    orders.findByID("o1").update { $0?["served"].counter?.increment(by: 5) }
    kept.served.increment()
    try orders.save(&kept)
    #expect(kept.served.value == 9)
    #expect(try stored() == kept)
  }

  @Test func `a number over a counter counts the difference`() throws {
    try orders.save(order)
    orders.findByID("o1").update { order in
      order?["views"].replaceWithCounter()
      order?["views"].counter?.increment(by: 4)
    }
    var read = try #require(try stored())
    #expect(try orders.save(read).isEmpty)
    read.views += 3
    #expect(try orders.save(read).changes == [.incremented(docID: "o1", path: "views", amount: 3)])
    #expect(try orders.findByID("o1").exec()?["views"].counter?.value == 7)
    let error = #expect(throws: DunlinError.self) { try orders.save(["_id": "o1", "views": 1.5]) }
    #expect(error?.code == .isACounter && error?.context["path"] == "views")
    #expect(error?.context["collection"] == "orders")
    #expect(try stored()?.views == 7)
  }

  @Test func `a counter in the place of something else`() throws {
    try orders.upsert(["_id": "o1", "a": 5, "b": "text", "c": ["d": 1]])
    let wanted: [String: Any?] = [
      "_id": "o1", "a": DunlinCounter(7), "b": DunlinCounter(1), "c": ["d": DunlinCounter(2)],
      "e": ["f": DunlinCounter(3), "g": [:] as [String: Any?]],
    ]
    try orders.save(wanted)
    let read = try #require(try orders.findByID("o1").exec())
    #expect(read.jsonString() == #"{"_id":"o1","a":7,"b":1,"c":{"d":2},"e":{"f":3,"g":{}}}"#)
    for path in [read["a"], read["b"], read["c"]["d"], read["e"]["f"]] { expect(path.counter != nil) }
    #expect(try orders.save(wanted).isEmpty)
    // And back again.
    try orders.save(["_id": "o1", "a": "none", "c": 1])
    #expect(try orders.findByID("o1").exec()?.jsonString() == #"{"_id":"o1","a":"none","c":1}"#)
  }

  @Test func `what a type reads and writes back as it is, is not written`() throws {
    // A null, a whole number for a double, and one for a counter.
    try orders.upsert([
      "_id": "o1", "seat": "1A", "note": nil, "price": 5, "lines": [] as [Any?],
      "extras": [:] as [String: Any?],
      "served": DunlinCounter(3), "views": 1,
    ])
    let read = try #require(try stored())
    #expect(try orders.save(read).isEmpty)
  }

  @Test func `a second spelling of a key stays`() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    let spellings: [TextKey: Any?] = [TextKey(composed): 1, TextKey(decomposed): 2]
    try orders.upsert(["_id": "o1", "a": 1, "m": spellings])
    try orders.save(["_id": "o1", "a": 2, "m": [composed: 1]])
    #expect(
      try orders.findByID("o1").exec()?.jsonString()
        == #"{"_id":"o1","a":2,"m":{"\#(decomposed)":2,"\#(composed)":1}}"#)
  }

  @Test func `with what it was, only what its author changed is written`() throws {
    try orders.save(order)
    let read = try #require(try stored())
    // Others write meanwhile: another field, the same field, a field that the type does not know, an extra, a
    // counter.
    try orders.upsert(["_id": "o1", "note": "spicy", "crew": "Ines", "extras": ["bread": true], "price": 9])
    orders.findByID("o1").update { $0?["served"].counter?.increment(by: 5) }
    var edited = read
    edited.price = 6
    edited.extras["water"] = nil
    edited.extras["tea"] = true
    edited.served.increment(by: 1)
    edited.views = 1
    let result = try orders.save(edited, from: read)
    #expect(Set(result.changes.map(\.path)) == ["price", "extras.water", "extras.tea", "served", "views"])
    let now = try #require(try orders.findByID("o1").exec())
    #expect(
      now.jsonString()
        == #"{"_id":"o1","crew":"Ines","extras":{"bread":true,"tea":true,"wine":true},"lines":[{"count":1,"meal":"soup"}],"#
        + #""note":"spicy","price":6.0,"seat":"12A","served":6,"views":1}"#)
    #expect(try orders.save(read, from: read).isEmpty)
    // Without it, all that differs from the value goes.
    try orders.save(read)
    #expect(try orders.findByID("o1").exec()?["crew"].exists == false)
  }

  @Test func `what was removed meanwhile is not made anew by half`() throws {
    try orders.save(order)
    var edited = order
    edited.seat = "1B"
    try orders.findByID("o1").remove()
    let error = #expect(throws: DunlinError.self) { try orders.save(edited, from: order) }
    #expect(error?.code == .notFound)
    #expect(try stored() == nil)
    var other = edited
    other._id = "o2"
    #expect(throws: DunlinError.self) { try orders.save(other, from: order) }
    // Without what it was, it is a new document.
    #expect(try orders.save(edited).isNew)
    #expect(try stored() == edited)
  }

  @Test func `a removed map is not brought back by an edit elsewhere`() throws {
    let original: [String: Any?] = ["_id": "o1", "m": ["x": 1, "y": 2], "k": 1]
    try orders.save(original)
    orders.findByID("o1").update { $0?["m"].remove() }
    try orders.save(["_id": "o1", "m": ["x": 1, "y": 2], "k": 2], from: original)
    #expect(try orders.findByID("o1").exec()?.jsonString() == #"{"_id":"o1","k":2}"#)
    try orders.save(["_id": "o1", "m": ["x": 1, "y": 3], "k": 2], from: original)
    #expect(try orders.findByID("o1").exec()?.jsonString() == #"{"_id":"o1","k":2,"m":{"y":3}}"#)
  }

  @Test func `it works in transactions and awaited`() async throws {
    try await orders.save(order)
    let sync = try peer.store.blocking { store in
      try store.commit { tx in
        var edited = order
        edited.seat = "2C"
        let saved = try tx["orders"].save(edited)
        #expect(saved.commitID == nil && saved.changes.count == 1)
        #expect(try tx["orders"].save(edited, from: order).isEmpty)
        return try tx["orders"].findByID("o1").exec(as: Order.self)?.seat
      }
    }
    #expect(sync.value == "2C" && sync.id == 2)
    try await peer.store.transaction { tx in
      var edited = order
      edited.seat = "3D"
      try await tx["orders"].save(&edited)
      try await tx["orders"].save(["_id": "o2"])
    }
    #expect(try stored()?.seat == "3D")
    let error = await #expect(throws: DunlinError.self) {
      try await peer.store.write { tx in
        try tx["orders"].findByID("o1").remove()
        try tx["orders"].save(order)
      }
    }
    #expect(error?.code == .removedInTransaction)
  }

  @Test func `what another peer writes elsewhere in the document survives a save`() async throws {
    let other = try Peer("phone")
    let subscriptions = [peer, other].map { $0.store["orders"].findAll().subscribe() }
    try await orders.save(order)
    try other.connect(to: peer)
    try await other.wait(for: "orders") { $0.count == 1 }
    other.dunlin.stopSync()
    var edited = try #require(try stored())
    edited.seat = "7F"
    edited.served.increment(by: 2)
    try await orders.save(edited)
    await other.store["orders"].findByID("o1").update { order in
      order?["note"] = "spicy"
      order?["extras"]["tea"] = true
      order?["served"].counter?.increment(by: 3)
    }
    try other.dunlin.startSync()
    for each in [peer, other] {
      try await each.wait(for: "orders") {
        $0.first?["served"].int == 5 && $0.first?["note"].string == "spicy"
      }
      let merged = try #require(try each.store["orders"].findByID("o1").exec(as: Order.self))
      expect(merged.seat == "7F" && merged.extras["tea"] == true)
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  // MARK: - The laws

  @Test(arguments: 0..<6) func `any document equals what is saved over it`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<40 {
      let wanted = Self.document(&random)
      let before = try orders.findByID("d").exec()
      let result = try orders.save(wanted)
      let after = try #require(try orders.findByID("d").exec())
      expectEqual(text(after.value), text(wanted))
      expectEqual(result.isEmpty, before == after)
      expectEqual(result.commitID == nil, result.isEmpty)
      try expect(orders.save(wanted).isEmpty)
    }
  }

  @Test(arguments: 0..<6) func `what only others have changed stays`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<25 {
      // Three authors, each with fields of their own.
      let (mine, others) = (Self.map(2, &random), Self.map(2, &random))
      let original: [String: Any?] = ["_id": "d", "mine": mine, "others": others]
      try orders.save(original)
      let (mineNew, othersNew) = (Self.map(2, &random), Self.map(2, &random))
      try orders.save(["_id": "d", "mine": mine, "others": othersNew, "third": 1])
      try orders.save(["_id": "d", "mine": mineNew, "others": others], from: original)
      let expected: [String: Any?] = ["_id": "d", "mine": mineNew, "others": othersNew, "third": 1]
      let after = try #require(try orders.findByID("d").exec())
      expectEqual(text(after.value), text(expected))
    }
  }

  private static func document(_ random: inout SeededGenerator) -> [String: Any?] {
    var document = map(3, &random)
    document["_id"] = "d"
    return document
  }

  private static func map(_ depth: Int, _ random: inout SeededGenerator) -> [String: Any?] {
    var map: [String: Any?] = [:]
    for _ in 0..<random.int(below: 5) {
      let value = value(depth - 1, &random)
      // A fraction cannot take the place of a counter: each has keys where the other is not.
      let key = value is DunlinCounter || (!(value is Double) && random.oneIn(2)) ? "c" : "k"
      map["\(key)\(random.int(below: 4))"] = .some(value)
    }
    return map
  }

  private static func value(_ depth: Int, _ random: inout SeededGenerator) -> Any? {
    switch random.int(below: depth > 0 ? 9 : 6) {
    case 0: nil
    case 1: random.oneIn(2)
    case 2: random.int(below: 4)
    case 3: Double(random.int(below: 4)) + 0.5
    case 4: "t\(random.int(below: 3))"
    case 5: DunlinCounter(random.int(below: 4))
    case 6: [random.int(below: 2), ["a": random.int(below: 2)]] as [Any?]
    default: map(depth, &random)
    }
  }
}

/// A value as it is read, as text: counters are their sums.
private func text(_ value: Any?) -> String {
  guard let value else { return "null" }
  switch value {
  case let counter as DunlinCounter: return "\(counter.value)"
  case let map as [String: Any?]:
    return "{" + map.sorted { $0.key < $1.key }.map { "\($0.key):\(text($0.value))" }.joined(separator: ",")
      + "}"
  case let array as [Any?]: return "[" + array.map { text($0) }.joined(separator: ",") + "]"
  default: return "\(value)"
  }
}
