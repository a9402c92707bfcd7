import DunlinKit
import Foundation
import TestKit
import Testing

/// What the guide to sync scopes says, on our own data: a ferry's crew, its office and its cloud.
@Suite(.timeLimit(.minutes(15))) struct SyncScopesGuideTests {
  let peer: Peer
  var dunlin: Dunlin { peer.dunlin }

  init() throws { peer = try Peer() }

  @Test func `scopes are set before sync starts and read with SHOW`() async throws {
    var syncScopes = [
      "local_mesh_orders": "SmallPeersOnly"
    ]
    let set = try await dunlin.store.execute(
      query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :syncScopes",
      arguments: ["syncScopes": syncScopes])
    #expect(set.items.first?["user_collection_sync_scopes"]["local_mesh_orders"].string == "SmallPeersOnly")

    try dunlin.startSync()

    let shown = try await dunlin.store.execute(query: "SHOW USER_COLLECTION_SYNC_SCOPES")
    #expect(shown.items.first?["user_collection_sync_scopes"]["local_mesh_orders"].string == "SmallPeersOnly")

    // The whole map is replaced.
    syncScopes = ["drafts": "LocalPeerOnly"]
    try await dunlin.store.execute(
      query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :syncScopes",
      arguments: ["syncScopes": syncScopes])
    let replaced = try await dunlin.store.execute(query: "SHOW USER_COLLECTION_SYNC_SCOPES")
    #expect(
      replaced.items.first?.jsonString() == #"{"user_collection_sync_scopes":{"drafts":"LocalPeerOnly"}}"#)
  }

  @Test func `scopes can be written into the statement`() async throws {
    try await dunlin.store.execute(
      query: """
        ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = {
            collection_1: "BigPeerOnly",
            collection_2: "SmallPeersOnly",
            collection_3: "LocalPeerOnly"
        }
        """)
    let shown = try await dunlin.store.execute(query: "SHOW USER_COLLECTION_SYNC_SCOPES")
    #expect(shown.items.first?["user_collection_sync_scopes"].dictionaryValue.count == 3)
  }

  @Test(arguments: [
    ["__crew": "AllPeers"], ["crew": "Everybody"], ["crew": "BigPeerOnly", "__x": "AllPeers"],
  ])
  func `scopes of system collections and unknown scopes are refused with nothing changed`(
    scopes: [String: String]
  ) async throws {
    let set = "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :scopes"
    try await dunlin.store.execute(query: set, arguments: ["scopes": ["logs": "LocalPeerOnly"]])
    await #expect(throws: DunlinError.self) {
      try await dunlin.store.execute(query: set, arguments: ["scopes": scopes])
    }
    let shown = try await dunlin.store.execute(query: "SHOW USER_COLLECTION_SYNC_SCOPES")
    #expect(shown.items.first?["user_collection_sync_scopes"].dictionaryValue.keys.sorted() == ["logs"])
  }

  @Test(arguments: [DunlinPeerKind.small, .big])
  func `a collection flows to the kinds of peers that its scope names`(kind: DunlinPeerKind) async throws {
    let ferry = try Peer("ferry")
    let other = try Peer("other", kind: kind)
    try await ferry.dunlin.store.execute(
      query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :s",
      arguments: ["s": ["notes": "SmallPeersOnly", "audit": "BigPeerOnly", "drafts": "LocalPeerOnly"]])
    let names = ["notes", "audit", "drafts", "timetable"]
    // One transaction: what may go arrives together, and nothing is owed afterwards.
    try await ferry.dunlin.store.write { tx in
      for name in names { try tx[name].upsert(["_id": "d1", "from": "ferry"]) }
    }
    let subscriptions = try names.map {
      try other.dunlin.sync.registerSubscription(query: "SELECT * FROM \($0)")
    }
    try other.connect(to: ferry)
    try await other.wait(for: "timetable") { !$0.isEmpty }
    // Live as well, and the last one shows that the others have had their turn.
    for name in names { try await ferry.dunlin.store[name].upsert(["_id": "d2", "from": "ferry"]) }
    try await other.wait(for: "timetable") { $0.count == 2 }
    let held = try names.filter { try !other.dunlin.store[$0].findAll().exec().isEmpty }
    #expect(held == (kind == .small ? ["notes", "timetable"] : ["audit", "timetable"]))
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `a change while syncing takes effect at once`() async throws {
    let ferry = try Peer("ferry")
    let office = try Peer("office")
    let set = "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :s"
    try await ferry.dunlin.store.execute(query: set, arguments: ["s": ["notes": "LocalPeerOnly"]])
    try await ferry.dunlin.store["notes"].upsert(["_id": "n1"])
    try await ferry.dunlin.store["timetable"].upsert(["_id": "t1"])
    let subscriptions = ["notes", "timetable"].map { office.dunlin.store[$0].findAll().subscribe() }
    try office.connect(to: ferry)
    try await office.wait(for: "timetable") { !$0.isEmpty }
    #expect(try office.dunlin.store["notes"].findAll().exec().isEmpty)

    try await ferry.dunlin.store.execute(query: set, arguments: ["s": [String: String]()])
    try await office.wait(for: "notes") { !$0.isEmpty }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `scopes are forgotten when the database closes`() async throws {
    let directory = try TemporaryDirectory()
    func open() throws -> Dunlin {
      try Dunlin(
        path: directory.file("db"), identity: .unsafeDevelopment(appID: "guides"),
        configuration: DunlinConfiguration(logger: .quiet))
    }
    var dunlin: Dunlin? = try open()
    try await dunlin?.store.execute(
      query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :s", arguments: ["s": ["a": "LocalPeerOnly"]])
    try dunlin?.close()
    dunlin = nil
    dunlin = try open()
    let shown = try await dunlin?.store.execute(query: "SHOW USER_COLLECTION_SYNC_SCOPES")
    #expect(shown?.items.first?.jsonString() == #"{"user_collection_sync_scopes":{}}"#)
  }
}
