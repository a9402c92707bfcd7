import DunlinKit
import Foundation
import TestKit
import Testing

/// Types of an application go in and out whole.
@Suite struct CodableTests {
  enum Gear: String, Codable { case derailleur, hub }

  struct Frame: Codable, Equatable {
    var size: Int
    var weight: Float
  }

  struct Bike: Codable, Equatable {
    let _id: String
    var model: String
    var gear: Gear
    var frame: Frame
    var tags: [String]
    var repairs: [Frame?]
    var prices: [String: Double]
    var bought: Date
    var photo: Data
    var manual: URL
    var owner: String?
    var trips: DunlinCounter
    var serial: UInt32
    var isLent: Bool
  }

  let peer: Peer

  init() throws { peer = try Peer() }

  private let bike = Bike(
    _id: "b1", model: "Tourer", gear: .hub, frame: Frame(size: 54, weight: 2.5), tags: ["city", "fast"],
    repairs: [Frame(size: 1, weight: 2), nil], prices: ["new": 900, "used": 450.5],
    bought: Date(timeIntervalSince1970: 1_663_444_846.945), photo: Data([0, 255, 1]),
    manual: URL(fileURLWithPath: "/manual.pdf"), owner: nil, trips: DunlinCounter(3), serial: .max,
    isLent: true)

  @Test func `a type comes back as it went in`() throws {
    #expect(try peer.store["bikes"].upsert(bike) == "b1")
    let document = try #require(try peer.store["bikes"].findByID("b1").exec())
    #expect(try document.decoded(as: Bike.self) == bike)
    #expect(document["bought"].stringValue == "2022-09-17T20:00:46.945Z")
    #expect(document["photo"].data == Data([0, 255, 1]))
    #expect(document["trips"].counter?.value == 3)
    #expect(document["frame"]["size"].int == 54)
    #expect(!document["owner"].exists)
  }

  @Test func `a row of a result is decoded too`() async throws {
    try await peer.store["bikes"].upsert(bike)
    let result = try await peer.store.execute(query: "SELECT * FROM bikes")
    #expect(try result.items.map { try $0.decoded(as: Bike.self) } == [bike])
    struct Size: Codable, Equatable { var size: Int }
    let sizes = try await peer.store.execute(query: "SELECT frame.size AS size FROM bikes")
    #expect(try sizes.items.map { try $0.decoded(as: Size.self) } == [Size(size: 54)])
  }

