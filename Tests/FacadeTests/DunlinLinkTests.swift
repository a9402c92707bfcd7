import DunlinKit
import Foundation
import Synchronization
import TestKit
import Testing

/// Links of the application's own, through the outer API alone.
@Suite(.timeLimit(.minutes(15))) struct DunlinLinkTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func open(_ name: String, _ identity: DunlinIdentity) throws -> Dunlin {
    try Dunlin(
      path: directory.file(name), identity: identity,
      configuration: DunlinConfiguration(peerName: name, logger: RecordedLog().logger))
  }

  /// Has the two meet over a pair of links, and a document go over.
  private func expectSync(
    _ tablet: Dunlin, _ phone: Dunlin, over links: (any DunlinLink, any DunlinLink), _ id: String
  ) async throws {
    try tablet.sync.adopt(links.0, direction: .outgoing)
    try phone.sync.adopt(links.1, direction: .incoming)
    try await expectDocument(id, from: tablet, at: phone)
  }

  private func expectDocument(_ id: String, from tablet: Dunlin, at phone: Dunlin) async throws {
    try await tablet.store["cars"].upsert(["_id": id, "color": "red"])
    for await diff in try phone.store.changes(of: "SELECT * FROM cars WHERE _id = '\(id)'")
    where !diff.items.isEmpty { break }
  }

  private static var identities: [DunlinIdentity] {
    #if TLS
      [.unsafeDevelopment(appID: "tests"), .sharedKey(appID: "tests", key: DunlinSharedKey())]
    #else
      [.unsafeDevelopment(appID: "tests")]
    #endif
  }

  @Test(arguments: identities.indices)
  func `two databases sync over a link, and over the next one when it has ended`(
    _ index: Int
  ) async throws {
    let identity = Self.identities[index]
    let (tablet, phone) = (try open("tablet", identity), try open("phone", identity))
    let subscription = try phone.sync.registerSubscription(query: "SELECT * FROM cars")
    for dunlin in [tablet, phone] { try dunlin.startSync() }
    let links = MadeLinks()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await links.connect(tablet, phone) }
      try await expectDocument("a", from: tablet, at: phone)
      links.newest?.close(LinkError(.closed, "The application closes it"))
      try await expectDocument("b", from: tablet, at: phone)
      group.cancelAll()
    }
    #expect(links.count >= 2)
    subscription.cancel()
    for dunlin in [tablet, phone] { try dunlin.close() }
  }

  #if TLS
    @Test func `what proves nothing meets nobody over a link either`() async throws {
      let (tablet, stranger) = (
        try open("tablet", .sharedKey(appID: "tests", key: DunlinSharedKey())),
        try open("stranger", .unsafeDevelopment(appID: "tests"))
      )
      for dunlin in [tablet, stranger] { try dunlin.startSync() }
      let (near, far) = MemoryLink.pair()
      let (nearEnd, farEnd) = (WatchedLink(near), WatchedLink(far))
      try tablet.sync.adopt(nearEnd, direction: .outgoing)
      try stranger.sync.adopt(farEnd, direction: .incoming)
      await nearEnd.waitForClose()
      await farEnd.waitForClose()
      #expect(tablet.presence.graph.remotePeers.isEmpty && stranger.presence.graph.remotePeers.isEmpty)
      for dunlin in [tablet, stranger] { try dunlin.close() }
    }
  #endif

  @Test func `a link comes too early, or too late, and is closed`() async throws {
    let dunlin = try open("tablet", .unsafeDevelopment(appID: "tests"))
    func refused(_ code: DunlinError.Code) async {
      let link = WatchedLink(MemoryLink.pair().0)
      let error = #expect(throws: DunlinError.self) { try dunlin.sync.adopt(link, direction: .outgoing) }
      #expect(error?.code == code)
      await link.waitForClose()
    }
    await refused(.notSyncing)
    try dunlin.startSync()
    dunlin.stopSync()
    await refused(.notSyncing)
    try dunlin.close()
    await refused(.closed)
  }

  @Test(arguments: [true, false])
  func `stopping sync and closing the database close the link`(_ closes: Bool) async throws {
    let identity = DunlinIdentity.unsafeDevelopment(appID: "tests")
    let (tablet, phone) = (try open("tablet", identity), try open("phone", identity))
    let subscription = try phone.sync.registerSubscription(query: "SELECT * FROM cars")
    for dunlin in [tablet, phone] { try dunlin.startSync() }
    let (near, far) = MemoryLink.pair()
    let links = (WatchedLink(near), WatchedLink(far))
    try await expectSync(tablet, phone, over: links, "a")
    if closes { try tablet.close() } else { tablet.stopSync() }
    await links.0.waitForClose()
    await links.1.waitForClose()
    subscription.cancel()
    for dunlin in [tablet, phone] { try dunlin.close() }
  }
}

/// Links between two databases, of which the next one is made when one has ended, as an application does it.
private final class MadeLinks: Sendable {
  private let all = Mutex<[WatchedLink]>([])

  var newest: WatchedLink? { all.withLock { $0.last } }
  var count: Int { all.withLock { $0.count } }

  /// Goes on until the task is cancelled.
  func connect(_ dialing: Dunlin, _ listening: Dunlin) async throws {
    while !Task.isCancelled {
      let (near, far) = MemoryLink.pair()
      let link = WatchedLink(near)
      all.withLock { $0.append(link) }
      try dialing.sync.adopt(link, direction: .outgoing)
      try listening.sync.adopt(far, direction: .incoming)
      await link.waitForClose()
    }
  }
}

/// A link of an application's that tells when it is closed.
private final class WatchedLink: DunlinLink {
  private let link: any DunlinLink
  private let isClosed = Mutex(false)

  init(_ link: any DunlinLink) { self.link = link }

  var endpoint: LinkEndpoint { link.endpoint }
  var statistics: LinkStatistics { link.statistics }
  var executor: any LinkExecutor { link.executor }

  func attach(_ user: any LinkUser) { link.attach(user) }
  func write(_ pieces: [[UInt8]]) { link.write(pieces) }
  func resumeReading() { link.resumeReading() }
  func finishWriting() { link.finishWriting() }

  func close(_ reason: LinkError) {
    isClosed.withLock { $0 = true }
    link.close(reason)
  }

  /// Waits until it is closed, or the task is cancelled.
  func waitForClose() async { while !isClosed.withLock({ $0 }), !Task.isCancelled { await pause() } }
}
