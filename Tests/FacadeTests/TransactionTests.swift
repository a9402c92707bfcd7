import CRDTCore
import DunlinKit
import Foundation
import Logging
import TestKit
import Testing

/// Statements, transactions and what they leave behind.
@Suite(.timeLimit(.minutes(15))) struct TransactionTests {
  let peer: Peer
  var store: DunlinStore { peer.store }

  init() throws { peer = try Peer() }

  @Test func `a statement answers with rows, ids and its commit`() async throws {
    let inserted = try await store.execute(
      query: "INSERT INTO bikes DOCUMENTS (:a), (:b)",
      arguments: ["a": ["_id": "b1", "color": "red"], "b": ["_id": "b2", "color": "blue"]])
    #expect(inserted.mutatedDocumentIDs == ["b1", "b2"])
    #expect(inserted.commitID != nil)
    let found = try await store.execute(
      query: "SELECT * FROM bikes WHERE color = :c", arguments: ["c": "red"])
    #expect(found.commitID == nil)
    let item = try #require(found.items.first)
    #expect(item.id == "b1")
    #expect(item.value["color"] as? String == "red")
    #expect(item["color"].stringValue == "red")
    #expect(item.jsonString() == #"{"_id":"b1","color":"red"}"#)
    #expect(item.jsonData() == Data(item.jsonString().utf8))
    let count = try await store.execute(query: "SELECT COUNT(*) AS n FROM bikes")
    #expect(count.items.map { $0["n"].int } == [2])
    #expect(count.items.first?.id == nil)
    #expect(try store.collectionNames() == ["bikes"])
    #expect(try store.collections().map(\.name) == ["bikes"])
  }

  @Test func `a query sorts, limits and skips`() throws {
    for (id, km) in [("b1", 30), ("b2", 10), ("b3", 20), ("b4", 40)] {
      try store["bikes"].upsert(["_id": id, "km": km])
    }
    let find = store["bikes"].find("km > $args.m", args: ["m": 10])
    #expect(try find.sort("km", direction: .descending).limit(2).exec().map(\.id) == ["b4", "b1"])
    #expect(try find.sort("km").offset(1).exec().map(\.id) == ["b1", "b4"])
    #expect(try store["bikes"].findAll().sort("km").limit(1).remove() == ["b2"])
    #expect(store["bikes"].findAll().sort("km").limit(1).evict() == ["b3"])
    #expect(try store["bikes"].findAll().exec().count == 2)
  }

  @Test func `an asynchronous transaction commits as a whole`() async throws {
    let states = try store.changes(of: "SELECT * FROM bikes")
    let count = try await store.transaction { tx in
      try await tx.execute(query: "INSERT INTO bikes DOCUMENTS ({'_id': 'b1', 'km': 1})")
      try await tx.execute(query: "INSERT INTO bikes DOCUMENTS ({'_id': 'b2', 'km': 2})")
      // It sees its own writes, nobody else does.
      return try await tx.execute(query: "SELECT * FROM bikes").items.count
    }
    #expect(count == 2)
    for await diff in states {
      expectEqual(diff.items.count, 2)
      break
    }
  }

  @Test func `an asynchronous transaction that throws has written nothing`() async throws {
    struct Stop: Error {}
    await #expect(throws: Stop.self) {
      try await store.transaction { tx in
        try await tx.execute(query: "INSERT INTO bikes DOCUMENTS ({'_id': 'b1'})")
        throw Stop()
      }
    }
    #expect(try store["bikes"].findAll().exec().isEmpty)
    // A failed statement has written nothing, and the transaction can go on.
    try await store.transaction { tx in
      try await tx.execute(query: "INSERT INTO bikes DOCUMENTS ({'_id': 'b1'})")
      await #expect(throws: DunlinError.self) {
        try await tx.execute(query: "INSERT INTO bikes DOCUMENTS ({'_id': 'b2'}), ({'_id': 'b1'})")
      }
    }
    #expect(try store["bikes"].findAll().exec().map(\.id) == ["b1"])
  }

  @Test func `a prepared statement is executed by itself and in transactions`() async throws {
    let insert = try store.prepare(query: "INSERT INTO bikes DOCUMENTS ({'_id': :id, 'km': :km})")
    let longer = try store.prepare(query: "SELECT _id FROM bikes WHERE km > :km ORDER BY _id")
    try await store.transaction { tx in
      for number in 1...3 {
        try await tx.execute(insert, arguments: ["id": "b\(number)", "km": number * 10])
      }
      let found = try await tx.execute(longer, arguments: ["km": 15]).items
      #expect(found.map { $0["_id"].stringValue } == ["b2", "b3"])
    }
    try await insert.execute(arguments: ["id": "b4", "km": 40])
    #expect(try await longer.execute(arguments: ["km": 25]).items.count == 2)
    #expect(longer.query.hasPrefix("SELECT"))
    #expect(throws: DunlinError.self) { try store.prepare(query: "SELECT") }
    // A mistake that is found as it runs is shown at its place, in a transaction too.
    try await store.transaction { tx in
      let error = await #expect(throws: DunlinError.self) { try await tx.execute(longer) }
      #expect(error?.code == .argument && error?.context["column"] == "34")
    }
  }

  @Test func `a write inside an asynchronous transaction fails at once`() async throws {
    let error = await #expect(throws: DunlinError.self) {
      try await store.transaction { _ in
        try await store.execute(query: "INSERT INTO bikes DOCUMENTS ({'_id': 'b1'})")
      }
    }
    #expect(error?.code == .nestedWriteTransaction)
    let inner = await #expect(throws: DunlinError.self) {
      try await store.transaction { _ in try await store.transaction { _ in } }
    }
    #expect(inner?.code == .nestedWriteTransaction)
    try await store["bikes"].upsert(["_id": "b1"])
  }

  @Test func `a transaction reads its own writes and returns what its body does`() throws {
    try store["bikes"].upsert(["_id": 1, "km": 10])
    let counts = try store.write { tx in
      let bikes = tx.scoped(toCollectionNamed: "bikes")
      for number in 2...3 { try bikes.upsert(["_id": number, "km": number * 10]) }
      let before = try bikes.findAll().exec().count
      try bikes.findByID(1).remove()
      bikes.find("km == 20").update { bikes in for bike in bikes { bike["km"].set(25) } }
      bikes.findByID(3).evict()
      #expect(try bikes.findByID(1).exec() == nil)
      #expect(try bikes.findAll().sort("km").limit(9).offset(0).exec().map { $0["km"].intValue } == [25])
      return [before, try bikes.findAll().exec().count]
    }
    #expect(counts == [3, 1])
    store.write { tx in tx["bikes"].findByID(2).evict() }
    #expect(try store["bikes"].findAll().exec().isEmpty)
  }

  @Test func `removing and upserting one document fails even when the error is swallowed`() throws {
    try store["bikes"].upsert(["_id": "b1", "color": "red"])
    store.write { tx in
      do {
        try tx["other"].upsert(["_id": "o1"])
        try tx["bikes"].findByID("b1").remove()
        try tx["bikes"].upsert(["_id": "b1"])
        Issue.record("the upsert was taken")
      } catch {
        #expect((error as? DunlinError)?.code == .removedInTransaction)
      }
    }
    #expect(try store["bikes"].findByID("b1").exec()?["color"].stringValue == "red")
    #expect(try store["other"].findAll().exec().isEmpty)
    #expect(peer.log.codes == [.removedInTransaction])
  }

  @Test func `many writers at once lose nothing`() async throws {
    try await store["bikes"].upsert(["_id": "b1", "trips": DunlinCounter()])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask { [store] in
          try await store.execute(
            query: "INSERT INTO notes DOCUMENTS (:d)", arguments: ["d": ["_id": number]])
          try await store.execute(query: "UPDATE bikes APPLY trips INCREMENT BY 1")
        }
      }
      try await group.waitForAll()
    }
    #expect(try store["bikes"].findByID("b1").exec()?["trips"].counter?.value == 40)
    #expect(try store["notes"].findAll().exec().count == 40)
  }

  @Test func `a large document is named on standard output while logging is not set up`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      let directory = try TemporaryDirectory()
      let dunlin = try Dunlin(path: directory.file("db"), identity: .unsafeDevelopment(appID: "tests"))
      try dunlin.store["files"].upsert(["_id": "large", "body": String(repeating: "x", count: 300_000)])
      try dunlin.close()
    }
    let output = String(decoding: result.standardOutputContent, as: UTF8.self)
    #expect(output.contains("the document \"large\" of the collection \"files\" takes 300"))
    #expect(output.contains("250000") && !output.contains("xxx"))
    let log = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(log.contains("database=") && !log.contains("250000"))
  }

  @Test func `large documents warn and too large ones say that they stay`() async throws {
    let warned = { (id: String) in
      try peer.log.lines(with: "Document \(CRDTCore.DocumentID(.string(id)).digest)").count
    }
    let body = { (bytes: Int) in String(repeating: "x", count: bytes) }
    try await store["files"].upsert(["_id": "small", "body": body(200_000)])
    try await store["files"].upsert(["_id": "warns", "body": body(250_000)])
    #expect(try warned("small") == 0)
    #expect(try warned("warns") == 1)
    let result = try await store.execute(
      query: "INSERT INTO files DOCUMENTS (:d)", arguments: ["d": ["_id": "stays", "body": body(5_000_000)]])
    #expect(result.oversizeDocumentIDs == ["stays"])
    #expect(try warned("stays") == 1)
    #expect(try store["files"].findByID("stays").exec()?["body"].stringValue.utf8.count == 5_000_000)

    try await store.execute(query: "ALTER SYSTEM SET DOCUMENT_SIZE_HARD_LIMIT_BYTES = 300000")
    let lower = try await store.execute(
      query: "INSERT INTO files DOCUMENTS (:d)", arguments: ["d": ["_id": "lower", "body": body(400_000)]])
    #expect(lower.oversizeDocumentIDs == ["lower"])
  }
}
