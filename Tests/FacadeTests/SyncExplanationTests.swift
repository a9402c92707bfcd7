import DunlinKit
import TestKit
import Testing

/// Why a document is, or is not, at another peer, as this one knows by itself.
@Suite(.timeLimit(.minutes(15))) struct SyncExplanationTests {
  typealias Reason = DunlinSyncExplanation.Reason

  let tablet: Peer
  let phone: Peer

  init() throws {
    tablet = try Peer("tablet")
    phone = try Peer("phone")
  }

  private func why(_ id: DunlinDocumentID, in collection: String = "cars") throws -> DunlinSyncExplanation {
    try tablet.dunlin.sync.explain(id, in: collection, at: phone.dunlin.presence.graph.localPeer)
  }

  private func whyNot(_ id: DunlinDocumentID, in collection: String = "cars") throws -> DunlinSyncExplanation
  {
    try phone.dunlin.sync.explain(id, in: collection, from: tablet.dunlin.presence.graph.localPeer)
  }

  @Test func `each reason is named, in its order`() async throws {
    try await tablet.store.execute(query: "ALTER SYSTEM SET document_size_hard_limit_bytes = 1000")
    #expect(try why("c1").reason == .noSuchDocument)
    try await tablet.store["cars"].upsert(["_id": "c1", "color": "red", "km": 10])
    try await tablet.store["cars"].upsert(["_id": "c2", "color": "blue", "km": 900])
    try await tablet.store["cars"].upsert([
      "_id": "c3", "color": "red", "km": 1, "text": String(repeating: "x", count: 2_000),
    ])
    try await tablet.store["notes"].upsert(["_id": "n1"])
    #expect(try why("c1").reason == .notConnected)
    #expect(try why("c1").description == "phone is not connected.")
    #expect(try why("c4").reason == .noSuchDocument)

    let query = "SELECT * FROM cars WHERE color = :c AND km < 100"
    let subscription = try phone.dunlin.sync.registerSubscription(query: query, arguments: ["c": "red"])
    try phone.connect(to: tablet)
    let last = try #require(
      try await tablet.store.execute(query: "UPDATE cars SET km = 20 WHERE _id = 'c1'").commitID)
    try await tablet.dunlin.sync.waitUntilArrived(last)
    #expect(try why("c1").reason == .arrived(commitID: last) && why("c1").isThere)
    #expect(
      try why("c1").description == "phone has the document of 'cars', as it is since commit \(last) here.")
    #expect(try why("n1", in: "notes").reason == .notSubscribed)
    guard case .noMatch(let unmet) = try why("c2").reason else {
      Issue.record("\(try why("c2").reason)")
      return
    }
    #expect(unmet.map(\.subscription) == [query])
    #expect(unmet.map { Set($0.conditions) } == [["color = 'red'", "km < 100"]])
    #expect(
      try why("c2").description.hasPrefix("phone subscribes to others: of '\(query)' it is not true that "))
    guard case .tooLarge(let byteCount, 1_000) = try why("c3").reason else {
      Issue.record("\(try why("c3").reason)")
      return
    }
    #expect(byteCount > 2_000)

    try await tablet.store["cars"].findByID("c2").remove()
    #expect(try why("c2").reason == .deleted)
    try await tablet.store.execute(
      query: "ALTER SYSTEM SET user_collection_sync_scopes = {'cars': 'BigPeerOnly'}")
    #expect(try why("c1").reason == .scope("BigPeerOnly"))
    #expect(
      try why("c1").description.contains("is BigPeerOnly: its documents do not go to phone, a small peer"))
    let cloud = try Peer("cloud", kind: .big).dunlin.presence.graph.localPeer
    #expect(try tablet.dunlin.sync.explain("c1", in: "cars", at: cloud).reason == .notConnected)
    let failure = #expect(throws: DunlinError.self) { try why(DunlinDocumentID(value: 1.5)) }
    #expect(failure?.code == .invalidDocumentID)
    subscription.cancel()
  }

  @Test func `a peer without a name is named by its id, and by its host once it is told`() async throws {
    let nameless = try Peer("")
    let subscription = nameless.store["cars"].findAll().subscribe()
    try nameless.connect(to: tablet)
    let commit = try #require(
      try await tablet.store.execute(query: "INSERT INTO cars DOCUMENTS ({'_id': 'c1'})").commitID)
    try await tablet.dunlin.sync.waitUntilArrived(commit)
    let peer = try #require(tablet.dunlin.presence.graph.remotePeers.first)
    #expect(peer.deviceName.isEmpty)
    let id = "c1"
    let explanation = try tablet.dunlin.sync.explain(id, in: "cars", at: peer)
    #expect(explanation.peerID == peer.id && explanation.peerName.isEmpty)
    #expect(
      explanation.description
        == "The peer \(peer.id) has the document of 'cars', as it is since commit \(commit) here.")
    #expect(try tablet.dunlin.sync.explain(id, in: "cars", from: peer).description.contains("peer"))
    let name = nameless.dunlin.presence.graph.localPeer.deviceName
    try #require(!name.isEmpty)
    #expect(!name.contains("."))
    for await graph in tablet.dunlin.presence.graphs where graph.remotePeers.first?.deviceName == name {
      break
    }
    subscription.cancel()
  }

  @Test func `what waits is behind what goes before it`() async throws {
    let subscription = phone.store["cars"].find("km < 100").subscribe()
    try await tablet.store["cars"].upsert(["_id": "c0", "km": 1])
    try phone.connect(to: tablet)
    try await tablet.dunlin.sync.waitUntilArrived()
    // Nothing can be applied at the phone while it writes.
    let (begun, open) = (Events<Void>(), Events<Void>())
    let phone = phone
    let writing = Task {
      try await phone.store.transaction { _ in
        begun.send(())
        _ = await open.next(1)
      }
    }
    _ = await begun.next(1)
    for index in 1...3 { try await tablet.store["cars"].upsert(["_id": "c\(index)", "km": index]) }
    // What the peer does not ask for does not count.
    try await tablet.store["cars"].upsert(["_id": "far", "km": 500])
    try await tablet.store["notes"].upsert(["_id": "n1"])
    let last = try #require(
      try await tablet.store.execute(query: "INSERT INTO cars DOCUMENTS ({'_id': 'c4', 'km': 4})").commitID)
    guard case .waiting(let backlog?) = try why("c4").reason else {
      Issue.record("\(try why("c4").reason)")
      return
    }
    #expect(backlog.documents == 3 && backlog.byteCount > 0)
    #expect(
      try why("c4").description
        == "The document of 'cars' is on its way to phone, behind 3 documents with \(backlog.byteCount) bytes."
    )
    #expect(try why("c0").isThere)
    open.send(())
    try await writing.value
    try await tablet.dunlin.sync.waitUntilArrived(last)
    #expect(try why("c4").reason == .arrived(commitID: last))
    subscription.cancel()
  }

  @Test func `why a document has not come is said as far as this peer knows`() async throws {
    #expect(try whyNot("c1").reason == .notSubscribed)
    #expect(try whyNot("c1").description == "This peer subscribes to nothing of the collection 'cars'.")
    let subscription = try phone.dunlin.sync.registerSubscription(
      query: "SELECT * FROM cars WHERE _id IN ['c1', 'c2'] AND km < 100")
    #expect(try whyNot("c1").reason == .notConnected)
    guard case .noMatch(let unmet) = try whyNot("c3").reason else {
      Issue.record("\(try whyNot("c3").reason)")
      return
    }
    // What its other fields hold this peer does not know.
    #expect(unmet.map(\.conditions) == [["_id IN ['c1', 'c2']"]])
    try await tablet.store["cars"].upsert(["_id": "c1", "km": 1])
    try await tablet.store["cars"].upsert(["_id": "c2", "km": 900])
    try phone.connect(to: tablet)
    try await phone.dunlin.sync.waitUntilHere(subscription)
    #expect(try whyNot("c1").isThere)
    #expect(try whyNot("c2").reason == .notBrought)
    try await tablet.store["cars"].findByID("c1").remove()
    try await tablet.dunlin.sync.waitUntilArrived()
    #expect(try whyNot("c1").reason == .deleted)
    subscription.cancel()
  }

  @Test func `a document that the other peer keeps back may be the one that has not come`() async throws {
    try await tablet.store.execute(query: "ALTER SYSTEM SET document_size_hard_limit_bytes = 1000")
    try await tablet.store["cars"].upsert(["_id": "c1", "text": String(repeating: "x", count: 2_000)])
    try await tablet.store["cars"].upsert(["_id": "c2"])
    let subscription = phone.store["cars"].findAll().subscribe()
    try phone.connect(to: tablet)
    while try whyNot("c1").reason != .heldBack(documents: 1) { try await Task.sleep(for: .milliseconds(5)) }
    #expect(
      try whyNot("c1").description
        == "tablet keeps back 1 document too large to be sent; the document of 'cars' may be it.")
    subscription.cancel()
  }
}