  @Test func `a field that does not fit is named`() throws {
    struct Wheel: Codable { var rim: Rim }
    struct Rim: Codable { var spokes: Int }
    try peer.store["wheels"].upsert(["_id": "w1", "rim": ["spokes": "many"]])
    try peer.store["wheels"].upsert(["_id": "w2", "rim": [:] as [String: Any?]])
    for (id, path) in [("w1", "rim.spokes"), ("w2", "rim")] {
      let document = try #require(try peer.store["wheels"].findByID(id).exec())
      let error = try #require(throws: DunlinError.self, performing: { try document.decoded(as: Wheel.self) })
      expectEqual(error.code, .decoding)
      expectEqual(error.context["path"], path)
    }
    try peer.store["wheels"].upsert(["_id": "w3", "rim": ["spokes": 300]])
    struct Small: Codable { var rim: [String: Int8] }
    #expect(throws: DunlinError.self) {
      try peer.store["wheels"].findByID("w3").exec()?.decoded(as: Small.self)
    }
  }

  @Test func `only a map of fields is a document`() {
    #expect(throws: DunlinError.self) { try peer.store["bikes"].upsert([1, 2]) }
    #expect(throws: DunlinError.self) { try peer.store["bikes"].upsert(Gear.hub) }
    #expect(throws: DunlinError.self) { try peer.store["bikes"].upsert(["n": UInt64.max]) }
  }

  @Test func `classes that inherit keep both parts`() throws {
    class Vehicle: Codable {
      var wheels = 2
    }
    final class Tandem: Vehicle {
      var seats = 2
      enum CodingKeys: CodingKey { case seats }
      override init() { super.init() }
      required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        seats = try container.decode(Int.self, forKey: .seats)
        try super.init(from: container.superDecoder())
      }
      override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(seats, forKey: .seats)
        try super.encode(to: container.superEncoder())
      }
    }
    let tandem = Tandem()
    tandem.wheels = 3
    try peer.store.write { tx in try tx["bikes"].upsert(["_id": "t1"]) }
    let id = try peer.store.write { tx in try tx["bikes"].upsert(tandem) }
    let back = try #require(try peer.store["bikes"].findByID(id).exec()?.decoded(as: Tandem.self))
    #expect(back.wheels == 3 && back.seats == 2)
  }

  @Test func `whatever encodes itself stands in a dictionary`() throws {
    let key = try #require(UUID(uuidString: "0E984725-C51C-4BF4-9960-E1C80E27ABA0"))
    let manual = try #require(URL(string: "https://example.org/manual"))
    let owner: Frame? = nil
    let content: [String: Any?] = [
      "_id": key, "gear": Gear.hub, "manual": manual, "frame": Frame(size: 54, weight: 2.5),
      "frames": [Frame(size: 1, weight: 2)], "byGear": ["best": Gear.hub], "tags": Set(["fast"]),
      "owner": owner as Any, "bought": bike.bought, "trips": Trips(count: DunlinCounter(3)),
    ]
    let id = try peer.store["bikes"].upsert(content)
    #expect(id == DunlinDocumentID(stringLiteral: key.uuidString))
    let found = peer.store["bikes"].find("gear == $args.g", args: ["g": Gear.hub])
    let document = try #require(try found.first())
    #expect(document["gear"].stringValue == "hub" && document["byGear"]["best"].stringValue == "hub")
    #expect(document["manual"].stringValue == manual.absoluteString)
    #expect(document["frame"]["size"].int == 54 && document["frames"][0]["size"].int == 1)
    #expect(document["tags"][0].stringValue == "fast")
    #expect(document["owner"].exists && document["owner"].value == nil)
    #expect(document["trips"]["count"].counter?.value == 3)
  }

  struct Trips: Codable { var count: DunlinCounter }

  @Test func `a read counter in a nested structure writes back its own increments alone`() throws {
    try peer.store["bikes"].upsert(["_id": "b1", "trips": Trips(count: DunlinCounter(3))])
    struct Tour: Codable {
      let _id: String
      var trips: Trips
    }
    var tour = try #require(try peer.store["bikes"].findByID("b1").exec(as: Tour.self))
    tour.trips.count.increment(by: 2)
    peer.store["bikes"].findByID("b1").update { $0?["trips"]["count"].counter?.increment(by: 10) }
    try peer.store["bikes"].upsert(["_id": "b1", "trips": tour.trips])
    #expect(try peer.store["bikes"].findByID("b1").exec()?["trips"]["count"].counter?.value == 15)
  }

  @Test func `a value of a structure that a document does not hold is named by its whole path`() throws {
    struct Part: Encodable { var serials: [UInt64] }
    let error = try #require(throws: DunlinError.self) {
      try peer.store["bikes"].upsert(["_id": "b1", "parts": ["bell": Part(serials: [1, .max])]])
    }
    #expect(error.code == .unsupportedValue)
    #expect(error.context["path"] == "parts.bell.serials.1")
    #expect(try peer.store["bikes"].findAll().count() == 0)
  }

  @Test func `a type whose encoding fails is named, with its error`() throws {
    struct Broken: Encodable {
      struct Reason: Error {}
      func encode(to encoder: any Encoder) throws { throw Reason() }
    }
    let error = try #require(throws: DunlinError.self) {
      try peer.store["bikes"].find("a == $args.a", args: ["a": ["b": Broken()]]).exec()
    }
    #expect(error.code == .unsupportedValue && error.context["path"] == "a.b")
    #expect(error.underlying is Broken.Reason)
    #expect(throws: Broken.Reason.self) { try peer.store["bikes"].upsert(Broken()) }
  }
}
