import DunlinKit
import Foundation
import Synchronization
import Testing

/// What the guide to writing says, on our own data: guests of a hotel and the bicycles it lends.
@Suite struct WritingGuideTests {
  let peer: Peer
  var dunlin: Dunlin { peer.dunlin }

  init() throws { peer = try Peer() }

  @Test func `an upsert without an id makes one and returns it`() throws {
    do {
      let docID = try dunlin.store["guests"].upsert([
        "name": "Ines",
        "age": 34,
      ])
      let guest = try #require(try dunlin.store["guests"].findByID(docID).exec())
      #expect(guest["name"].stringValue == "Ines")
      #expect(guest["_id"].stringValue == docID.stringValue)
    } catch {
      print(error)
      throw error
    }
  }

  @Test func `an upsert changes the given fields and leaves the others`() throws {
    try dunlin.store["guests"].upsert([
      "_id": "g7", "name": "Pia", "age": 45, "isOnline": false,
    ])
    let docID = try dunlin.store["guests"].upsert([
      "_id": "g7",
      "name": "Ines",
      "age": 34,
    ])
    #expect(docID == "g7")
    let guest = try #require(try dunlin.store["guests"].findByID(docID).exec())
    #expect(guest["name"].stringValue == "Ines")
    #expect(guest["age"].intValue == 34)
    #expect(guest["isOnline"].bool == false)
  }

  @Test func `a homogeneous literal and a dictionary of another type can be upserted`() throws {
    let id = try dunlin.store["guests"].upsert(["_id": "g1", "name": "Noor"])
    #expect(id == "g1")
    let fields: [String: Any] = ["_id": "g2", "name": "Ole", "age": 20]
    try dunlin.store["guests"].upsert(fields)
    let isAway: [String: Bool] = ["isAway": true]
    _ = try? dunlin.store.collection("guests").upsert(isAway)
    #expect(try dunlin.store["guests"].findAll().exec().count == 3)
  }

  @Test func `default data loses to a change made before it was inserted`() async throws {
    let other = try Peer("phone")
    try await other.dunlin.store["guests"].upsert(
      ["_id": "g1", "firstName": "Adan"], writeStrategy: .insertDefaultIfAbsent)
    try await other.dunlin.store["guests"].upsert(["_id": "g1", "firstName": "Max"])
    do {
      let docID = try await dunlin.store["guests"].upsert(
        [
          "_id": "g1",
          "firstName": "Adan",
        ], writeStrategy: .insertDefaultIfAbsent)
      #expect(docID == "g1")
    } catch {
      print(error)
      throw error
    }
    let subscription = dunlin.store["guests"].findAll().subscribe()
    try peer.connect(to: other)
    try await peer.wait(for: "guests") { $0.first?["firstName"].string == "Max" }
    // Inserting the default again changes nothing.
    try await dunlin.store["guests"].upsert(
      ["_id": "g1", "firstName": "Adan"], writeStrategy: .insertDefaultIfAbsent)
    #expect(try dunlin.store["guests"].findByID("g1").exec()?["firstName"].stringValue == "Max")
    subscription.cancel()
  }

  @Test func `an update sets fields and counts`() throws {
    do {
      let docID = try dunlin.store["guests"].upsert([
        "name": "Rui",
        "age": 31,
        "lentBikes": DunlinCounter(),
      ])

      dunlin.store["guests"].findByID(docID).update { mutableDoc in
        mutableDoc?["age"] = 32
        mutableDoc?["lentBikes"].counter?.increment(by: 1)
      }

      let guest = try #require(try dunlin.store["guests"].findByID(docID).exec())
      #expect(guest["age"].intValue == 32)
      #expect(guest["lentBikes"].counter?.value == 1)
    } catch {
      print(error)
      throw error
    }
  }

