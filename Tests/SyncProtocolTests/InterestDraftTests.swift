import CRDTCore
import QueryEngine
import TestKit
import Testing

@testable import SyncProtocol

/// A peer's interest is processed in steps, so that none blocks a thread; the next frames of the peer wait.
@Suite struct InterestDraftTests {
  private static let count = 64

  private static func subject(_ length: StepLength) throws -> RawPeer {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM others")
    raw.ticksAtOnce = false
    raw.session.stepLength = length
    return raw
  }

  @Test func `a wide interest is taken apart a query a step, and is served before what follows is looked at`()
    throws
  {
    let raw = try Self.subject(.shared)
    raw.receive(frames: try WideInterest.frames(queries: Self.count).flatMap(\.self) + Bound.questions(1))
    let pusher = raw.session.pusher
    var steps = 1
    while pusher.peer.generation == nil, steps < 10 * Self.count {
      expect(raw.session.isHolding && raw.sent(.answer).isEmpty)
      raw.tick(after: .zero)
      steps += 1
    }
    // Each step looks at a query, or at a frame of which they are parts.
    #expect((Self.count..<2 * Self.count).contains(steps), "\(steps)")
    for _ in 0..<3 { raw.tick(after: .zero) }
    #expect(raw.closed == nil && !raw.session.isHolding && !raw.sent(.answer).isEmpty)
  }

  @Test func `no query of a wide interest is taken apart on a thread that others share`() throws {
    let raw = try Self.subject(.prompt)
    raw.receive(frames: try WideInterest.frames(queries: 2).flatMap(\.self))
    let pusher = raw.session.pusher
    let before = try #require(pusher.peer.subscribed.nextQueryBytes)
    for _ in 0..<20 { raw.tick(after: .zero) }
    #expect(pusher.peer.subscribed.nextQueryBytes == before && pusher.peer.generation == nil)
    raw.session.stepLength = .shared
    for _ in 0..<2 { raw.tick(after: .zero) }
    #expect(pusher.peer.generation == 1 && raw.closed == nil)
  }

  @Test func `small subscriptions are served in the step that they come in`() throws {
    let raw = try Self.subject(.prompt)
    try raw.sendInterest("SELECT * FROM things WHERE n = 1")
    #expect(raw.session.pusher.peer.generation == 1 && !raw.session.isHolding)
  }

  /// A frame of which the end comes later is no reason to hold a thread either.
  @Test func `a frame that comes in two pieces waits for a step that has the time`() throws {
    let raw = try Self.subject(.prompt)
    let coder = DenseCoder()
    let size = SyncLimits.densePieceBytes
    let frame = FrameCodec.frame(.chunk) { out in
      out.write(PiecePacking.dense.rawValue)
      for number in [1, 1 << 20, 0, size] { out.writeVarint(number) }
      out.write(coder.pack([UInt8](repeating: 0, count: size).span.bytes))
    }
    let before = raw.session.statistics.framesReceived
    raw.receiveInPieces(frame, of: 10)
    for _ in 0..<3 { raw.tick(after: .zero) }
    #expect(raw.session.statistics.framesReceived == before && raw.session.isHolding)
    #expect(raw.session.footprint.unreadBytes == frame.count)
    raw.session.stepLength = .shared
    raw.tick(after: .zero)
    #expect(raw.session.statistics.framesReceived == before + 1 && !raw.session.isHolding)
    #expect(raw.session.footprint.unreadBytes == 0 && raw.closed == nil)
  }

  @Test func `what is wrong with a query is told by its place in the stream, however late it is looked at`()
    throws
  {
    var places: [Int] = []
    for length in [StepLength.long, .shared] {
      let raw = try Self.subject(length)
      var bad = ByteWriter()
      bad.write(0 as UInt8)
      bad.writeString("things")
      bad.writeString("SELECT * FROM things WHERE n = = 1")
      bad.writeVarint(0)
      let before = raw.session.inputOffset
      let frames = InterestFrame.frames(
        generation: 1, try [WideInterest.query(0), WideInterest.query(1), bad.bytes], isContinued: false)
      raw.receive(frames: frames.flatMap(\.self))
      while raw.closed == nil, raw.session.isHolding { raw.tick(after: .zero) }
      expectEqual(raw.closed?.code, .malformed)
      places.append(try #require(raw.closed).offset - before)
      try expect(places[0] > 2 * WideInterest.query(0).count)
    }
    #expect(places[0] == places[1])
  }

  @Test func `the interest of a peer that may return is remembered as it came`() throws {
    let first = try Self.subject(.long)
    let count = 8
    first.receive(frames: try WideInterest.frames(queries: count).flatMap(\.self))
    first.tick(after: .zero)
    let hash = first.session.pusher.peer.interest.hash
    #expect(first.session.pusher.peer.generation == 1)
    let site = try #require(first.session.peer?.site)
    let known = try #require(first.peer.shared.interests.queries(hash, of: site))
    #expect(try known == (0..<count).map(WideInterest.query))
    var draft = InterestDraft()
    for frame in try WideInterest.frames(queries: count) {
      let payload = try #require(try FrameCodec.bounds(in: frame.span.bytes, at: 0)).payload
      var reader = ByteReader(frame.span.bytes.extracting(payload))
      try draft.add(try InterestFrame(from: &reader))
    }
    while draft.nextBytes != nil { try expect(draft.parseNext() > 200) }
    #expect(draft.isWhole && draft.finish().hash == hash)
  }

  @Test func `the parts of an interest are held to the room for them before they are taken apart`() throws {
    let raw = try RawPeer { $0.peerMemoryBytes = 256 << 10 }
    try raw.open(subscribing: "SELECT * FROM others")
    raw.ticksAtOnce = false
    raw.session.stepLength = .shared
    raw.receive(frames: try WideInterest.frames(queries: Self.count).flatMap(\.self))
    var most = 0
    var steps = 0
    while raw.closed == nil, steps < 200 {
      most = max(most, raw.session.pusher.heldBytes)
      raw.tick(after: .zero)
      steps += 1
    }
    #expect(raw.closed?.code == .limit && most <= 256 << 10 && steps < Self.count, "\(most) \(steps)")
  }

  @Test func `a peer with many conditions is told of commits where nobody waits`() throws {
    let raw = try Self.subject(.long)
    try raw.sendInterest("SELECT * FROM things WHERE n = 1")
    #expect(!raw.session.isDear)
    let wide = try Self.subject(.long)
    wide.receive(frames: try WideInterest.frames(queries: Self.count).flatMap(\.self))
    while wide.session.isHolding { wide.tick(after: .zero) }
    #expect(wide.session.isDear)
  }
}
