import CRDTCore
import DocStore
import Foundation
import SyncProtocol
import TestKit
import Testing

@Suite struct HandshakeTests {
  private func answer(to change: (inout Hello) -> Void) throws -> SyncError? {
    let raw = try RawPeer()
    raw.start()
    var hello = RawPeer.hello
    change(&hello)
    raw.send(.hello) { hello.encode(to: &$0) }
    return raw.closed
  }

  @Test func `peers that fit meet`() throws {
    let raw = try RawPeer()
    try raw.open()
    #expect(raw.closed == nil)
    #expect(raw.session.peer?.name == "hand")
    #expect(raw.events.contains { if case .connected(let info) = $0 { info.version == 2 } else { false } })
  }

  @Test func `a peer of later versions too is spoken to in the latest common one`() throws {
    #expect(try answer { $0.versions = 1...9 } == nil)
  }

  @Test(arguments: [1...1, 3...9] as [ClosedRange<UInt16>])
  func `a peer without a common version is refused`(versions: ClosedRange<UInt16>) throws {
    #expect(try answer { $0.versions = versions }?.code == .versionMismatch)
  }

  /// Its frame is one that was recorded then.
  @Test func `a peer that speaks version 1 is told that its version is not spoken here`() throws {
    let url = try #require(
      Bundle.module.url(forResource: "hello-v1", withExtension: "bin", subdirectory: "Golden"))
    let raw = try RawPeer()
    raw.start()
    raw.receive([UInt8](try Data(contentsOf: url)))
    #expect(raw.closed?.code == .versionMismatch)
    #expect(raw.closed?.message == "This peer speaks versions 2 to 2, the other 1 to 1")
    let bye = try #require(raw.sent(.bye).first)
    var reader = ByteReader(bye.span.bytes)
    #expect(try reader.readString() == "versionMismatch")
  }

  @Test func `what a later release is able to do beside is passed over`() throws {
    #expect(try answer { $0.reserved = .max } == nil)
    let raw = try RawPeer()
    raw.start()
    #expect(try hello(of: raw).reserved == 0)
  }

  @Test func `a peer of another application is refused`() throws {
    #expect(try answer { $0.appID = "other" }?.code == .appMismatch)
  }

  /// With this process's own answer, with another one's, and with none.
  @Test(arguments: [(true, .siteClash), (false, .cloned), (nil, .timeout)] as [(Bool?, SyncError.Code)])
  func `a peer of this store's site is asked who it is`(_ isSame: Bool?, _ end: SyncError.Code) throws {
    let raw = try RawPeer()
    raw.start()
    var hello = RawPeer.hello
    hello.site = raw.peer.store.site
    raw.send(.hello) { hello.encode(to: &$0) }
    #expect(raw.closed == nil)
    let own = try #require(raw.sent(.run).first)
    // Nothing else counts meanwhile.
    raw.send(.asked) { $0.writeVarint(1) }
    #expect(raw.closed == nil)
    if let isSame {
      raw.send(.run) { out in out.write(isSame ? own : own.map { ~$0 }) }
    } else {
      raw.tick(after: .seconds(60))
    }
    #expect(raw.closed?.code == end)
  }

  @Test func `a reading of this site above its clock's means that there is another store of it`() throws {
    let raw = try RawPeer()
    try raw.peer.put("a", [:])
    try raw.open()
    let own = try raw.peer.store.read { $0.latestReading }
    for reading in [own, own.next] {
      raw.send(.seen) { SeenFrame(reading: reading, place: nil).encode(to: &$0) }
      expect(raw.closed == nil)
    }
    raw.send(.seen) {
      SeenFrame(reading: ClockReading(milliseconds: own.milliseconds + 1), place: nil).encode(to: &$0)
    }
    #expect(raw.closed?.code == .cloned)
  }

  /// Four writes, of which the last three come after hello, and what was not written between them.
  @Test(arguments: [1, 2, 3, nil], [0, 500])
  func `a later reading is this store's only if it has given that out`(_ write: Int?, after: UInt64) throws {
    let raw = try RawPeer()
    var own: [ClockReading] = []
    for n in 0..<4 {
      raw.network.clock.advance(by: 1_000)
      try raw.peer.put("\(n)", [:])
      own.append(try raw.peer.store.read { $0.latestReading })
      if n == 0 { try raw.open() }
    }
    let met = ClockReading(milliseconds: own[write ?? 0].milliseconds + after)
    raw.send(.seen) { SeenFrame(reading: met, place: nil).encode(to: &$0) }
    #expect(raw.closed?.code == (after == 0 ? nil : .cloned))
  }

  @Test func `the refusal is told to the peer`() throws {
    let raw = try RawPeer()
    raw.start()
    raw.send(.asked) { $0.writeVarint(1) }
    #expect(raw.closed?.code == .outOfOrder)
    let bye = try #require(raw.sent(.bye).first)
    var reader = ByteReader(bye.span.bytes)
    #expect(try reader.readString() == "outOfOrder")
  }

  @Test func `a second hello ends the session`() throws {
    let raw = try RawPeer()
    try raw.open()
    raw.send(.hello) { RawPeer.hello.encode(to: &$0) }
    #expect(raw.closed?.code == .outOfOrder)
  }

  @Test func `only the first frame has the head of the first`() throws {
    let raw = try RawPeer()
    try raw.peer.subscribe("SELECT * FROM things")
    raw.perform(raw.session.subscriptionsChanged(raw.peer.queries, now: raw.now))
    func frames(_ actions: [Action]) -> [[UInt8]] {
      actions.compactMap { if case .send(let bytes) = $0 { bytes } else { nil } }
    }
    func begins(_ frame: [UInt8]) -> Bool { FrameCodec.beginsStream(frame.span.bytes, at: 0) }
    #expect(frames(raw.session.start(now: raw.now)).map(begins) == [true])
    let hello = FrameCodec.frame(.hello, isFirst: true) { RawPeer.hello.encode(to: &$0) }
    let answer = frames(raw.session.receive(hello, now: raw.now))
    #expect(!answer.isEmpty && !answer.contains(where: begins))
    raw.receive(FrameCodec.frame(.ping, isFirst: true) { $0.writeFixed(UInt64(1)) })
    #expect(raw.closed?.code == .malformed)
  }

  @Test func `a session that ends before it has said hello says why`() throws {
    let raw = try RawPeer()
    raw.perform(raw.session.close(now: raw.now))
    let other = try RawPeer()
    other.start()
    other.receive(FrameCodec.frame(.bye, isFirst: true) { $0.write(raw.sent(.bye)[0]) })
    #expect(other.closed?.code == .peerClosed)
  }

  @Test func `a peer that says no hello in time is given up`() throws {
    let raw = try RawPeer()
    raw.start()
    raw.tick(after: .seconds(9))
    #expect(raw.closed == nil)
    raw.tick(after: .seconds(2))
    #expect(raw.closed?.code == .timeout)
  }

  @Test func `a quiet link is kept alive and a dead one is given up`() throws {
    let raw = try RawPeer()
    try raw.open()
    raw.tick(after: .seconds(11))
    #expect(raw.sent(.ping).count == 1)
    raw.send(.pong) { $0.writeFixed(UInt64(42)) }
    raw.tick(after: .seconds(25))
    #expect(raw.closed == nil)
    raw.tick(after: .seconds(6))
    #expect(raw.closed?.code == .timeout)
  }

  @Test func `a ping is answered with its own number`() throws {
    let raw = try RawPeer()
    try raw.open()
    raw.send(.ping) { $0.writeFixed(UInt64(99)) }
    #expect(raw.sent(.pong) == [[0, 0, 0, 0, 0, 0, 0, 99]])
  }

  @Test func `pings are answered as fast as bytes and time call for`() throws {
    let raw = try RawPeer()
    try raw.open()
    for number in 0..<2_000 { raw.send(.ping) { $0.writeFixed(UInt64(number)) } }
    let answered = raw.sent(.pong).count
    #expect((SyncLimits.pingsAtOnce...SyncLimits.pingsAtOnce + 10).contains(answered))
    raw.tick(after: SyncLimits.timePerPing * 20)
    for number in 0..<100 { raw.send(.ping) { $0.writeFixed(UInt64(number)) } }
    #expect((18...24).contains(raw.sent(.pong).count - answered))
    #expect(raw.closed == nil)
  }

  @Test func `frames of unknown types are skipped once the peers have met`() throws {
    let raw = try RawPeer()
    try raw.open()
    raw.receive(frames: FrameCodec.frame(rawType: 0xEE) { $0.write([1, 2, 3]) })
    raw.send(.ping) { $0.writeFixed(UInt64(1)) }
    #expect(raw.closed == nil)
    #expect(raw.sent(.pong).count == 1)
  }

  @Test func `the peer's goodbye ends the session with its reason`() throws {
    let raw = try RawPeer()
    try raw.open()
    raw.send(.bye) { out in
      out.writeString("storage")
      out.writeString("The store failed")
    }
    #expect(raw.closed?.code == .peerClosed)
    #expect(raw.closed?.message.contains("The store failed") == true)
    #expect(raw.sent(.bye).isEmpty)
  }

  @Test func `after the end nothing is done any more`() throws {
    let raw = try RawPeer()
    try raw.open()
    raw.perform(raw.session.close(now: raw.now))
    #expect(raw.closed?.code == .closed)
    let count = raw.frames.count
    raw.send(.ping) { $0.writeFixed(UInt64(1)) }
    raw.tick(after: .seconds(100))
    #expect(raw.frames.count == count)
  }

  @Test func `hello says the last reading that was given out`() throws {
    let raw = try RawPeer()
    try raw.peer.put("x", ["n": .int(1)])
    raw.start()
    let hello = try hello(of: raw)
    #expect(try hello.highest == raw.peer.store.read { $0.latestReading })
    #expect(hello.highest ?? .zero > .zero)
  }

  @Test func `a peer that pings and never acknowledges is given up`() throws {
    let raw = try RawPeer()
    try raw.peer.put("x", ["n": .int(1)])
    try raw.open()
    try raw.sendInterest("SELECT * FROM things")
    raw.compareThings()
    #expect(raw.sent(.fragment).count == 1)
    for _ in 0..<7 {
      raw.tick(after: .seconds(8))
      raw.send(.ping) { $0.writeFixed(UInt64(1)) }
    }
    #expect(raw.closed == nil)
    raw.tick(after: .seconds(5))
    #expect(raw.closed?.code == .timeout)
  }

  @Test func `a peer that pings and never answers is given up`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    #expect(raw.sent(.compare).count == 1)
    for _ in 0..<7 {
      raw.tick(after: .seconds(8))
      raw.send(.ping) { $0.writeFixed(UInt64(1)) }
    }
    #expect(raw.closed == nil)
    raw.tick(after: .seconds(5))
    #expect(raw.closed?.code == .timeout)
  }

  @Test func `a peer that was slow before gets more time`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.tick(after: .seconds(25))
    raw.send(.answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeAnswer.equal(1).encode(to: &out)
    }
    for _ in 0..<10 {
      raw.tick(after: .seconds(10))
      raw.send(.ping) { $0.writeFixed(UInt64(1)) }
    }
    #expect(raw.closed == nil)
    raw.tick(after: .seconds(11))
    #expect(raw.closed?.code == .timeout)
  }

  private func hello(of raw: RawPeer) throws -> Hello {
    let payload = try #require(raw.sent(.hello).first)
    var reader = ByteReader(payload.span.bytes)
    return try Hello(from: &reader)
  }
}
