import DunlinKit
import DunlinTesting
import Foundation
import Testing

/// The code of `Documentation/Erasing.md`.
@Suite(.timeLimit(.minutes(15))) struct ErasingPageTests {
  private let database: TestDatabase
  private let other: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws {
    database = try TestDatabase("tablet")
    other = try TestDatabase("other")
  }

  /// Whether the file of a database has a text.
  private func holds(_ text: String, _ database: TestDatabase) throws -> Bool {
    let file = URL(filePath: database.path).appending(path: "data.mdb")
    return try Data(contentsOf: file).range(of: Data(text.utf8)) != nil
  }

  @Test func `what is erased is gone here and at the other peer`() async throws {
    let canary = "a canary that must not sing"
    let subscriptions = try [database, other].map {
      try $0.dunlin.sync.registerSubscription(query: "SELECT * FROM people")
    }
    try await dunlin.store["people"].upsert(["_id": "p1", "name": canary])
    try await dunlin.store["people"].upsert(["_id": "p3", "name": "stays"])
    try database.connect(to: other)
    for await change in try other.dunlin.store.changes(of: "SELECT * FROM people")
    where change.items.count == 2 { break }

    let erasure = try await dunlin.store["people"].erase(["p1", "p2"])
    print("\(erasure.foundCount) found, \(erasure.unknownIDs.count) not known here. \(DunlinErasure.limits)")
    try await dunlin.sync.waitUntilArrived(erasure.commitID, timeout: .seconds(300))
    try await dunlin.store.compact()

    #expect(erasure.foundCount == 1 && erasure.unknownIDs == ["p2"])
    for await change in try other.dunlin.store.changes(of: "SELECT * FROM people")
    where change.items.count == 1 { break }
    try await other.dunlin.store.compact()
    #expect(try !holds(canary, database))
    #expect(try !holds(canary, other))
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `no ids are no commit, and an id that is none is named`() async throws {
    let nothing = try await dunlin.store["people"].erase([])
    #expect(nothing.commitID == nil && nothing.foundCount == 0 && nothing.unknownIDs.isEmpty)
    let long = DunlinDocumentID(stringLiteral: String(repeating: "x", count: 400))
    let error = await #expect(throws: DunlinError.self) {
      try await dunlin.store["people"].erase(["p1", long])
    }
    #expect(error?.code == .invalidDocumentID)
    #expect(error?.context["row"] == "1")
  }
}
