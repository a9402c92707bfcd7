import DunlinKit
import DunlinTesting
import Testing

/// The code of the page on finding out why something is not syncing.
@Suite(.timeLimit(.minutes(15))) struct DebuggingSyncPageTests {
  let seat: TestDatabase
  let crew: TestDatabase
  var dunlin: Dunlin { seat.dunlin }

  init() throws { (seat, crew) = (try TestDatabase("seat"), try TestDatabase("crew")) }

  /// Connects both, and waits until each knows the other.
  private func connect() async throws {
    try seat.connect(to: crew)
    for await graph in dunlin.presence.graphs where !graph.remotePeers.isEmpty { break }
  }

  @Test func `the questions about one document and about connections have answers`() async throws {
    let subscription = try crew.dunlin.sync.registerSubscription(
      query: "SELECT * FROM orders WHERE seat = :seat", arguments: ["seat": "12A"])
    try await dunlin.store["orders"].upsert(["_id": "order-7", "seat": "30C"])
    try await connect()
    try await dunlin.sync.waitUntilArrived()
    for peer in dunlin.presence.graph.remotePeers {
      // Why the peer has it, or not:
      print(try dunlin.sync.explain("order-7", in: "orders", at: peer))
      // Why it has come from there, or not:
      print(try dunlin.sync.explain("order-8", in: "orders", from: peer))
    }
    let peer = try #require(dunlin.presence.graph.remotePeers.first)
    let (there, here) = (
      try dunlin.sync.explain("order-7", in: "orders", at: peer),
      try dunlin.sync.explain("order-8", in: "orders", from: peer)
    )
    #expect(
      [there.description, here.description] == [
        "crew subscribes to others: of 'SELECT * FROM orders WHERE seat = :seat' it is not true that seat = '12A'.",
        "This peer subscribes to nothing of the collection 'orders'.",
      ])
    #expect(here.reason == .notSubscribed)

    for peer in dunlin.presence.graph.remotePeers {
      print(peer.deviceName, peer.kind, peer.connections.map(\.address))
    }
    print(dunlin.isSyncActive, dunlin.listeningPorts, dunlin.transportConditions)
    #expect(peer.deviceName == "crew")
    #expect(dunlin.isSyncActive && dunlin.listeningPorts.isEmpty && dunlin.transportConditions.isEmpty)
    subscription.cancel()
  }

  @Test func `each connection has a row with all fields of the page`() async throws {
    let subscriptions = try [seat, crew].map {
      try $0.dunlin.sync.registerSubscription(query: "SELECT * FROM orders")
    }
    for database in [seat, crew] { try await database.dunlin.store["orders"].upsert(["seat": "1A"]) }
    try await connect()
    let peer = try #require(dunlin.presence.graph.remotePeers.first)
    try await dunlin.sync.waitUntilInSync(with: peer, timeout: .seconds(60))
    let status = try await dunlin.store.execute(query: "SELECT * FROM system:data_sync_info")
    for row in status.items { print(row.jsonString()) }
    let row = try #require(status.items.first)
    #expect(row["peer_name"].string == "crew")
    let documents = row["documents"].dictionaryValue
    #expect(documents["sync_session_status"] as? String == "Connected")
    #expect(documents["is_caught_up"] as? Bool == true)
    #expect(
      documents.keys.sorted() == [
        "changed", "has_unreadable_documents", "has_withheld_documents", "is_caught_up",
        "last_update_received_time", "received", "sent", "sync_session_status",
        "synced_up_to_local_commit_id",
      ])
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `a call that times out says what is missing`() async throws {
    try await connect()
    do {
      try await dunlin.sync.waitUntilArrived(at: .bigPeer, timeout: .milliseconds(200))
    } catch let error as DunlinError where error.code == .timeout {
      print(error.message)  // for example: no big peer is connected
    }
    let error = await #expect(throws: DunlinError.self) {
      try await dunlin.sync.waitUntilArrived(at: .bigPeer, timeout: .milliseconds(1))
    }
    #expect(error?.message.contains("no big peer is connected") == true)
  }
}
