import DunlinKit
import DunlinTesting
import Testing

/// The code of `Documentation/Syncing.md`.
@Suite(.timeLimit(.minutes(15))) struct SyncingPageTests {
  private let database: TestDatabase
  private var dunlin: Dunlin { database.dunlin }

  init() throws { database = try TestDatabase("cart") }

  @Test func `subscribing, connecting, waiting and asking`() async throws {
    let other = try TestDatabase("galley")
    let galley = other.dunlin
    let wishes = try galley.sync.registerSubscription(query: "SELECT * FROM orders")
    try await galley.store["orders"].upsert(["_id": "o1", "flight": "UA1545"])
    try await galley.store["orders"].upsert(["_id": "o9", "flight": "UA9"])

    let subscription = try dunlin.sync.registerSubscription(
      query: "SELECT * FROM orders WHERE flight = :flight", arguments: ["flight": "UA1545"])

    try galley.listen(host: "127.0.0.1", port: 0)
    try galley.startSync()
    dunlin.connect(host: "127.0.0.1", port: galley.listeningPorts[0])
    try dunlin.startSync()

    // What the connected peers have for a subscription is here.
    try await dunlin.sync.waitUntilHere(subscription, timeout: .seconds(10))

    // What this device wrote is on the disk of a peer.
    let order = try await dunlin.store.execute(
      query: "INSERT INTO orders DOCUMENTS ({'_id': 'o2', 'flight': 'UA1545'})")
    try await dunlin.sync.waitUntilArrived(order.commitID, at: .anyPeer, timeout: .seconds(30))

    // Both directions, with one peer.
    if let peer = dunlin.presence.graph.remotePeers.first {
      try await dunlin.sync.waitUntilInSync(with: peer, timeout: .seconds(30))
    }

    #expect(try dunlin.store["orders"].findAll().exec().map(\.id) == ["o1", "o2"])
    #expect(try galley.store["orders"].findAll().count() == 3)

    for peer in dunlin.presence.graph.remotePeers {
      print(peer.deviceName, peer.kind, peer.connections.count)
    }

    #expect(dunlin.presence.graph.remotePeers.map(\.deviceName) == ["galley"])

    let rows = try await dunlin.store.execute(query: "SELECT * FROM system:data_sync_info").items
    let synced = rows.filter {
      UInt64($0["documents"]["synced_up_to_local_commit_id"].intValue) >= order.commitID ?? 0
    }

    #expect(rows.count == 1 && synced.count == 1)
    #expect(rows.first?["documents"]["is_caught_up"].bool == true)

    for peer in dunlin.presence.graph.remotePeers {
      print(try dunlin.sync.explain("o2", in: "orders", at: peer))
    }

    let peer = try #require(dunlin.presence.graph.remotePeers.first)
    #expect(try dunlin.sync.explain("o2", in: "orders", at: peer).isThere)

    try dunlin.updateTransportConfig { config in
      config.connect.webSocketURLs = ["ws://127.0.0.1:4041/"]
      config.global.syncGroup = 7
    }

    #expect(throws: DunlinError.self) {
      try dunlin.updateTransportConfig { $0.peerToPeer.bluetoothLE.isEnabled = true }
    }
    dunlin.stopSync()
    #expect(dunlin.sync.subscriptions.count == 1)
    for handle in [subscription, wishes] { handle.cancel() }
  }

  @Test(arguments: [
    ("true", "row == 12", ["a"]), ("row == 12", "true", ["a", "own"]), ("", "true", ["own"]),
  ])
  func `a document crosses a device that subscribes to it`(
    _ galleyWants: String, _ cartWants: String, _ arrived: [String]
  ) async throws {
    let (cloud, galley) = (try TestDatabase("cloud"), try TestDatabase("galley"))
    try await cloud.dunlin.store.write { transaction in
      try transaction["orders"].upsert(["_id": "a", "row": 12] as [String: Any?])
      try transaction["orders"].upsert(["_id": "b", "row": 30] as [String: Any?])
    }
    try await galley.dunlin.store["orders"].upsert(["_id": "own", "row": 7] as [String: Any?])
    var subscriptions = [dunlin.store["orders"].find(cartWants).subscribe()]
    try galley.connect(to: cloud)
    if !galleyWants.isEmpty {
      let wanted = galley.dunlin.store["orders"].find(galleyWants).subscribe()
      try await galley.dunlin.sync.waitUntilHere(wanted, timeout: .seconds(300))
      subscriptions.append(wanted)
    }
    try database.connect(to: galley)
    try await dunlin.sync.waitUntilHere(subscriptions[0], timeout: .seconds(300))
    #expect(try dunlin.store["orders"].findAll().exec().map(\.id.stringValue).sorted() == arrived)
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `a document that stops matching arrives once more, and then no more`() async throws {
    let galley = try TestDatabase("galley")
    let source = galley.dunlin.store["orders"]
    try await source.upsert(["_id": "o1", "status": "open"])
    let subscription = dunlin.store["orders"].find("status == 'open'").subscribe()
    try database.connect(to: galley)
    for status in ["open", "done"] {
      try await source.upsert(["_id": "o1", "status": status])
      for await change in try dunlin.store.changes(of: "SELECT * FROM orders")
      where change.items.first?["status"].string == status { break }
    }
    try await source.upsert(["_id": "o1", "meal": "late"])
    try await source.upsert(["_id": "o2", "status": "open"])
    for await change in try dunlin.store.changes(of: "SELECT * FROM orders") where change.items.count == 2 {
      break
    }
    #expect(try dunlin.store["orders"].findByID("o1").exec()?["meal"].exists == false)
    subscription.cancel()
  }

  @Test func `a device says what it is, and whom it lets in`() async throws {
    let guest = try TestDatabase("guest"), intruder = try TestDatabase("intruder")

    try dunlin.presence.setPeerMetadata(["role": "crew", "row": "12"])
    dunlin.presence.connectionRequestHandler = { request in
      request.deviceName == "intruder" ? .deny : .allow
    }

    #expect(dunlin.presence.peerMetadata["role"] as? String == "crew")
    try dunlin.listen()
    try dunlin.startSync()

    for address in dunlin.listeningAddresses {
      print(address.kind, address.host, address.port)  // tcp 127.0.0.1 4040
    }

    #expect(dunlin.listeningAddresses.map(\.port) == dunlin.listeningPorts)
    try intruder.connect(to: database)
    try guest.connect(to: database)
    for await graph in guest.dunlin.presence.graphs
    where graph.remotePeers.first?.metadata["role"] as? String == "crew" { break }
    #expect(dunlin.presence.graph.remotePeers.map(\.deviceName) == ["guest"])
  }
}
