import DunlinKit
import TestKit
import Testing

/// What an application waits for: data is here, data is at another peer, or an error says that it cannot be.
@Suite(.timeLimit(.minutes(15))) struct WaitingTests {
  let tablet: Peer
  let phone: Peer

  init() throws {
    tablet = try Peer("tablet")
    phone = try Peer("phone")
  }

  private func commit(_ statement: String) async throws -> UInt64 {
    try #require(try await tablet.store.execute(query: statement).commitID)
  }

  /// The error with which a wait ends.
  private func failure(_ body: () async throws -> Void) async -> DunlinError? {
    await #expect(throws: DunlinError.self) { try await body() }
  }

  @Test func `all of a subscription is here when it was waited for`() async throws {
    for index in 0..<20 { try await tablet.store["bikes"].upsert(["_id": "b\(index)"]) }
    let subscription = phone.store["bikes"].findAll().subscribe()
    try phone.connect(to: tablet)
    try await phone.dunlin.sync.waitUntilHere(subscription)
    #expect(try phone.store["bikes"].findAll().count() == 20)
    // One that is made while the peers are connected is not taken for here since an earlier one was.
    try await tablet.store["cars"].upsert(["_id": "c1"])
    let cars = phone.store["cars"].findAll().subscribe()
    try await phone.dunlin.sync.waitUntilHere(cars)
    #expect(try phone.store["cars"].findAll().count() == 1)
    for subscription in [subscription, cars] { subscription.cancel() }
  }

  @Test func `every connected peer is waited for, and with none the first that comes`() async throws {
    let desk = try Peer("desk")
    try await tablet.store["bikes"].upsert(["_id": "t"])
    try await desk.store["bikes"].upsert(["_id": "d"])
    let subscription = phone.store["bikes"].findAll().subscribe()
    try phone.dunlin.startSync()
    let sync = phone.dunlin.sync
    let error = await failure { try await sync.waitUntilHere(subscription, timeout: .zero) }
    #expect(error?.code == .timeout && error?.message.contains("no peer is connected") == true)
    async let first: Void = sync.waitUntilHere(subscription)
    try phone.connect(to: tablet)
    try await first
    #expect(try phone.store["bikes"].findByID("t").exec() != nil)
    try phone.connect(to: desk)
    for await graph in phone.dunlin.presence.graphs where graph.remotePeers.count == 2 { break }
    try await sync.waitUntilHere(subscription)
    #expect(try phone.store["bikes"].findAll().count() == 2)
    subscription.cancel()
  }

  @Test func `a write has arrived when it is durable at a peer that asks for it`() async throws {
    let subscription = phone.store["bikes"].find("color == 'red'").subscribe()
    try phone.connect(to: tablet)
    let sync = tablet.dunlin.sync
    let red = try await commit("INSERT INTO bikes DOCUMENTS ({'_id': 'b1', 'color': 'red'})")
    try await sync.waitUntilArrived(red)
    #expect(try phone.store["bikes"].findByID("b1").exec() != nil)
    let peer = phone.dunlin.presence.graph.localPeer
    try await sync.waitUntilArrived(red, at: .peer(peer))

    let blue = try await commit("INSERT INTO bikes DOCUMENTS ({'_id': 'b2', 'color': 'blue'})")
    let car = try await commit("INSERT INTO cars DOCUMENTS ({'_id': 'c1'})")
    try await sync.waitUntilArrived()
    for other in [blue, car] {
      let error = await failure { try await sync.waitUntilArrived(other, timeout: .zero) }
      expect(error?.code == .timeout && error?.message.contains("phone subscribes to nothing of it") == true)
    }
    // Of what was deleted since it counts that the collection is asked for.
    let gone = try await commit("DELETE FROM bikes WHERE _id = 'b1'")
    try await sync.waitUntilArrived(gone)
    #expect(try phone.store["bikes"].findAll().count() == 0)

    let big = await failure { try await sync.waitUntilArrived(at: .bigPeer, timeout: .zero) }
    #expect(big?.code == .timeout && big?.message.contains("no big peer is connected") == true)
    let key = await failure { try await sync.waitUntilArrived(red, at: .peerKey("none"), timeout: .zero) }
    #expect(key?.code == .timeout && key?.message.contains("is not connected") == true)
    let none = await failure { try await sync.waitUntilArrived(1_000) }
    #expect(none?.code == .argument && none?.message.contains("there is no commit 1000") == true)

    // What has arrived stays so when the peer is gone.
    phone.dunlin.stopSync()
    for await graph in tablet.dunlin.presence.graphs where graph.remotePeers.allSatisfy(\.connections.isEmpty)
    {
      break
    }
    try await sync.waitUntilArrived(gone)
    subscription.cancel()
  }

  @Test func `a big peer is waited for by its kind`() async throws {
    let cloud = try Peer("cloud", kind: .big)
    let subscriptions = [phone, cloud].map { $0.store["bikes"].findAll().subscribe() }
    try phone.connect(to: tablet)
    try cloud.connect(to: tablet)
    let write = try await commit("INSERT INTO bikes DOCUMENTS ({'_id': 'b1'})")
    try await tablet.dunlin.sync.waitUntilArrived(write, at: .bigPeer)
    #expect(try cloud.store["bikes"].findAll().count() == 1)
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `the first write of a store has not arrived because its peer has all of an empty one`()
    async throws
  {
    let cloud = try Peer("cloud", kind: .big)
    let subscription = cloud.store["bikes"].findAll().subscribe()
    try cloud.connect(to: tablet)
    let sync = tablet.dunlin.sync
    // The big peer has all that is here, which is nothing.
    try await sync.waitUntilArrived(at: .bigPeer)
    let early = await failure { try await sync.waitUntilArrived(1, at: .bigPeer, timeout: .zero) }
    #expect(early?.code == .argument)
    #expect(early?.message.contains("there is no commit 1: the last one is 0") == true)
    let write = try await commit("INSERT INTO bikes DOCUMENTS ({'_id': 'b1'})")
    #expect(write == 1)
    try await sync.waitUntilArrived(write, at: .bigPeer)
    #expect(try cloud.store["bikes"].findAll().count() == 1)
    subscription.cancel()
  }

  @Test func `what is too large never arrives, and keeps nothing else from arriving`() async throws {
    try await tablet.store.execute(query: "ALTER SYSTEM SET document_size_hard_limit_bytes = 1000")
    let subscription = phone.store["bikes"].findAll().subscribe()
    try phone.connect(to: tablet)
    let text = String(repeating: "x", count: 2_000)
    let large = try await commit("INSERT INTO bikes DOCUMENTS ({'_id': 'large', 'text': '\(text)'})")
    let small = try await commit("INSERT INTO bikes DOCUMENTS ({'_id': 'small'})")
    let sync = tablet.dunlin.sync
    try await sync.waitUntilArrived(small)
    for commit in [large, nil] {
      let error = await failure { try await sync.waitUntilArrived(commit, timeout: .zero) }
      expect(error?.code == .timeout && error?.message.contains("too large") == true)
    }
    let here = await failure { try await phone.dunlin.sync.waitUntilHere(subscription, timeout: .zero) }
    #expect(here?.code == .timeout && here?.message.contains("too large") == true)
    // What is kept back in one direction keeps nobody waiting in the other.
    try await phone.store["notes"].upsert(["_id": "n1"])
    let back = tablet.store["notes"].findAll().subscribe()
    try await sync.waitUntilHere(back)
    #expect(try tablet.store["notes"].findAll().count() == 1)
    back.cancel()
    // Made small, it comes, and both waits end.
    async let arrival: Void = sync.waitUntilArrived()
    async let presence: Void = phone.dunlin.sync.waitUntilHere(subscription)
    try await tablet.store.execute(query: "UPDATE bikes UNSET text WHERE _id = 'large'")
    try await arrival
    try await presence
    // They count what was written when they began, which may have been before the update.
    try await sync.waitUntilArrived()
    #expect(try phone.store["bikes"].findAll().count() == 2)
    subscription.cancel()
  }

  @Test func `two peers are in sync in both directions`() async throws {
    let subscriptions = [tablet, phone].map { $0.store["bikes"].findAll().subscribe() }
    try await tablet.store["bikes"].upsert(["_id": "t"])
    try await phone.store["bikes"].upsert(["_id": "p"])
    let peer = phone.dunlin.presence.graph.localPeer
    try tablet.dunlin.startSync()
    let error = await failure { try await tablet.dunlin.sync.waitUntilInSync(with: peer, timeout: .zero) }
    #expect(error?.code == .timeout && error?.message.contains("phone is not connected") == true)
    try phone.connect(to: tablet)
    try await tablet.dunlin.sync.waitUntilInSync(with: peer)
    for peer in [tablet, phone] { try expectEqual(peer.store["bikes"].findAll().count(), 2) }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `waiting ends when the task is cancelled, and when what it waits for can come no more`()
    async throws
  {
    let sync = tablet.dunlin.sync
    let early = await failure { try await sync.waitUntilArrived() }
    #expect(early?.code == .notSyncing)
    try tablet.dunlin.startSync()
    let subscription = tablet.store["bikes"].findAll().subscribe()
    let task = Task { try await sync.waitUntilHere(subscription) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }

    // A second one to the same query keeps the set of queries as it is.
    let twin = tablet.store["bikes"].findAll().subscribe()
    let cancelled = Task { try await sync.waitUntilHere(twin) }
    twin.cancel()
    #expect(await failure { try await cancelled.value }?.code == .cancelled)
    #expect(await failure { try await sync.waitUntilHere(twin) }?.code == .cancelled)

    let stopped = Task { try await sync.waitUntilHere(subscription) }
    tablet.dunlin.stopSync()
    #expect(await failure { try await stopped.value }?.code == .notSyncing)
    try tablet.dunlin.startSync()
    let closed = Task { try await sync.waitUntilArrived() }
    try tablet.dunlin.close()
    #expect(await failure { try await closed.value }?.code == .closed)
    #expect(await failure { try await sync.waitUntilArrived() }?.code == .closed)
  }
}
