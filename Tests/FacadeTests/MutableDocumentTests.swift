import DunlinKit
import Logging
import TestKit
import Testing

/// What an update closure does to documents, and what it reads meanwhile.
@Suite struct MutableDocumentTests {
  let peer: Peer
  var bikes: DunlinCollection { peer.store["bikes"] }

  init() throws {
    peer = try Peer()
    try bikes.upsert([
      "_id": "b1", "color": "red", "km": 42_000, "tags": ["city", "fast"],
      "frame": ["size": 54, "maker": ["name": "Reynolds"]],
    ])
  }

  private func read() throws -> DunlinDocument { try #require(try bikes.findByID("b1").exec()) }

  @Test func `a closure reads what it has written`() throws {
    bikes.findByID("b1").update { bike in
      bike?["color"] = "blue"
      #expect(bike?["color"].stringValue == "blue")
      bike?["frame"]["maker"]["city"] = "Birmingham"
      #expect(bike?["frame"]["maker"].dictionaryValue.count == 2)
      bike?["km"].replaceWithCounter()
      bike?["km"].counter?.increment(by: 8)
      #expect(bike?["km"].counter?.value == 42_008)
      bike?["frame"].remove()
      #expect(bike?["frame"].value == nil)
      #expect(bike?.value.keys.sorted() == ["_id", "color", "km", "tags"])
      #expect(bike?.id == "b1")
    }
    let bike = try read()
    #expect(bike.jsonString() == #"{"_id":"b1","color":"blue","km":42008,"tags":["city","fast"]}"#)
    #expect(bike["km"].counter?.value == 42_008)
  }

  @Test func `a dictionary merges when it is set and replaces when it is said so`() throws {
    bikes.findByID("b1").update { $0?["frame"].set(["size": 56, "color": "black"]) }
    #expect(try read()["frame"].dictionaryValue.keys.sorted() == ["color", "maker", "size"])
    bikes.findByID("b1").update { bike in
      bike?["frame"].replace(with: ["size": 58])
      #expect(bike?["frame"].dictionaryValue.count == 1)
    }
    #expect(try read()["frame"].dictionaryValue.count == 1)
    #expect(try read()["frame"]["size"].int == 58)
  }

  @Test func `elements of arrays are set, added and removed`() throws {
    bikes.findByID("b1").update { bike in
      bike?["tags"][1] = "slow"
      bike?["tags"][2].set(["deep": [1]])
      bike?["tags"][2]["deep"][0].set(2)
      bike?["tags"][0].remove()
    }
    #expect(try read().jsonString().contains(#""tags":["slow",{"deep":[2]}]"#))
    let error = #expect(throws: DunlinError.self) {
      try bikes.findByID("b1").update { bike in
        bike?["tags"][9].set(1)
        try Task.checkCancellation()
      }
    }
    #expect(error?.code == .invalidPath)
  }

  @Test func `nil sets null and remove removes`() throws {
    bikes.findByID("b1").update { bike in
      bike?["color"] = nil
      bike?["km"].remove()
    }
    #expect(try read()["color"].exists)
    #expect(try read()["color"].value == nil)
    #expect(try !read()["km"].exists)
    #expect(try bikes.find("color == null && km == null").exec().count == 1)
  }

  @Test func `the first failure undoes the whole update`() throws {
    let failures: [(DunlinError.Code, (DunlinMutableDocument?) -> Void)] = [
      (.invalidDocumentID, { $0?["_id"].set("b2") }),
      (.unsupportedValue, { $0?["color"].set(Bikes.self) }),
      (.notACounter, { $0?["color"].replaceWithCounter() }),
      (.notACounter, { $0?["tags"][0].replaceWithCounter() }),
    ]
    for (code, fail) in failures {
      let error = #expect(throws: DunlinError.self) {
        try bikes.findByID("b1").update { bike in
          bike?["color"] = "green"
          fail(bike)
          bike?["km"] = 1
          try Task.checkCancellation()
        }
      }
      expectEqual(error?.code, code)
      try expectEqual(read()["color"].stringValue, "red")
    }
  }

  private enum Bikes {}

  @Test func `a document that is not there is nil`() throws {
    var isNil = false
    let results = bikes.findByID("none").update { isNil = $0 == nil }
    #expect(isNil)
    #expect(results.isEmpty)
    #expect(try bikes.findByID("none").exec() == nil)
    #expect(try !bikes.findByID("none").remove())
    #expect(!bikes.findByID("none").evict())
  }

  @Test func `a document that outlives its closure takes no writes`() throws {
    var kept: DunlinMutableDocument?
    bikes.findByID("b1").update { kept = $0 }
    kept?["color"] = "blue"
    #expect(try read()["color"].stringValue == "red")
    #expect(peer.log.lines(with: "after its update closure", from: .error).count == 1)
  }

  @Test func `counters restart and count down`() throws {
    try bikes.upsert(["_id": "b1", "trips": DunlinCounter(10)])
    let results = bikes.findByID("b1").update { bike in
      bike?["trips"].counter?.increment(by: -3)
      bike?["trips"].counter?.restart(at: 100)
      bike?["trips"].counter?.increment()
      bike?["color"].counter?.increment()
    }
    #expect(try read()["trips"].counter?.value == 101)
    #expect(results.count == 3)
    #expect(Set(results.map(\.path)) == ["trips"])
    #expect(results.allSatisfy { $0.docID == "b1" })
  }

  @Test func `only what differs is written, and nothing is where nothing does`() async throws {
    try await bikes.upsert(
      ["_id": "b1", "color": "red", "km": 43_000], writeStrategy: .updateDifferentValues)
    #expect(try read()["km"].int == 43_000)
    try await bikes.upsert(["_id": "b1", "color": "blue"], writeStrategy: .insertIfAbsent)
    #expect(try read()["color"].stringValue == "red")
    let result = try await peer.store.execute(query: "UPDATE bikes SET color = 'red' WHERE _id = 'none'")
    #expect(result.commitID == nil)
    #expect(result.mutatedDocumentIDs.isEmpty)
  }
}
