import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol
import TestKit
import Testing
import Transports

@Suite(.timeLimit(.minutes(15))) struct SessionDriverTests {
  /// Runs one session between two peers while `body` runs.
  private func session(
    _ left: TestPeer, _ right: TestPeer, over links: (any Link, any Link), pulling: [SubscriptionQuery],
    _ body: (SessionDriver, SessionDriver) async throws -> Void
  ) async throws -> (SessionEnd, SessionEnd) {
    let sender = SessionDriver(id: 1, link: links.0, setup: left.setup)
    let receiver = SessionDriver(id: 1, link: links.1, setup: right.setup, subscriptions: pulling)
    async let first = sender.run()
    async let second = receiver.run()
    try await body(sender, receiver)
    receiver.close()
    return await (first, second)
  }

  @Test func `two stores sync what is there and what comes later`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<1_000)
    let query = try everything("things")
    let ends = try await session(left, right, over: MemoryLink.pair(), pulling: query) { _, _ in
      try await right.wait { try right.documents("things").count == 1_000 }
      #expect(try right.documents("things") == left.documents("things"))
      try await left.set("things", 7, "name", .string("new"))
      try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    }
    #expect(ends.1.sessionCode == .closed)
    #expect(ends.0.sessionCode == .peerClosed)
    await left.end()
    await right.end()
  }

  @Test func `a new subscription pulls while the session runs`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<50)
    try await left.fill("others", 0..<20)
    let query = try everything("things")
    _ = try await session(left, right, over: MemoryLink.pair(), pulling: query) { _, receiver in
      try await right.wait { try right.documents("things").count == 50 }
      #expect(try right.documents("others").isEmpty)
      receiver.subscribe(to: try everything("things") + everything("others"))
      try await right.wait { try right.documents("others").count == 20 }
    }
    await left.end()
    await right.end()
  }

  @Test func `what is evicted between two subscriptions stays away, whenever it is told`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    let ids = try (0..<20).map { try DocumentID(.int(Int64($0))) }
    try await left.fill("things", 0..<ids.count - 1)
    let (near, far) = MemoryLink.pair()
    let held = HeldLink(far)
    let all = try everything("things")
    _ = try await session(left, right, over: (near, held), pulling: all) { _, receiver in
      try await right.wait { try right.documents("things").count == ids.count - 1 }
      for id in 0..<ids.count - 2 {
        await held.hold()
        receiver.subscribe(to: [])
        _ = try await right.store.write { try $0.evict(ids[id], in: "things") }
        receiver.subscribe(to: [try SubscriptionQuery(collection: "things", builder: "number > \(id * 7)")])
        held.release()
      }
      // What was asked for before would come before what is written now.
      try await left.set("things", ids.count - 1, "number", .int(1_000))
      try await right.wait { try right.documents("things").keys.contains(ids.last!) }
      #expect(try Set(right.documents("things").keys) == Set(ids.suffix(2)))
    }
    await left.end()
    await right.end()
  }

  @Test func `a silent peer is given up after the hello deadline`() async throws {
    let clock = ManualClock()
    let peer = try TestPeer("peer", clock: TransportClock(clock))
    let (near, far) = MemoryLink.pair()
    let driver = SessionDriver(id: 1, link: near, setup: peer.setup)
    async let end = driver.run()
    // The peer reads and says nothing.
    async let silent: Void = {
      while try await far.receive() != nil {}
      try await far.finish()
    }()
    await clock.waitForSleepers()
    clock.advance(by: .seconds(60))
    #expect(await end.sessionCode == .timeout)
    try? await silent
    #expect(clock.sleeperCount == 0)
    await peer.end()
  }

  @Test func `a quiet conversation is kept alive, however long it lasts`() async throws {
    let clock = ManualClock()
    let time = TransportClock(clock)
    let (left, right) = (try TestPeer("left", clock: time), try TestPeer("right", clock: time))
    let query = try everything("things")
    _ = try await session(left, right, over: MemoryLink.pair(), pulling: query) { sender, receiver in
      try await left.fill("things", 0..<1)
      try await right.wait { try right.documents("things").count == 1 }
      // Twice the silence after which a link is taken for dead.
      while time.now <= .seconds(180) {
        let heard = (sender.statistics.framesReceived, receiver.statistics.framesReceived)
        while sender.statistics.framesReceived == heard.0 || receiver.statistics.framesReceived == heard.1 {
          // Time stands still while anything is under way: however slow the machine, nobody is late.
          let (one, other) = (sender.statistics, receiver.statistics)
          let isQuiet =
            one.framesSent == other.framesReceived && other.framesSent == one.framesReceived
            && clock.sleeperCount >= 2
          if isQuiet { clock.advance(by: .seconds(1)) }
          try await Task.sleep(for: .milliseconds(1))
        }
      }
      try await left.fill("things", 1..<2)
      try await right.wait { try right.documents("things").count == 2 }
    }
    await left.end()
    await right.end()
  }

  /// Bytes that a peer may not begin with, and the code that tells why.
  private static let intrusions: [(bytes: [UInt8], code: SyncError.Code)] = {
    var changed = FrameCodec.frame(.hello, isFirst: true) { $0.write([1, 2, 3]) }
    changed[changed.count - 1] ^= 1
    return [
      (Array(repeating: 0xA5, count: 1_000), .malformed), (changed, .checksum),
      ([0, 0xFF, 0xFF, 0xFF], .limit),
      (FrameCodec.frame(.asked, isFirst: true) { $0.writeVarint(1) }, .outOfOrder),
    ]
  }()

  @Test(arguments: intrusions)
  func `bytes that are no hello end the session with an error at both ends`(
    bytes: [UInt8], code: SyncError.Code
  ) async throws {
    let peer = try TestPeer("peer")
    let (near, far) = MemoryLink.pair()
    let driver = SessionDriver(id: 1, link: near, setup: peer.setup)
    async let end = driver.run()
    try await far.send([bytes])
    while try await far.receive() != nil {}
    far.close(LinkError(.closed, "done"))
    #expect(await end.sessionCode == code)
    await peer.end()
  }

  @Test func `a cancelled session ends at once and closes the link`() async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    try await left.fill("things", 0..<10)
    let links = MemoryLink.pair()
    let sender = SessionDriver(id: 1, link: links.0, setup: left.setup)
    let receiver = SessionDriver(
      id: 1, link: links.1, setup: right.setup, subscriptions: try everything("things"))
    let first = Task { await sender.run() }
    let second = Task { await receiver.run() }
    try await right.wait { try right.documents("things").count == 10 }
    second.cancel()
    #expect(await second.value == .link(.cancelled))
    #expect(await first.value.linkCode == .disconnected)
    await left.end()
    await right.end()
  }

  @Test(arguments: [1_000, 20_000, 60_000])
  func `what a broken link has cut off comes over the next one`(byteCount: Int) async throws {
    let (left, right) = (try TestPeer("left"), try TestPeer("right"))
    // Text that does not compress, so that the link breaks in the middle.
    _ = try await left.store.write { transaction in
      for id in 0..<300 {
        let noise = (0..<200).map { _ in UInt8.random(in: 0 ... .max) }
        try transaction.upsert(["_id": .int(Int64(id)), "noise": .bytes(noise)], into: "things")
      }
    }
    var profile = LinkProfile()
    profile.disconnectAfterBytes = byteCount
    let broken = MemoryLink.pair(profile: profile)
    let first = SessionDriver(id: 1, link: broken.0, setup: left.setup)
    let second = SessionDriver(
      id: 1, link: broken.1, setup: right.setup, subscriptions: try everything("things"))
    async let end = first.run()
    _ = await second.run()
    _ = await end
    #expect(try right.documents("things").count < 300)
    let query = try everything("things")
    _ = try await session(left, right, over: MemoryLink.pair(), pulling: query) { _, _ in
      try await right.wait(with: left) { try right.documents("things") == left.documents("things") }
    }
    await left.end()
    await right.end()
  }

  @Test func `an ended session leaves neither link nor driver behind`() async throws {
    let peer = try TestPeer("peer")
    weak var driver: SessionDriver?
    weak var link: MemoryLink?
    do {
      let (near, far) = MemoryLink.pair()
      let running = SessionDriver(id: 1, link: near, setup: peer.setup)
      driver = running
      link = near
      async let end = running.run()
      _ = try await far.receive()
      running.close()
      while try await far.receive() != nil {}
      far.close(LinkError(.closed, "Done"))
      #expect(await end.sessionCode == .closed)
    }
    // The tasks that used the link end beside the session.
    while driver != nil || link != nil { await pause() }
    await peer.end()
  }

  @Test func `peers of different applications refuse each other`() async throws {
    let (left, right) = (try TestPeer("left", appID: "one"), try TestPeer("right", appID: "other"))
    let links = MemoryLink.pair()
    async let first = SessionDriver(id: 1, link: links.0, setup: left.setup).run()
    let second = await SessionDriver(id: 1, link: links.1, setup: right.setup).run()
    #expect([await first, second].contains { $0.sessionCode == .appMismatch })
    await left.end()
    await right.end()
  }
}
