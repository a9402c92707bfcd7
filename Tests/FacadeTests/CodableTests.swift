import DunlinKit
import Foundation
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
      #expect(error.code == .decoding)
      #expect(error.context["path"] == path)
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
}
