import DunlinKit
import Foundation
import TestKit
import Testing

/// What the guide to data modelling says, on our own data: bicycles of several versions of an application.
@Suite(.timeLimit(.minutes(15))) struct DataModellingGuideTests {
  let peer: Peer
  var dunlin: Dunlin { peer.dunlin }

  init() throws { peer = try Peer() }

  private struct V1Bike {
    let _id: String
    let make: String
    let year: String
    var version: Int

    init(doc: DunlinDocument) {
      self._id = doc["_id"].stringValue
      self.make = doc["make"].stringValue
      self.year = doc["year"].stringValue
      self.version = doc["version"].intValue
    }
  }

  private struct V2Bike: Codable, Equatable {
    let _id: String
    let make: String
    let year: Int
    let hometown: String
    var version: Int

    init(_id: String, make: String, year: Int, hometown: String, version: Int) {
      self._id = _id
      self.make = make
      self.year = year
      self.hometown = hometown
      self.version = version
    }

    init(doc: DunlinDocument) {
      self._id = doc["_id"].stringValue
      self.make = doc["make"].stringValue
      self.year = doc["year"].intValue
      self.hometown = doc["hometown"].stringValue
      self.version = doc["version"].intValue
    }
  }

  private func decode(bike: DunlinDocument) -> V2Bike {
    switch bike["version"].intValue {
    case 1:
      let oldBike = V1Bike(doc: bike)
      return V2Bike(
        _id: oldBike._id, make: oldBike.make, year: Int(oldBike.year) ?? 0, hometown: "N/A", version: 2)
    default:
      return V2Bike(doc: bike)
    }
  }

  @Test func `documents of an older version are migrated while they are read`() throws {
    try dunlin.store["bikes"].upsert(["_id": "b1", "make": "Peugeot", "year": "1987", "version": 1])
    let new = V2Bike(_id: "b2", make: "Gazelle", year: 2021, hometown: "Dieren", version: 2)
    try dunlin.store["bikes"].upsert(new)
    let bikes = try dunlin.store["bikes"].findAll().exec()
    #expect(
      bikes.map(decode) == [V2Bike(_id: "b1", make: "Peugeot", year: 1987, hometown: "N/A", version: 2), new])
    #expect(try bikes[1].decoded(as: V2Bike.self) == new)
  }

  @Test func `documents of other versions can be left out`() throws {
    try dunlin.store["guests_v1"].upsert(["name": "Max", "age": 32, "_schemaVersion": 1])
    try dunlin.store["guests_v1"].upsert(["name": "Max", "age": 31, "_schemaVersion": 2])
    let query = "name == $args.name && age <= $args.age && _schemaVersion == 1"
    let found = try dunlin.store["guests_v1"].find(query, args: ["age": 32, "name": "Max"]).exec()
    #expect(found.map { $0["age"].intValue } == [32])
  }

  @Test func `an id can be a map that holds a foreign key`() throws {
    try dunlin.store["guests"].upsert(["_id": "g1", "name": "Ines", "age": 31])
    let id = try dunlin.store["bikes"].upsert([
      "_id": ["orderId": "o7", "owner": "g1"],
      "make": "Gazelle",
      "color": "red",
    ])
    #expect(try dunlin.store["bikes"].find("_id.owner == 'g1'").exec().map(\.id) == [id])
    // The order of an id's keys does not matter.
    let same = try DunlinDocumentID(value: ["owner": "g1", "orderId": "o7"])
    #expect(try dunlin.store["bikes"].findByID(same).exec()?["make"].stringValue == "Gazelle")
  }

  @Test func `a peer that has the one document of a transaction has the other`() async throws {
    let other = try Peer("phone")
    let subscriptions = ["bikes", "guests"].map { other.dunlin.store[$0].findAll().subscribe() }
    try other.connect(to: peer)
    for number in 0..<20 {
      try await dunlin.store.write { transaction in
        let bikes = transaction.scoped(toCollectionNamed: "bikes")
        let guests = transaction.scoped(toCollectionNamed: "guests")
        try guests.upsert(["_id": "g\(number)", "name": "Ines"] as [String: Any?])
        try bikes.upsert(["_id": "b\(number)", "owner": "g\(number)"] as [String: Any?])
      }
    }
    for await diff in try other.dunlin.store.changes(of: "SELECT * FROM bikes") {
      for bike in diff.items {
        try expect(other.dunlin.store["guests"].findByID(bike["owner"].stringValue).exec() != nil)
      }
      if diff.items.count == 20 { break }
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `a newer version of the application stops sync`() async throws {
    let stopped = Events<Bool>()
    try dunlin.startSync()
    let dunlin = dunlin
    let liveQuery = dunlin.store["settings"].find("_schemaVersion > 1").observeLocal { docs, _ in
      guard !docs.isEmpty else { return }
      dunlin.stopSync()
      stopped.send(dunlin.isSyncActive)
    }
    try await dunlin.store["settings"].upsert(["_schemaVersion": 2])
    #expect(await stopped.next(1) == [false])
    liveQuery.stop()
  }

  @Test func `a field decides what is shown`() throws {
    let text = "Upgrades at the desk"
    try dunlin.store["notes"].upsert(["_id": "n1", "text": text, "firstClassOnly": false])
    let note = try #require(try dunlin.store["notes"].findByID("n1").exec())
    #expect(!note["firstClassOnly"].boolValue)
  }
}
