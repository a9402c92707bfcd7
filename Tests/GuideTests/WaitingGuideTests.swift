import DunlinKit
import Testing

/// Waiting for sync, and why a document does not arrive, on meal orders in an aircraft.
///
/// `Documentation/Syncing.md` and `Documentation/DebuggingSync.md` say it.
@Suite(.timeLimit(.minutes(15))) struct WaitingGuideTests {
  let peer: Peer
  var dunlin: Dunlin { peer.dunlin }

  init() throws { peer = try Peer() }

  @Test func `the calls that wait`() async throws {
    let server = try Peer("server", kind: .big)
    let all = server.dunlin.store["orders"].findAll().subscribe()
    try await server.dunlin.store["orders"].upsert(["_id": "order-1", "seat": "12A"])
    try peer.connect(to: server)
    let orders = dunlin.store["orders"]

    let subscription = orders.find("seat == '12A'").subscribe()
    try await dunlin.sync.waitUntilHere(subscription, timeout: .seconds(10))
    #expect(try orders.findAll().count() == 1)

    let order = try await dunlin.store.execute(
      query: "INSERT INTO orders DOCUMENTS ({'seat': '12A', 'meal': 'pasta'})")
    try await dunlin.sync.waitUntilArrived(order.commitID, at: .bigPeer, timeout: .seconds(30))
    #expect(try server.dunlin.store["orders"].findAll().count() == 2)

    let peer = try #require(dunlin.presence.graph.remotePeers.first)
    try await dunlin.sync.waitUntilInSync(with: peer, timeout: .seconds(30))
    for subscription in [subscription, all] { subscription.cancel() }
  }

  @Test func `why something is not there`() async throws {
    let crew = try Peer("crew")
    let subscription = try crew.dunlin.sync.registerSubscription(
      query: "SELECT * FROM orders WHERE seat = :seat", arguments: ["seat": "12A"])
    try await dunlin.store["orders"].upsert(["_id": "order-7", "seat": "30C"])
    try peer.connect(to: crew)
    for await graph in dunlin.presence.graphs where !graph.remotePeers.isEmpty { break }
    try await dunlin.sync.waitUntilArrived()

    var sentences: [String] = []
    for peer in dunlin.presence.graph.remotePeers {
      sentences.append(try dunlin.sync.explain("order-7", in: "orders", at: peer).description)
      sentences.append(try dunlin.sync.explain("order-8", in: "orders", from: peer).description)
    }
    #expect(
      sentences == [
        "crew subscribes to others: of 'SELECT * FROM orders WHERE seat = :seat' it is not true that seat = '12A'.",
        "This peer subscribes to nothing of the collection 'orders'.",
      ])
    subscription.cancel()
  }
}
