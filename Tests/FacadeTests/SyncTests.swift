import DunlinKit
import Logging
import TestKit
import Testing

/// Two databases over loopback, through the outer API alone.
@Suite(.timeLimit(.minutes(15))) struct SyncTests {
  let tablet: Peer
  let phone: Peer

  init() throws {
    tablet = try Peer("tablet")
    phone = try Peer("phone")
  }

  @Test func `subscriptions of both languages pull what matches, and local writes too`() async throws {
    try await tablet.store["bikes"].upsert(["_id": "b1", "color": "red", "km": 10])
    try await tablet.store["bikes"].upsert(["_id": "b2", "color": "blue", "km": 20])
    let red = try phone.dunlin.sync.registerSubscription(
      query: "SELECT * FROM bikes WHERE color = :c", arguments: ["c": "red"])
    try phone.connect(to: tablet)
    try await phone.wait(for: "bikes") { $0.map(\.id) == ["b1"] }
    let far = phone.store["bikes"].find("km > $args.m", args: ["m": 15]).subscribe()
    try await phone.wait(for: "bikes") { $0.map(\.id) == ["b1", "b2"] }
    #expect(
      phone.dunlin.sync.subscriptions.map(\.queryText) == [
        "SELECT * FROM bikes WHERE color = :c", "SELECT * FROM bikes WHERE km > $args.m",
      ])

    // Both edit, apart from each other in time only: counters add up, fields merge.
    try await tablet.store["bikes"].upsert(["_id": "b1", "trips": DunlinCounter()])
    try await phone.wait(for: "bikes") { $0.first?["trips"].counter != nil }
    let back = tablet.store["bikes"].findAll().subscribe()
    await phone.store["bikes"].findByID("b1").update { $0?["trips"].counter?.increment(by: 2) }
    await tablet.store["bikes"].findByID("b1").update { $0?["trips"].counter?.increment(by: 3) }
    for peer in [tablet, phone] { try await peer.wait(for: "bikes") { $0.first?["trips"].int == 5 } }

    try await tablet.store["bikes"].findByID("b2").remove()
    try await phone.wait(for: "bikes") { $0.map(\.id) == ["b1"] }
    for subscription in [red, far, back] { subscription.cancel() }
  }

  @Test func `evicting under a live subscription warns, and the documents come back`() async throws {
    try await tablet.store["bikes"].upsert(["_id": "b1", "color": "red"])
    let subscription = phone.store["bikes"].find("color == 'red'").subscribe()
    try phone.connect(to: tablet)
    try await phone.wait(for: "bikes") { !$0.isEmpty }

    #expect(phone.store["bikes"].findByID("b1").evict())
    try await phone.wait(for: "bikes") { !$0.isEmpty }
    try await phone.waitForLine(
      with: "match the active subscription 'SELECT * FROM bikes WHERE color == 'red''")

    subscription.cancel()
    await #expect(phone.store["bikes"].findAll().evict() == ["b1"])
    try await phone.store.execute(query: "EVICT FROM bikes")
    // What is not matched by anything stays away.
    let other = phone.store["notes"].findAll().subscribe()
    try await tablet.store["notes"].upsert(["_id": "n1"])
    try await phone.wait(for: "notes") { !$0.isEmpty }
    #expect(try phone.store["bikes"].findAll().exec().isEmpty)
    #expect(phone.log.lines(with: "match the active subscription").count == 1)
    other.cancel()
  }

  @Test func `evicting and writing again loses nothing`() async throws {
    try await tablet.store["bikes"].upsert(["_id": "b1", "color": "red", "km": 10])
    var subscription = phone.store["bikes"].findAll().subscribe()
    let back = tablet.store["bikes"].findAll().subscribe()
    try phone.connect(to: tablet)
    try await phone.wait(for: "bikes") { !$0.isEmpty }
    await phone.store["bikes"].findByID("b1").update { $0?["km"] = 20 }
    try await tablet.wait(for: "bikes") { $0.first?["km"].int == 20 }

    subscription.cancel()
    await phone.store["bikes"].findAll().evict()
    try await phone.store["bikes"].upsert(["_id": "b1", "color": "blue"])
    subscription = phone.store["bikes"].findAll().subscribe()
    for peer in [tablet, phone] {
      try await peer.wait(for: "bikes") { $0.first?["km"].int == 20 && $0.first?["color"].string == "blue" }
    }
    subscription.cancel()
    back.cancel()
  }

  @Test func `a document that is too large stays while the rest syncs on`() async throws {
    let subscription = phone.store["files"].findAll().subscribe()
    try phone.connect(to: tablet)
    try await tablet.store["files"].upsert(["_id": "large", "body": String(repeating: "x", count: 5_100_000)])
    try await tablet.store["files"].upsert(["_id": "small", "body": "x"])
    try await phone.wait(for: "files") { !$0.isEmpty }
    #expect(try phone.store["files"].findAll().exec().map(\.id) == ["small"])
    #expect(try tablet.store["files"].findAll().exec().count == 2)
    subscription.cancel()
  }

  @Test func `presence names the peers that are connected`() async throws {
    let cloud = try Peer("cloud", kind: .big)
    try tablet.connect(to: cloud)
    var graphs = tablet.dunlin.presence.graphs.makeAsyncIterator()
    var graph = await graphs.next()
    while graph?.remotePeers.isEmpty == true { graph = await graphs.next() }
    let peer = try #require(graph?.remotePeers.first)
    #expect(peer.deviceName == "cloud")
    #expect(peer.kind == .big)
    #expect(peer.connections.map(\.isIncoming) == [false])
    #expect(peer.isConnectedToBigPeer)
    cloud.dunlin.stopSync()
    while graph?.remotePeers.isEmpty == false { graph = await graphs.next() }
    #expect(graph?.remotePeers == [])
  }

  @Test func `sync stops and starts again where it left off`() async throws {
    let subscription = phone.store["bikes"].findAll().subscribe()
    try phone.connect(to: tablet)
    try await tablet.store["bikes"].upsert(["_id": 1])
    try await phone.wait(for: "bikes") { $0.count == 1 }
    phone.dunlin.stopSync()
    #expect(!phone.dunlin.isSyncActive)
    phone.dunlin.stopSync()
    try await tablet.store["bikes"].upsert(["_id": 2])
    try phone.dunlin.startSync()
    try phone.dunlin.startSync()
    #expect(phone.dunlin.isSyncActive)
    try await phone.wait(for: "bikes") { $0.count == 2 }
    subscription.cancel()
  }

  @Test func `peers of different applications do not meet`() async throws {
    let stranger = try Peer("stranger", appID: "another")
    let subscription = stranger.store["bikes"].findAll().subscribe()
    try await tablet.store["bikes"].upsert(["_id": 1])
    try stranger.connect(to: tablet)
    try await stranger.waitForLine(with: "pplication")
    #expect(try stranger.store["bikes"].findAll().exec().isEmpty)
    subscription.cancel()
  }

  @Test func `the development identity is loud`() {
    #expect(tablet.log.lines(with: "unsafe development identity").count == 1)
  }
}

extension Peer {
  /// Waits until a warning that contains `text` is logged.
  func waitForLine(with text: String) async throws {
    while log.lines(with: text).isEmpty { try await Task.sleep(for: .milliseconds(5)) }
  }
}
