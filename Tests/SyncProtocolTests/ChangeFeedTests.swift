import CRDTCore
import DocStore
import QueryEngine
import Testing

@testable import SyncProtocol

/// A store's changes on their way to one peer, without a session.
@Suite struct ChangeFeedTests {
  /// A feed for a peer that subscribes to what is shown, and has reconciled an empty store.
  private final class Scene {
    let network = TestNetwork()
    let store: TestPeer
    let peer: ServedPeer
    let sender: DocumentSender
    let feed: ChangeFeed

    init(liveBytes: Int = 1 << 20, isFollowed: Bool = true) throws {
      store = try network.addPeer("a")
      var configuration = SessionConfiguration(kind: .small, peerName: "a", appID: "test", random: { 42 })
      configuration.liveQueueBytes = liveBytes
      let context = SessionContext(
        id: 1, store: store.store, gate: EverythingGate(), shared: store.shared, configuration: configuration)
      context.beginStep(.seconds(1))
      context.access = .everything
      context.peer = PeerInfo(
        kind: .small, name: "b", site: SiteID(high: 1, low: 2), logEpoch: 1,
        version: SyncLimits.versions.upperBound)
      peer = ServedPeer(context, ownInterest: { _ in nil })
      let query = try SubscriptionQuery(dql: "SELECT * FROM things WHERE shown = true")
      peer.subscribed.serve(Interest([query]), generation: 1)
      let queue = SendQueue(context)
      sender = DocumentSender(peer, queue)
      feed = ChangeFeed(sender, OfferSender(peer, queue))
      guard isFollowed else { return }
      peer.holding.follow()
      feed.settle()
    }

    /// Writes a document, and passes its commit on.
    ///
    /// - Returns: Whether its change is sent.
    func put(_ id: String, shown: Bool) throws -> Bool {
      try store.put(id, ["shown": .bool(shown), "text": .string(String(repeating: "a", count: 200))])
      return try store.takeCommits().map { try feed.committed($0) { _ in false } }.contains([true])
    }

    func walk() throws {
      var budget = 1_000
      try feed.walkLog(budget: &budget)
    }
  }

  @Test func `what concerns the peer waits until it is sent, and nothing else is kept`() throws {
    let scene = try Scene()
    #expect(try !scene.put("hidden", shown: false))
    #expect(scene.feed.isQueued && !scene.feed.isMoved)
    #expect(try scene.put("a", shown: true))
    #expect(!scene.feed.isQueued && scene.feed.isMoved && !scene.feed.isDrained)
    #expect(try scene.feed.sendNext(canAnswer: true))
    #expect(try !scene.feed.sendNext(canAnswer: true))
    #expect(scene.feed.isQueued && scene.sender.queue.streamBytes > 0)
    #expect(scene.feed.servedThrough == scene.feed.lastCommitted)
  }

  @Test func `what left the interest is sent once more, and watched from then on`() throws {
    let scene = try Scene()
    #expect(try scene.put("a", shown: true))
    #expect(try scene.put("a", shown: false))
    #expect(try !scene.put("a", shown: false))
    let collection = try #require(try scene.store.store.read { try $0.collection("things") })
    let key = DocumentKey(collection: collection.id, id: try DocumentID("a"))
    #expect(scene.peer.mayHold(key, in: "things"))
  }

  @Test func `if too much waits, all of it comes from the log, and nothing twice`() throws {
    let scene = try Scene(liveBytes: 500)
    for index in 0..<5 { _ = try scene.put("d\(index)", shown: true) }
    #expect(scene.feed.isBehind && scene.feed.live.isEmpty)
    #expect(scene.feed.removeFellBehind() == 0)
    #expect(scene.feed.removeFellBehind() == nil)
    #expect(scene.feed.canWalk)
    try scene.walk()
    #expect(!scene.feed.isBehind && scene.feed.isQueued && !scene.feed.isDrained)
    #expect(scene.feed.announcing.openDocuments == 5)
    try scene.feed.announcing.receive(Prune(forwards: false, own: false, settled: 5))
    #expect(scene.feed.isDrained && scene.feed.settleAnnouncements())
    // The next change comes as it is made.
    #expect(try scene.put("e", shown: true))
  }

  @Test func `commits that were lost are read from the log`() throws {
    let scene = try Scene()
    for index in 0..<3 { try scene.store.put("d\(index)", ["shown": .bool(index != 1)]) }
    let last = try #require(scene.store.takeCommits().last)
    try scene.feed.lostCommits(through: last.sequence)
    #expect(scene.feed.isBehind && scene.peer.watch.isBlind)
    try scene.walk()
    #expect(scene.feed.announcing.openDocuments == 2)
    // Those that were reported before are not lost.
    try scene.feed.lostCommits(through: last.sequence)
    #expect(!scene.feed.isBehind)
  }

  @Test func `where the peer's place is unknown, it has to reconcile`() throws {
    let scene = try Scene(isFollowed: false)
    scene.peer.holding.follow()
    #expect(try scene.put("a", shown: true))
    try scene.feed.fallBehind(from: 0)
    #expect(scene.peer.holding.isAwaited && scene.feed.live.isEmpty && !scene.feed.isBehind)
    #expect(try !scene.put("b", shown: true))
  }

  @Test func `a resumed feed begins where the peer is`() throws {
    let scene = try Scene()
    for index in 0..<3 { _ = try scene.put("d\(index)", shown: true) }
    let end = scene.feed.lastCommitted
    scene.feed.startAnew()
    scene.feed.resume(after: 1, through: end, unaskedAfter: nil)
    #expect(
      scene.feed.followedLog(of: try #require(try scene.store.store.read { try $0.collection("things") }))
        != nil)
    try scene.walk()
    #expect(scene.feed.announcing.openDocuments == 2)
    #expect(scene.feed.servedThrough == end)
  }
}