  @Test func `an update sets, removes, and makes counters of numbers`() throws {
    let docID = try dunlin.store["bikes"].upsert(
      ["model": "Tourer", "km": 42_000, "lock": "frame", "size": ["frame": 54, "wheel": 28]] as [String: Any?]
    )
    let results = dunlin.store["bikes"].findByID(docID).update { mutableDoc in
      mutableDoc?["model"].set("Racer")
      mutableDoc?["lock"].remove()
      mutableDoc?["km"].replaceWithCounter()
      mutableDoc?["km"].counter?.increment(by: -2_000)
      mutableDoc?["size"]["wheel"].set(26)
      mutableDoc?["size"]["frame"].remove()
    }
    #expect(
      results == [
        .set(docID: docID, path: "model"), .removed(docID: docID, path: "lock"),
        .replacedWithCounter(docID: docID, path: "km"),
        .incremented(docID: docID, path: "km", amount: -2_000), .set(docID: docID, path: "size.wheel"),
        .removed(docID: docID, path: "size.frame"),
      ])
    let bike = try #require(try dunlin.store["bikes"].findByID(docID).exec())
    #expect(bike["model"].stringValue == "Racer")
    #expect(!bike["lock"].exists)
    #expect(bike["km"].counter?.value == 40_000)
    #expect(bike["km"].intValue == 40_000)
    #expect(bike["size"].dictionaryValue.count == 1)
    #expect(bike["size"]["wheel"].int == 26)
  }

  @Test func `an update of a query changes every document it finds`() throws {
    for (id, color) in [("b1", "red"), ("b2", "blue"), ("b3", "red")] {
      try dunlin.store["bikes"].upsert(["_id": id, "color": color])
    }
    let results = dunlin.store["bikes"].find("color == 'red'").update { mutableDocs in
      for bike in mutableDocs { bike["color"] = "green" }
    }
    #expect(Set(results.keys) == ["b1", "b3"])
    #expect(results["b1"] == [.set(docID: "b1", path: "color")])
    #expect(try dunlin.store["bikes"].find("color == 'green'").exec().map(\.id) == ["b1", "b3"])
  }

  @Test func `a transaction writes to two collections at once`() throws {
    let commits = Mutex(0)
    let observer = try dunlin.store.registerObserver(query: "SELECT * FROM bikes") { result in
      commits.withLock { $0 += result.items.count == 1 ? 1 : 0 }
    }
    dunlin.store.write { transaction in
      let bikes = transaction.scoped(toCollectionNamed: "bikes")
      let guests = transaction.scoped(toCollectionNamed: "guests")
      let docId = "g9"
      do {
        try guests.upsert(["_id": docId, "name": "Ines"] as [String: Any?])
        try bikes.upsert(["model": "Tourer", "color": "red", "guest": docId] as [String: Any?])
        try bikes.upsert(["model": "Racer", "color": "black", "guest": docId] as [String: Any?])
      } catch (let err) {
        print(err.localizedDescription)
      }
      guests.findByID(docId).evict()
    }
    #expect(try dunlin.store["bikes"].find("guest == 'g9'").exec().count == 2)
    #expect(try dunlin.store["guests"].findByID("g9").exec() == nil)
    // Nobody ever saw one bicycle without the other.
    observer.cancel()
    #expect(commits.withLock { $0 } == 0)
  }

  @Test func `removing and upserting one document in one transaction is refused`() throws {
    try dunlin.store["bikes"].upsert(["_id": "b1", "color": "red"])
    #expect(throws: DunlinError.self) {
      try dunlin.store.write { transaction in
        let bikes = transaction.scoped(toCollectionNamed: "bikes")
        try bikes.findByID("b1").remove()
        try bikes.upsert(["_id": "b1", "color": "blue"])
      }
    }
    #expect(try dunlin.store["bikes"].findByID("b1").exec()?["color"].stringValue == "red")
  }

  @Test func `a transaction may be started away from the main thread`() async throws {
    struct Passenger: Sendable {
      let dict: [String: any Sendable]
    }
    let passengers = (1...20).map { Passenger(dict: ["_id": "p\($0)", "seat": $0]) }
    let thisFlight = "101"
    let dunlin = dunlin
    await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: .default).async {
        dunlin.store.write { transaction in
          let scope = transaction.scoped(toCollectionNamed: "passengers-\(thisFlight)")
          passengers.forEach {
            _ = try? scope.upsert($0.dict)
          }
        }
        continuation.resume()
      }
    }
    #expect(try dunlin.store["passengers-101"].findAll().exec().count == 20)
  }

  @Test func `a write may be all that a closure of a queue has in it`() async throws {
    let dunlin = dunlin
    let thisFlight = "102"
    let passengers = [["_id": "p1", "seat": 1], ["_id": "p2", "seat": 2]] as [[String: any Sendable]]
    let live = try dunlin.store.changes(of: "SELECT * FROM `passengers-102`")
    DispatchQueue.global(qos: .default).async {
      dunlin.store.write { transaction in
        let scope = transaction.scoped(toCollectionNamed: "passengers-\(thisFlight)")
        passengers.forEach {
          _ = try? scope.upsert($0)
        }
      }
    }
    for await diff in live where diff.items.count == 2 { break }
    // In asynchronous code the same text is awaited, and what a body returns or throws still gets out.
    await dunlin.store.write { transaction in
      _ = try? transaction["passengers-102"].upsert(["_id": "p3"])
    }
    let count = await dunlin.store.write { transaction in
      (try? transaction["passengers-102"].findAll().count()) ?? 0
    }
    #expect(count == 3)
    await #expect(throws: DunlinError.self) {
      try await dunlin.store.write { transaction in
        try transaction["passengers-102"].upsert(["_id": 1.5])
      }
    }
  }

  @Test func `a write inside an update or a transaction fails at once, where others wait for ever`() throws {
    let docID = try dunlin.store["guests"].upsert(["_id": "g1", "age": 30])
    let store = dunlin.store
    let error = #expect(throws: DunlinError.self) {
      try store["guests"].findByID(docID).update { mutableDoc in
        mutableDoc?["age"] = 31
        try store["settings"].upsert(["_id": "s1", "preference": 31])
      }
    }
    #expect(error?.code == .nestedWriteTransaction)
    #expect(try store["guests"].findByID(docID).exec()?["age"].intValue == 30)
    #expect(throws: DunlinError.self) {
      try store.write { _ in try store.write { tx in try tx["a"].upsert(["_id": 1]) } }
    }
    #expect(try store["settings"].findAll().exec().isEmpty)
  }
}
