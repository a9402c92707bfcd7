import CRDTCore
import DocStore
import SyncProtocol

/// One frame of each kind whose content is fixed, as the golden files have them.
struct GoldenMessages {
  private struct Everyone: SyncGate {
    var epoch: UInt64 { 0 }
    func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }
    func maySend(collection: String, to peer: PeerKind) -> Bool { true }
    func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  }

  private struct Closed: Error {}

  let hello = Hello(
    versions: 1...1, features: [], kind: .big, appID: "com.example.cars", peerName: "cloud",
    site: SiteID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210), logEpoch: 0x1122_3344_5566_7788,
    highest: ClockReading(rawValue: 0x0001_8BCF_E568_0001))
  let question: RangeQuestion
  let want: WantList
  let have: DocumentHave
  let offer: DocumentOffer
  let answer: RangeAnswer

  init() throws {
    let gatekeeper = Gatekeeper(gate: Everyone(), peer: .small)
    func cleared() throws -> Cleared {
      guard let cleared = gatekeeper.clear("cars") else { throw Closed() }
      return cleared
    }
    let vector = VersionVector([
      .init(
        writer: Writer(site: SiteID(high: 5, low: 6), birth: ClockReading(rawValue: 1_000)),
        reading: ClockReading(rawValue: 1_300))
    ])
    let id = try DocumentID("abc")
    let item = DocumentHash(id: id, hash: 0x0000_0007_0000_0008)
    question = RangeQuestion(
      try cleared(), request: 1, range: KeyRange(collection: "cars", from: [3, 65], to: [3, 90]),
      holding: Fingerprint(count: 200, sum: 0x0000_0001_0000_0002))
    want = WantList(
      round: 3, isGroup: true, wants: [DocumentWant(try cleared(), id: id, vector: vector, isHeld: true)])
    have = DocumentHave(try cleared(), id: id, hash: item.hash, vector: vector)
    offer = DocumentOffer(try cleared(), item: item)
    answer = RangeAnswer(try cleared(), request: 1, body: .items([item], others: 2))
  }

  /// File names without version and extension, and the frames.
  var frames: [(name: String, frame: [UInt8])] {
    [
      ("hello", FrameCodec.frame(.hello) { hello.encode(to: &$0) }),
      (
        "compare",
        FrameCodec.frame(.compare) { out in
          out.writeVarint(1)
          out.writeVarint(1)
          question.encode(to: &out)
        }
      ),
      (
        "answer",
        FrameCodec.frame(.answer) { out in
          out.writeVarint(1)
          out.writeVarint(1)
          answer.encode(to: &out)
        }
      ),
      ("want", FrameCodec.frame(.want) { want.encode(to: &$0) }),
      ("have", FrameCodec.frame(.have) { DocumentHave.encode([have], round: 0, to: &$0) }),
      ("offer", FrameCodec.frame(.offer) { DocumentOffer.encode([offer], to: &$0) }),
    ]
  }

  /// What a sender sends to a receiver that has nothing: a group of two, a deletion's neighbour and a large document.
  static func recordSession() throws -> [UInt8] {
    let network = TestNetwork(seed: 1)
    let sender = try network.addPeer("sender")
    let receiver = try network.addPeer("receiver")
    try sender.write { transaction in
      try transaction.upsert(
        ["color": .string("red"), "count": .counter(2)], id: try DocumentID("a"), into: "cars")
      try transaction.upsert(
        ["color": .string("blue"), "tags": .array([.int(1), .null])], id: try DocumentID("b"), into: "cars")
    }
    try sender.put("c", ["color": .string("green")], in: "cars")
    try sender.remove("c", in: "cars")
    try sender.put("large", largeFields, in: "cars")
    try receiver.subscribe("SELECT * FROM cars")
    var recording: [UInt8] = []
    network.onSend = { end, bytes in if end.peer === sender { recording += bytes } }
    try network.connect(sender, receiver)
    try network.settle()
    return recording
  }

  /// The wire form of a fresh document.
  static func wireDocument(_ fields: [String: Value]) throws -> [UInt8] {
    let network = TestNetwork()
    let peer = try network.addPeer("writer")
    defer { withExtendedLifetime(network) {} }
    try peer.put("x", fields)
    return try peer.store.read { transaction in
      var out = ByteWriter()
      guard let collection = try transaction.collection("things") else { return [] }
      try transaction.withRecord(collection, try DocumentID("x")) { record, _ in
        try WireDocument.append(
          record, lacking: VersionVector(),
          tables: RecordTables(keys: collection.keys, sites: transaction.sites), to: &out)
      }
      return out.bytes
    }
  }

  /// About 150 KB that compress.
  static var largeFields: [String: Value] {
    ["text": .string((0..<15_000).map { "line \($0 % 97)\n" }.joined())]
  }
}
