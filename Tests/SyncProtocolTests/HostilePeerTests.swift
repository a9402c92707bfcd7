import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Whatever a peer sends ends in a clear error at worst: the session closes, the process lives.
@Suite struct HostilePeerTests {
  struct Attack: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: SyncError.Code
    let frame: @Sendable () -> [UInt8]

    init(
      _ name: String, _ code: SyncError.Code, _ type: FrameType,
      _ body: @escaping @Sendable (inout ByteWriter) -> Void
    ) {
      testDescription = name
      self.code = code
      frame = { FrameCodec.frame(type, body) }
    }
  }

  static let attacks: [Attack] = [
    Attack("an empty interest frame", .truncated, .interest) { _ in },
    Attack("too many subscriptions", .limit, .interest) { out in
      out.writeVarint(1)
      out.write(3 as UInt8)
      out.writeVarint(300)
      out.write([UInt8](repeating: 0, count: 2_000))
    },
    Attack("a subscription that is no query", .malformed, .interest) { out in
      out.writeVarint(1)
      out.write(3 as UInt8)
      out.writeVarint(1)
      var query = ByteWriter()
      query.write(0 as UInt8)
      query.writeString("things")
      query.writeString("SELEC * FROM things")
      query.writeVarint(0)
      out.writeBlob(query.bytes)
    },
    Attack("a later part of an interest first", .outOfOrder, .interest) { out in
      out.writeVarint(1)
      out.write(2 as UInt8)
      out.writeVarint(0)
    },
    Attack("questions before an interest", .outOfOrder, .compare) { out in
      out.writeVarint(1)
      out.writeVarint(0)
    },
    Attack("wants before an interest", .outOfOrder, .want) { out in
      out.writeVarint(0)
      out.writeVarint(0)
      out.write(0 as UInt8)
      out.writeVarint(0)
    },
    Attack("a request to compare all that was heard and not made", .outOfOrder, .renewed) { _ in },
    Attack("bytes left over", .malformed, .asked) { $0.write([1, 1]) },
    Attack("an overlong number", .malformed, .asked) { $0.write([0x80, 0x00]) },
    Attack("a number of ten bytes", .malformed, .asked) { $0.write([UInt8](repeating: 0xFF, count: 10)) },
    Attack("a fragment of more than 64 KiB", .limit, .fragment) { out in
      out.write(0 as UInt8)
      out.writeVarint(65_537)
      out.write([0])
    },
    Attack("a fragment of unknown flags", .malformed, .fragment) { $0.write([0x80, 1, 1]) },
    Attack("a fragment that is no deflate stream", .malformed, .fragment) { out in
      out.write(0 as UInt8)
      out.writeVarint(100)
      out.write([UInt8](repeating: 0xFF, count: 50))
    },
    Attack("a stored fragment of another length", .malformed, .fragment) { $0.write([1, 3, 0]) },
    Attack("a small group that is too large", .limit, .fragment) { out in
      var group = ByteWriter()
      group.writeVarint(1 << 40)
      out.write(1 as UInt8)
      out.writeVarint(group.count)
      out.write(group.bytes)
    },
    Attack("a group's length without an end", .malformed, .fragment) { out in
      out.write(1 as UInt8)
      out.writeVarint(12)
      out.write([UInt8](repeating: 0xFF, count: 12))
    },
    Attack("a group of no documents", .truncated, .fragment) { out in
      out.write(1 as UInt8)
      out.writeVarint(2)
      out.write([1, 0])
    },
    Attack("a chunk of a group beyond the limit", .limit, .chunk) { out in
      out.write(1 as UInt8)
      out.writeVarint(1)
      out.writeVarint(UInt64.max)
      out.writeVarint(0)
      out.writeVarint(1)
      out.write(0 as UInt8)
    },
    Attack("a chunk outside its group", .malformed, .chunk) { out in
      out.write(1 as UInt8)
      out.writeVarint(1)
      out.writeVarint(10)
      out.writeVarint(10)
      out.writeVarint(1)
      out.write(0 as UInt8)
    },
    Attack("a chunk from the middle", .malformed, .chunk) { out in
      out.write(1 as UInt8)
      out.writeVarint(1)
      out.writeVarint(10)
      out.writeVarint(5)
      out.writeVarint(1)
      out.write(0 as UInt8)
    },
    Attack("an acknowledgement of what was not sent", .malformed, .acknowledge) { out in
      for _ in 0..<4 { out.writeVarint(1) }
    },
    Attack("a filter beyond the limit", .limit, .filter) { out in
      out.write(1)
      out.writeVarint(0)
      out.writeString("things")
      out.writeVarint(UInt64.max)
      out.writeVarint(0)
      out.writeBlob([1])
    },
    Attack("a collection of the system's", .malformed, .filterWanted) { out in
      out.write(1)
      out.writeVarint(0)
      out.writeString("__secret")
    },
    Attack("an ask for a filter of an unknown role", .malformed, .filterWanted) { $0.write(2) },
    Attack("a filter of an unknown kind", .malformed, .filter) { $0.write(4) },
    Attack("an unordered listing", .malformed, .answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      out.writeVarint(1)
      out.write(1 as UInt8)
      out.writeVarint(0)
      out.writeVarint(2)
      for id in [[3, 66], [3, 65]] as [[UInt8]] {
        out.writeBlob(id)
        out.write([UInt8](repeating: 0, count: 16))
      }
    },
    Attack("an answer to what was not asked", .outOfOrder, .answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      out.writeVarint(999)
      out.write(0 as UInt8)
    },
    Attack("an id of null", .malformed, .offer) { out in
      out.writeVarint(1)
      out.writeString("things")
      out.writeBlob([0])
      out.write([UInt8](repeating: 0, count: 40))
    },
  ]

  @Test(arguments: attacks)
  func `a malformed frame ends the session with a clear error`(attack: Attack) throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.receive(frames: attack.frame())
    let error = try #require(raw.closed)
    #expect(error.code == attack.code, "\(error)")
    #expect(error.offset > 0)
    #expect(try raw.peer.documents().isEmpty)
  }

  @Test func `a document that is none is not applied, nor what came with it`() throws {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    let good = try GoldenMessages.wireDocument(["n": .int(1)])
    // Cut in its entries, which only merging reads.
    let bad = Array(good.dropLast(1))
    raw.send(.fragment) { out in
      var group = ByteWriter()
      group.writeVarint(2)
      for (name, wire) in [("good", good), ("bad", bad)] {
        group.writeString("things")
        group.writeBlob([3] + Array(name.utf8))
        group.write(0 as UInt8)
        group.writeBlob(wire)
      }
      var stream = ByteWriter()
      stream.writeBlob(group.bytes)
      out.write(1 as UInt8)
      out.writeVarint(stream.count)
      out.write(stream.bytes)
    }
    #expect(raw.closed == nil)
    try raw.apply()
    #expect(raw.closed?.code == .truncated, "\(raw.closed as Any)")
    #expect(try raw.peer.documents().isEmpty)
  }

  @Test func `a zip bomb is refused before it grows`() throws {
    // Deflate's densest block: 64 KiB of zeros for every 64 bytes or so, announced as one kilobyte.
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    let zeros = [UInt8](repeating: 0, count: 1 << 16)
    let bomb = try DeflateForTests.pack(zeros)
    raw.send(.fragment) { out in
      out.write(0 as UInt8)
      out.writeVarint(1_024)
      out.write(bomb)
    }
    #expect(raw.closed?.code == .malformed)
  }

  @Test(arguments: 1...80 as ClosedRange<UInt64>)
  func `random frames never trap`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    for _ in 0..<20 where raw.closed == nil {
      let type = random.pick(FrameType.allCases)
      let bytes = random.bytes(below: 60)
      raw.receive(frames: FrameCodec.frame(type) { $0.write(bytes) })
    }
  }

  @Test(arguments: 1...15 as ClosedRange<UInt64>)
  func `random bytes never trap`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    raw.receive(random.bytes(below: 400))
    raw.receive([0, 0, 0, 9] + random.bytes(below: 400))
    // Whatever length a frame has announced, it ends here.
    raw.receive([UInt8](repeating: 0, count: SyncLimits.frameBytes))
    #expect(raw.closed != nil)
  }

  @Test(arguments: 1...30 as ClosedRange<UInt64>)
  func `a real conversation with any byte changed never traps, and changes nothing it should not`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let network = TestNetwork(seed: seed)
    let a = try network.addPeer("a")
    let b = try network.addPeer("b")
    for index in 0..<50 { try a.put("d\(index)", ["n": .int(Int64(index))]) }
    try b.subscribe("SELECT * FROM things")
    try network.connect(a, b)
    try network.run(steps: random.int(below: 12))
    for end in network.endpoints where !end.outbound.isEmpty {
      end.outbound[random.int(below: end.outbound.count)] ^= UInt8(1 + random.int(below: 255))
    }
    try network.settle()
    let held = try b.documents()
    let original = try a.documents()
    #expect(held.allSatisfy { original[$0.key] == $0.value })
  }
}
