import CRDTCore
import DocStore
import TestKit
import Testing

@testable import SyncProtocol

/// What a session holds of its peer's data is bounded by the unpacked size, whatever the peer does.
///
/// At the bound, the peer waits.
@Suite struct BoundedPullerTests {
  /// A subject that applies nothing until it is told to.
  private static func subject(
    on earlier: RawPeer? = nil, memory: Int = 1 << 20, all: Int = 64 << 20
  ) throws -> RawPeer {
    let configure = { (configuration: inout SessionConfiguration) in
      configuration.peerMemoryBytes = memory
      configuration.allPeersMemoryBytes = all
    }
    let raw = try earlier.map { RawPeer(on: $0, configure) } ?? RawPeer(configure)
    try raw.open(subscribing: "SELECT * FROM things")
    return raw
  }

  /// Small documents, each a group of its own, in one stored piece.
  private static func tinyGroups(
    _ numbers: Range<Int>, _ fields: [TextKey: Value] = ["n": .int(1)]
  ) throws -> [UInt8] {
    let wire = try GoldenMessages.wireDocument(fields)
    var stream = ByteWriter()
    for number in numbers {
      var group = ByteWriter()
      group.writeVarint(1)
      group.writeString("things")
      group.writeBlob(try DocumentID("d\(number)").bytes)
      group.write(0 as UInt8)
      group.writeBlob(wire)
      stream.writeBlob(group.bytes)
    }
    return stream.bytes
  }

  private static func send(_ stream: [UInt8], to raw: RawPeer) {
    raw.send(.fragment) { out in
      out.write(1 as UInt8)
      out.writeVarint(stream.count)
      out.write(stream)
    }
  }

  @Test func `tiny documents beyond the window wait unread, and all of them arrive`() throws {
    let raw = try Self.subject(memory: 640 << 10)
    let bound = 240 << 10
    // Many times what may be held, by what they become: 600 bytes for each 40 on the wire.
    let (pieces, each) = (30, 400)
    var most = 0
    for piece in 0..<pieces {
      Self.send(try Self.tinyGroups(piece * each..<(piece + 1) * each), to: raw)
      most = max(most, raw.session.footprint.heldBytes)
    }
    #expect(raw.closed == nil)
    #expect(most > bound / 2 && most <= bound + SyncLimits.frameBytes, "\(most)")
    #expect(raw.session.isHolding)
    #expect(raw.peer.shared.heldBytes == raw.session.footprint.heldBytes)
    // What it does not read waits on the link; the time that it takes is no silence of the peer's.
    let unread = raw.session.footprint.unreadBytes
    raw.tick(after: .seconds(100))
    #expect(raw.closed == nil)
    #expect(raw.session.footprint.unreadBytes == unread && unread > 0)
    while !raw.batches.isEmpty {
      try raw.apply()
      expect(raw.session.footprint.heldBytes <= bound + SyncLimits.frameBytes)
    }
    #expect(try raw.peer.documents().count == pieces * each)
    #expect(raw.session.footprint.heldBytes == 0)
    #expect(raw.session.footprint.unreadBytes == 0)
    #expect(raw.peer.shared.heldBytes == 0)
  }

  @Test func `records that are made before their transaction count in full`() throws {
    let raw = try Self.subject(memory: 16 << 20)
    // Ten bytes in a record for each four on the wire.
    let fields = Dictionary(
      uniqueKeysWithValues: (UInt8(ascii: "a")...UInt8(ascii: "z")).map {
        (TextKey(String(decoding: [$0], as: UTF8.self)), Value.int(1))
      })
    let count = 200
    Self.send(try Self.tinyGroups(0..<count, fields), to: raw)
    let withoutRecords = raw.session.footprint.heldBytes
    while !raw.batches.isEmpty { try raw.apply() }
    #expect(raw.session.footprint.heldBytes == 0)
    // Now that the store knows the names, records are made of what comes.
    Self.send(try Self.tinyGroups(count..<2 * count, fields), to: raw)
    let wire = try GoldenMessages.wireDocument(fields)
    #expect(raw.session.footprint.heldBytes - withoutRecords > count * wire.count / 2)
    while !raw.batches.isEmpty { try raw.apply() }
    #expect(try raw.peer.documents().count == 2 * count)
    #expect(raw.session.footprint.heldBytes == 0)
  }

