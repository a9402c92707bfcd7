import DunlinKit
import DunlinTesting
import TestKit
import Testing

/// The code of `Documentation/Scopes.md`.
@Suite(.timeLimit(.minutes(15))) struct ScopesPageTests {
  @Test func `scopes are set and read, and hold against subscriptions`() async throws {
    let database = try TestDatabase("tablet")
    let dunlin = database.dunlin

    let scopes = ["crew_notes": "SmallPeersOnly", "audit": "BigPeerOnly", "drafts": "LocalPeerOnly"]
    try await dunlin.store.execute(
      query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = :scopes", arguments: ["scopes": scopes])
    try dunlin.startSync()

    let shown = try await dunlin.store.execute(query: "SHOW USER_COLLECTION_SYNC_SCOPES")
    print(shown.items.first?["user_collection_sync_scopes"]["drafts"].stringValue ?? "")

    #expect(shown.items.first?["user_collection_sync_scopes"]["drafts"].string == "LocalPeerOnly")
    let names = ["crew_notes", "audit", "drafts", "orders"]
    try await dunlin.store.write { transaction in
      for name in names { try transaction[name].upsert(["_id": "d1"]) }
    }
    for kind in [DunlinPeerKind.small, .big] {
      let other = try TestDatabase("other", configuration: DunlinConfiguration(peerKind: kind))
      let subscriptions = names.map { other.dunlin.store[$0].findAll().subscribe() }
      try other.connect(to: database)
      for subscription in subscriptions {
        try await other.dunlin.sync.waitUntilHere(subscription, timeout: .seconds(300))
      }
      let held = try names.filter { try other.dunlin.store[$0].findAll().count() == 1 }
      expectEqual(held, kind == .small ? ["crew_notes", "orders"] : ["audit", "orders"])
      for subscription in subscriptions { subscription.cancel() }
    }
  }

  @Test func `scopes are kept over a restart where the configuration says so`() async throws {
    let files = try TemporaryDirectory()
    let directory = files.file("data")
    for isFirst in [true, false] {
      var configuration = DunlinConfiguration()
      configuration.keepsSystemParameters = true
      let dunlin = try Dunlin(
        path: directory + "/db", identity: .unsafeDevelopment(appID: "meals"), configuration: configuration)

      if isFirst {
        try await dunlin.store.execute(
          query: "ALTER SYSTEM SET USER_COLLECTION_SYNC_SCOPES = {drafts: 'LocalPeerOnly'}")
      }
      let shown = try await dunlin.store.execute(query: "SHOW USER_COLLECTION_SYNC_SCOPES")
      expectEqual(shown.items.first?["user_collection_sync_scopes"]["drafts"].string, "LocalPeerOnly")
      try dunlin.close()
    }
  }

  @Test func `a final order is published`() async throws {
    let database = try TestDatabase("tablet")
    let dunlin = database.dunlin
    try await dunlin.store["crew_orders"].upsert(["_id": "o1", "seat": "12A"])

    try await dunlin.store.write { transaction in
      guard let order = try transaction["crew_orders"].findByID("o1").exec() else { return }
      try transaction["orders"].upsert(order.value)
      try transaction["crew_orders"].findByID("o1").remove()
    }

    #expect(try dunlin.store["orders"].findByID("o1").exec()?["seat"].string == "12A")
    #expect(try dunlin.store["crew_orders"].findAll().count() == 0)
  }
}
