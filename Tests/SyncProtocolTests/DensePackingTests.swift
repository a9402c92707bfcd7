import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Pieces packed by the model of contexts, as sessions use them on slow links.
@Suite struct DensePackingTests {
  /// Sentences of a few hundred words, which a sentence rarely repeats.
  static func prose(_ count: Int, seed: UInt64 = 3) -> String {
    var vocabulary = SeededGenerator(seed: 77)
    let syllables = ["sa", "re", "mi", "ton", "go", "le", "and", "wi", "ber", "sto", "ne", "ck"]
    let words = (0..<300).map { _ in
      (0...vocabulary.int(below: 3)).map { _ in vocabulary.pick(syllables) }.joined()
    }
    var random = SeededGenerator(seed: seed)
    var text = ""
    while text.utf8.count < count {
      text += words[random.int(below: 1 + random.int(below: words.count))] + (random.oneIn(9) ? ". " : " ")
    }
    return String(text.prefix(count))
  }

  private static func sync(level: Int? = nil, _ fill: (TestPeer) throws -> Void) throws -> Int {
    let link = try SlowLink(configure: { $0.compressionLevel = level })
    try fill(link.sender)
    try link.connect()
    let sender = link.ends[0]
    try link.run { try link.receiver.documents().count == link.sender.documents().count }
    #expect(try link.receiver.documents() == link.sender.documents())
    return sender.sentBytes
  }

  @Test func `a slow link carries prose in fewer bytes than deflate takes`() throws {
    func fill(_ peer: TestPeer) throws {
      try peer.put("large", ["text": .string(Self.prose(60_000))])
      for index in 0..<20 {
        try peer.put("small\(index)", ["text": .string(Self.prose(300, seed: UInt64(index)))])
      }
    }
    let deflated = try Self.sync(level: 9, fill)
    let dense = try Self.sync(fill)
    #expect(dense * 20 < deflated * 19, "\(dense) of \(deflated)")
  }

  @Test(arguments: 0..<4) func `whatever the bytes are like, they arrive as they were`(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    _ = try Self.sync { peer in
      for index in 0..<6 {
        let count = random.int(below: 9_000)
        let span = 1 + random.int(below: 256)
        let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.int(below: span)) }
        try peer.put(
          "d\(index)", ["bytes": .bytes(bytes), "zeros": .bytes(.init(repeating: 0, count: count))])
      }
    }
  }

  @Test func `pieces come out as they went in, and what is learnt at both ends helps`() throws {
    let packer = DenseCoder()
    let unpacker = DenseCoder()
    let (known, news) = (Array(Self.prose(20_000).utf8), Array(Self.prose(4_000, seed: 8).utf8))
    packer.learn(known.span.bytes)
    unpacker.learn(known.span.bytes)
    var sizes: [Int] = []
    for piece in [news, [], [0], known, [UInt8](repeating: 7, count: 9_000)] {
      let packed = packer.pack(piece.span.bytes)
      var plain: [UInt8] = []
      try unpacker.expand(packed.span.bytes, plainCount: piece.count, into: &plain)
      expectEqual(plain, piece)
      sizes.append(packed.count)
    }
    #expect(sizes[0] < DenseCoder().pack(news.span.bytes).count)
    #expect(sizes[4] < 100)
  }

  @Test func `a piece that ends early is refused where it ends, not taken for zeros`() throws {
    let news = Array(Self.prose(4_000, seed: 8).utf8)
    let packed = DenseCoder().pack(news.span.bytes)
    for kept in [0, 1, 10, packed.count / 2, packed.count - 5] {
      var plain: [UInt8] = []
      let error = #expect(throws: SyncError.self) {
        try DenseCoder().expand(Array(packed[..<kept]).span.bytes, plainCount: 16_384, into: &plain)
      }
      expectEqual(error?.code, .malformed)
      // Nothing is worked for that the bytes do not say.
      expect(plain.count < news.count * kept / packed.count + 200, "\(plain.count) from \(kept) bytes")
    }
  }
}
