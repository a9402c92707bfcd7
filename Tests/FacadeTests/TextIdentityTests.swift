import DunlinKit
import TestKit
import Testing

/// Two texts that Swift's `==` calls equal and whose bytes differ are two keys, names and statements.
@Suite struct TextIdentityTests {
  private static let composed = "caf\u{E9}"
  private static let decomposed = "cafe\u{301}"
  private let peer: Peer

  init() throws { peer = try Peer() }

  @Test func `the two are one text to Swift`() { #expect(Self.composed == Self.decomposed) }

  @Test func `a statement that another spelling of was executed before does what it says`() async throws {
    for id in [Self.composed, Self.decomposed] {
      try await peer.store.execute(
        query: "INSERT INTO c DOCUMENTS ({'_id': '\(id)', 'bytes': \(id.utf8.count)})")
    }
    try await peer.store.execute(query: "DELETE FROM c WHERE _id = '\(Self.composed)'")
    try await peer.store.execute(query: "DELETE FROM c WHERE _id = 'none'")
    let rest = try await peer.store.execute(query: "SELECT bytes FROM c")
    #expect(rest.items.map { $0["bytes"].int } == [Self.decomposed.utf8.count])
    try await peer.store.execute(query: "DELETE FROM c WHERE _id = '\(Self.decomposed)'")
    #expect(try await peer.store.execute(query: "SELECT * FROM c").items.isEmpty)
  }

  @Test func `a field has an index of its own`() async throws {
    let store = peer.store
    try await store.execute(query: "CREATE INDEX i ON c (`\(Self.composed)`)")
    try await store.execute(
      query: "INSERT INTO c DOCUMENTS ({'_id': 1, '\(Self.composed)': 1, '\(Self.decomposed)': 2})")
    try await store.execute(query: "INSERT INTO c DOCUMENTS ({'_id': 2, '\(Self.decomposed)': 1})")
    for (name, id) in [(Self.composed, 1), (Self.decomposed, 2)] {
      let found = try await store.execute(query: "SELECT _id FROM c WHERE `\(name)` = 1")
      expectEqual(found.items.map { $0["_id"].int }, [id], "\(name.utf8.count) bytes")
    }
  }

  @Test func `all that a document holds can be read, and written back without loss`() async throws {
    let collection = peer.store["c"]
    let both: [TextKey: Any?] = [TextKey(Self.composed): 1, TextKey(Self.decomposed): 2]
    try await collection.upsert(["_id": "d", "map": both])
    await collection.findByID("d").update { document in
      document?[Self.composed].set("one")
      document?[Self.decomposed].set("two")
    }
    let document = try #require(try collection.findByID("d").exec())
    #expect(document[Self.composed].string == "one" && document[Self.decomposed].string == "two")
    #expect(document.exactValue.count == 4)
    // Swift's own dictionary holds one of them, always the same.
    #expect(document.value.count == 3 && document.value[Self.composed] as? String == "two")
    #expect((document["map"].value as? [TextKey: Any?])?.count == 2)
    struct Holder: Decodable { var map: [TextKey: Int] }
    let holder = try document.decoded(as: Holder.self)
    #expect(holder.map == [TextKey(Self.composed): 1, TextKey(Self.decomposed): 2])

    // What is read as a dictionary of Swift's and put in the place of the map loses neither.
    let read = document["map"].dictionaryValue
    #expect(read.count == 1)
    await collection.findByID("d").update { $0?["map"].replace(with: read) }
    try await collection.upsert(document.value)
    let after = try #require(try collection.findByID("d").exec())
    #expect(after.jsonString() == document.jsonString())
    // With exact keys, the map is what was given.
    await collection.findByID("d").update { $0?["map"].replace(with: [TextKey(Self.composed): 5]) }
    #expect(try collection.findByID("d").exec()?["map"].dictionaryValue.count == 1)
  }

  @Test func `collections and subscriptions of two spellings are two`() async throws {
    let store = peer.store
    try await store[Self.composed].upsert(["_id": 1])
    try await store[Self.decomposed].upsert(["_id": 2])
    #expect(try store[Self.composed].findAll().exec().map { $0["_id"].int } == [1])
    #expect(try store[Self.decomposed].findAll().exec().map { $0["_id"].int } == [2])
    #expect(try store.collectionNames().count == 2)
  }

  @Test func `of two subscriptions that differ by spelling both bring their documents`() async throws {
    let (source, target) = (try Peer(), try Peer())
    for spelling in [Self.composed, Self.decomposed] {
      try await source.store["c"].upsert(["_id": spelling, "name": spelling])
    }
    let subscriptions = try [Self.composed, Self.decomposed].map {
      try target.dunlin.sync.registerSubscription(query: "SELECT * FROM c WHERE name = '\($0)'")
    }
    defer { for subscription in subscriptions { subscription.cancel() } }
    try target.connect(to: source)
    try await target.wait(for: "c") { $0.count == 2 }
  }
}