  @Test func `a group above all bounds is taken by itself`() throws {
    let raw = try Self.subject(memory: 200_000, all: 200_000)
    let text = String(repeating: "x", count: 400_000)
    var group = ByteWriter()
    group.writeVarint(1)
    group.writeString("things")
    group.writeBlob(try DocumentID("large").bytes)
    group.write(0 as UInt8)
    group.writeBlob(try GoldenMessages.wireDocument(["text": .string(text)]))
    for number in 0..<3 { Self.send(try Self.tinyGroups(number..<number + 1), to: raw) }
    for offset in stride(from: 0, to: group.count, by: 50_000) {
      let piece = group.bytes[offset..<min(offset + 50_000, group.count)]
      raw.send(.chunk) { out in
        out.write(1)
        for number in [1, group.count, offset, piece.count] { out.writeVarint(number) }
        out.write(Array(piece))
      }
    }
    try raw.apply()
    #expect(raw.closed == nil)
    #expect(try raw.peer.documents().count == 4)
  }

  // MARK: - Many sessions

  @Test func `of many sessions that hold too much the one that holds the most goes on`() {
    let memory = PeerMemory()
    memory.noteArrived(600, of: 1)
    memory.noteArrived(300, of: 2)
    memory.noteArrived(50, of: 3)
    #expect(memory.arrivedBytes == 950 && memory.arrivedBytes(besides: 1) == 350)
    for session in 1...3 as ClosedRange<UInt64> {
      expect(memory.mayReceive(50, session, limit: 1_000))
      // Above the limit only the first, and who stays below an equal part of it.
      expectEqual(memory.mayReceive(100, session, limit: 1_000), session != 2)
    }
    // Of two with as much it is the earlier one.
    memory.noteArrived(600, of: 2)
    #expect(memory.mayReceive(1, 1, limit: 1_000) && !memory.mayReceive(1, 2, limit: 1_000))
    memory.leave(1)
    #expect(memory.mayReceive(1, 2, limit: 1_000))
    #expect(memory.arrivedBytes == 650)
    memory.noteArrived(0, of: 2)
    memory.leave(3)
    #expect(memory.arrivedBytes == 0)
  }

  @Test func `of many sessions that are asked for too much those with more than their share end`() {
    let memory = PeerMemory()
    #expect(memory.noteAsked(500, of: 1, limit: 1_000) && memory.noteAsked(500, of: 2, limit: 1_000))
    #expect(memory.noteAsked(300, of: 3, limit: 1_000))
    #expect(!memory.noteAsked(501, of: 2, limit: 1_000) && memory.noteAsked(333, of: 3, limit: 1_000))
    memory.leave(2)
    #expect(memory.noteAsked(501, of: 1, limit: 1_000) && memory.askedBytes == 834)
  }

  @Test func `a peer that wants more than there is room for is ended, and what it wanted is let go of`()
    throws
  {
    let raw = try RawPeer { $0.peerMemoryBytes = 1 << 20 }
    try raw.open(subscribing: "SELECT * FROM things")
    try raw.sendInterest("SELECT * FROM things")
    raw.receive(frames: Bound.questions(1))
    let wants = try Bound.wants(elements: 1_000)
    for _ in 0..<20 { try raw.session.pusher.receive(wants) }
    raw.tick(after: .zero)
    #expect(raw.closed == nil && raw.peer.shared.askedBytes > 20 * 1_000 * 32)
    for _ in 0..<40 { try raw.session.pusher.receive(wants) }
    raw.tick(after: .zero)
    #expect(raw.closed?.code == .limit)
    #expect(raw.peer.shared.askedBytes == 0)
  }

