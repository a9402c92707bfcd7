import CRDTCore
import DocStore

@testable import SyncProtocol

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
    versions: 2...2, kind: .big, appID: "com.example.cars", peerName: "cloud",
    site: SiteID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210), logEpoch: 0x1122_3344_5566_7788,
    highest: ClockReading(rawValue: 0x0001_8BCF_E568_0001))
  let question: RangeQuestion
  let want: WantList
  let have: DocumentHave
  let withdrawal: Withdrawal
  let offer: DocumentOffer
  let answer: RangeAnswer
  let announcement: Announcement
  let statement: QueryQuestion
  let filter: IDFilter
  let filterFrames: [FilterFrame]
  let filterAsk: FilterAsk
  let filterRefusal = FilterFrame.refused(role: .haves, number: 3, "cars", price: 1_200)
  let acknowledgement: Acknowledgement = {
    var known = Acknowledgement()
    (known.wireBytes, known.plainBytes, known.transactions, known.room) = (70_000, 150_000, 12, 65_536)
    return known
  }()
  let resume = ResumeFrame(
    generation: 2, interest: 0x0102_0304_0506_0708, sequence: 812,
    commitCheck: 0x9F3A_0001, policyCheck: ResumeFrame.check(policy: 7))
  let resumeWithLag = ResumeFrame(
    generation: 2, interest: 0x0102_0304_0506_0708, sequence: 812,
    commitCheck: 0x9F3A_0001, policyCheck: ResumeFrame.check(policy: 7), lag: 1_500)
  let resumed = ResumedFrame(generation: 2, verdict: .follows, sequence: 815)
  let mark = MarkFrame(sequence: 815, commitCheck: 0x9F3A_0002, policyHash: 7, asksReceived: 3)
  let prune = Prune(forwards: true, settled: 300)
  let presence = SignedPresence(
    PeerPresence(
      site: SiteID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210),
      version: PeerPresence.Version(start: 1_700_000_000_000, number: 3), kind: .small, deviceName: "tablet",
      system: "Linux 6.1", release: "0.1.0", reachesBigPeer: true, metadata: ["room": .string("galley")])
  ) { (_: [UInt8]) in [1, 2, 3] }

  init() throws {
    let gatekeeper = Gatekeeper(gate: Everyone(), peer: .small, access: .everything)
    func cleared() throws -> Cleared {
      guard let cleared = gatekeeper.clear(gathered: "cars") else { throw Closed() }
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
      reconciliation: 3, seen: 7, isTransaction: true,
      wants: [DocumentWant(try cleared(), id: id, vector: vector, isHeld: true)])
    have = DocumentHave(try cleared(), id: id, hash: item.hash, vector: vector)
    withdrawal = Withdrawal(try cleared(), id: id, known: vector)
    offer = DocumentOffer(try cleared(), item: item)
    answer = RangeAnswer(
      try cleared(), request: 1, body: .items([item], others: OtherDocuments(count: 2, total: 7)))
    announcement = Announcement([
      [AnnouncedDocument(try cleared(), id: id, vector: vector, isHeld: true)],
      [AnnouncedDocument(try cleared(), id: id, vector: VersionVector(), hash: item.hash, leaves: true)],
    ])
    var filter = IDFilter(byteCount: 11)
    filter.insert(IDFilter.hash(id))
    self.filter = filter
    filterFrames = FilterFrame.frames(try cleared(), role: .offers, number: 2, filter)
    filterAsk = FilterAsk(try cleared(), role: .haves, number: 2, count: 100, spent: 4_000)
    statement = try QueryQuestion(
      "SELECT * FROM cars WHERE color = :color", arguments: ["color": .string("red")],
      limits: RemoteQueryLimits(time: .seconds(5), rows: 100, bytes: 1 << 20))
  }

  /// File names without version and extension, and the frames.
  var frames: [(name: String, frame: [UInt8])] {
    [
      ("hello", FrameCodec.frame(.hello, isFirst: true) { hello.encode(to: &$0) }),
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
      ("have", FrameCodec.frame(.have) { DocumentHave.encode([have], reconciliation: 0, seen: 7, to: &$0) }),
      ("withdraw", FrameCodec.frame(.withdraw) { Withdrawal.encode([withdrawal], to: &$0) }),
      ("offer", FrameCodec.frame(.offer) { DocumentOffer.encode([offer], to: &$0) }),
      ("resume", FrameCodec.frame(.resume) { resume.encode(to: &$0) }),
      ("resume-lag", FrameCodec.frame(.resume) { resumeWithLag.encode(to: &$0) }),
      ("resumed", FrameCodec.frame(.resumed) { resumed.encode(to: &$0) }),
      ("mark", FrameCodec.frame(.mark) { mark.encode(to: &$0) }),
      ("announce", FrameCodec.frame(.announce) { announcement.encode(to: &$0) }),
      ("prune", FrameCodec.frame(.prune) { prune.encode(to: &$0) }),
      (
        "ask",
        FrameCodec.frame(.ask) { out in
          out.writeVarint(1)
          statement.encode(to: &out)
        }
      ),
      (
        "stop-ask",
        FrameCodec.frame(.stopAsk) { out in
          out.writeVarint(3)
          out.write(1)
          out.writeVarint(900)
        }
      ),
      ("filter", FrameCodec.frame(.filter) { out in for frame in filterFrames { frame.encode(to: &out) } }),
      ("filter-refused", FrameCodec.frame(.filter) { filterRefusal.encode(to: &$0) }),
      ("acknowledge", FrameCodec.frame(.acknowledge) { acknowledgement.encode(to: &$0) }),
    ] + described
  }

  /// Those that are written by the description of the format alone.
  private var described: [(name: String, frame: [UInt8])] {
    [
      (
        "staged",
        FrameCodec.frame(.staged) { out in
          out.writeVarint(1)
          out.write(12)
          out.writeVarint(1)
          for byte in 1...6 as ClosedRange<UInt8> { out.write(byte) }
          out.writeVarint(500)
          for byte in 7...12 as ClosedRange<UInt8> { out.write(byte) }
        }
      ),
      (
        "reuse",
        FrameCodec.frame(.reuse) { out in
          out.write(3)
          for number in [5, 150_000, 300, 1, 2, 7] as [UInt64] { out.writeVarint(number) }
          out.writeFixed(0x0102_0304_0506_0708 as UInt64)
        }
      ),
      (
        "interest",
        FrameCodec.frame(.interest) { out in
          out.writeVarint(2)
          out.write(7)
          out.writeVarint(1)
          var query = ByteWriter()
          query.write(0)
          query.writeString("cars")
          query.writeString("SELECT * FROM cars WHERE color = :c")
          query.writeVarint(1)
          query.writeString("c")
          ValueCodec.write(.string("red"), to: &query)
          out.writeBlob(query.bytes)
        }
      ),
      ("asked", FrameCodec.frame(.asked) { $0.writeVarint(300) }),
      ("settled", FrameCodec.frame(.settled) { $0.writeVarint(300) }),
      (
        "fragment",
        FrameCodec.frame(.fragment) { $0.write([1, 4, 3, 1, 2, 3]) }
      ),
      ("fragment-drop", FrameCodec.frame(.fragment) { $0.write(2) }),
      (
        "chunk",
        FrameCodec.frame(.chunk) { out in
          out.write(1)
          for number in [5, 150_000, 300, 3] as [UInt64] { out.writeVarint(number) }
          out.write([1, 2, 3])
        }
      ),
      ("chunk-drop", FrameCodec.frame(.chunk) { $0.write([2, 5]) }),
      ("ping", FrameCodec.frame(.ping) { $0.writeFixed(Self.nonce) }),
      ("pong", FrameCodec.frame(.pong) { $0.writeFixed(Self.nonce) }),
      ("renew", FrameCodec.frame(.renew) { _ in }),
      ("renewed", FrameCodec.frame(.renewed) { _ in }),
      ("unreadable", FrameCodec.frame(.unreadable) { _ in }),
      ("withheld", FrameCodec.frame(.withheld) { $0.writeVarint(3) }),
      (
        "forecast",
        FrameCodec.frame(.forecast) { out in
          for number in [300, 5_000] as [UInt64] { out.writeVarint(number) }
          out.write(1)
        }
      ),
      ("presence-wanted", FrameCodec.frame(.presenceWanted) { $0.write([1, 5, 2]) }),
      ("presence", FrameCodec.frame(.presence) { presence.encode(to: &$0) }),
      ("revocations", FrameCodec.frame(.revocations) { $0.write([0, 0]) }),
      ("filter-wanted", FrameCodec.frame(.filterWanted) { filterAsk.encode(to: &$0) }),
      (
        "bye",
        FrameCodec.frame(.bye) { out in
          out.writeString("closed")
          out.writeString("The session was closed")
        }
      ),
      ("seen", FrameCodec.frame(.seen) { $0.writeFixed(Self.seenReading) }),
      ("run", FrameCodec.frame(.run) { $0.writeFixed(Self.nonce) }),
      (
        "rows",
        FrameCodec.frame(.rows) { out in
          out.writeVarint(1)
          var row = ByteWriter()
          row.writeBlob([3] + Array("abc".utf8))
          ValueCodec.write(.map(["n": .int(7)]), to: &row)
          out.writeBlob(row.bytes)
        }
      ),
      (
        "answered",
        FrameCodec.frame(.answered) { out in
          out.writeVarint(1)
          out.writeString("limit")
          out.writeString("too much")
          out.writeVarint(100)
          out.writeVarint(1_500)
        }
      ),
    ]
  }

  static let nonce: UInt64 = 0x0102_0304_0506_0708
  /// Later than all that a fresh store of the tests has written.
  static let seenReading: UInt64 = 0x018B_CFE5_6800_0001

  /// The wire form of a fresh document.
  static func wireDocument(_ fields: [TextKey: Value], at clock: ManualClock = ManualClock()) throws
    -> [UInt8]
  {
    let network = TestNetwork()
    let peer = try network.addPeer("writer", clock: clock)
    defer { withExtendedLifetime(network) {} }
    try peer.put("x", fields)
    return try peer.wireDocument("x")
  }

  /// A group of one large document.
  static func largeGroup() throws -> [UInt8] {
    var out = ByteWriter()
    out.writeVarint(1)
    out.writeString("things")
    out.writeBlob(try DocumentID("large").bytes)
    out.write(0)
    out.writeBlob(try wireDocument(largeFields))
    return out.bytes
  }

  /// About 150 KB that compress.
  static var largeFields: [TextKey: Value] {
    ["text": .string((0..<15_000).map { "line \($0 % 97)\n" }.joined())]
  }
}