  /// The beginning of a large transaction, in stored chunks.
  private static func begin(_ raw: RawPeer, _ byteCount: Int) {
    for offset in stride(from: 0, to: byteCount, by: 50_000) {
      raw.send(.chunk) { out in
        out.write(1)
        for number in [1, 1 << 20, offset, 50_000] { out.writeVarint(number) }
        out.write([UInt8](repeating: 1, count: 50_000))
      }
    }
  }

  @Test func `what is small is received at once, also while others hold the memory of all`() throws {
    let first = try Self.subject(all: 400_000)
    Self.begin(first, 400_000)
    #expect(first.session.footprint.heldBytes == 400_000)
    let second = try Self.subject(on: first, all: 400_000)
    Self.send(try Self.tinyGroups(0..<3), to: second)
    try second.apply()
    #expect(try second.peer.documents().count == 3)
    #expect(!second.session.isHolding && second.session.footprint.heldBytes == 0)
    // What takes more than its share waits, and what comes after it does, too.
    Self.begin(second, 50_000)
    Self.send(try Self.tinyGroups(3..<4), to: second)
    #expect(second.session.isHolding && second.session.footprint.heldBytes == 0)
    #expect(second.session.footprint.unreadBytes > 50_000)
  }

  @Test func `who stops within a group while others wait for its memory is ended, and the others go on`()
    throws
  {
    let first = try Self.subject(all: 400_000)
    Self.begin(first, 400_000)
    let second = try Self.subject(on: first, all: 400_000)
    Self.begin(second, 400_000)
    // It took what is an equal part; the other has more than both may have.
    #expect(second.session.footprint.heldBytes <= 150_000 && second.session.isHolding)
    #expect(first.session.footprint.heldBytes == 400_000)
    #expect(
      first.peer.shared.heldBytes == first.session.footprint.heldBytes + second.session.footprint.heldBytes)
    first.tick(after: SyncLimits.holdSpan - .milliseconds(10))
    #expect(first.closed == nil)
    second.tick(after: SyncLimits.holdSpan * 3)
    #expect(second.closed == nil)
    first.tick(after: .milliseconds(20))
    #expect(first.closed?.code == .limit)
    second.tick(after: SyncLimits.memoryInterval)
    #expect(second.closed == nil && !second.session.isHolding)
    #expect(second.session.footprint.heldBytes == 400_000)
  }

  // MARK: - How long a step takes

  /// How many frames a session looks at before others have their turn.
  @Test(arguments: [StepLength.shared, .long])
  func `a step looks at some frames, and the others wait for the next`(_ length: StepLength) throws {
    let raw = try Self.subject()
    raw.session.stepLength = length
    raw.ticksAtOnce = false
    // A chunk that takes as long to process as the longest one, and brings little: 16 KiB of zeros, packed
    // densely.
    let coder = DenseCoder()
    let plain = [UInt8](repeating: 0, count: SyncLimits.densePieceBytes)
    var frames: [UInt8] = []
    let count = 20
    for index in 0..<count {
      frames += FrameCodec.frame(.chunk) { out in
        out.write(PiecePacking.dense.rawValue)
        let size = SyncLimits.densePieceBytes
        for number in [1, 1 << 20, index * size, size] { out.writeVarint(number) }
        out.write(coder.pack(plain.span.bytes))
      }
    }
    let before = raw.session.statistics.framesReceived
    raw.receive(frames: frames)
    var steps = 1
    while raw.session.footprint.unreadBytes > 0 {
      raw.tick(after: .zero)
      steps += 1
    }
    #expect(raw.closed == nil)
    #expect(raw.session.statistics.framesReceived - before == UInt64(count))
    #expect(length == .long ? steps == (count + 7) / 8 : steps == count, "\(steps)")
  }
}
