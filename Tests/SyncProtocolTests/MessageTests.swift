import CRDTCore
import SyncProtocol
import TestKit
import Testing

/// Messages read back as they were written, and every shortened or lengthened form is refused.
@Suite struct MessageTests {
  private struct Everyone: SyncGate {
    var epoch: UInt64 { 0 }
    func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }
    func maySend(collection: String, to peer: PeerKind) -> Bool { true }
    func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  }

  private let gatekeeper = Gatekeeper(gate: Everyone(), peer: .small, access: .everything)
  private let vector = VersionVector([
    .init(
      writer: Writer(site: SiteID(high: 1, low: 2), birth: ClockReading(rawValue: 1_000)),
      reading: ClockReading(rawValue: 1_234))
  ])
  private let hash: UInt64 = 0x0000_0003_0000_0004

  private func cleared(_ name: String) throws -> Cleared {
    guard let cleared = gatekeeper.clear(gathered: name) else {
      throw CodecError(.unknownName, "the gate is closed")
    }
    return cleared
  }

  private func encoded(_ body: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    body(&writer)
    return writer.bytes
  }

  /// Reads `bytes` whole, and expects every proper prefix to be refused.
  private func roundTrip<T: Equatable>(
    _ bytes: [UInt8], to expected: T, _ read: (inout ByteReader) throws(CodecError) -> T
  ) throws {
    var reader = ByteReader(bytes.span.bytes)
    try expectEqual(read(&reader), expected)
    let isWhole = reader.isAtEnd
    expect(isWhole)
    for count in bytes.indices {
      let part = Array(bytes.prefix(count))
      #expect(throws: CodecError.self, "\(count) of \(bytes.count) bytes") {
        var reader = ByteReader(part.span.bytes)
        let value = try read(&reader)
        if reader.isAtEnd, value == expected { return }
        throw CodecError(.truncated, "shortened")
      }
    }
  }

  private var hello: Hello {
    var hello = Hello(
      versions: 1...3, kind: .big, appID: "app", peerName: "cloud", site: SiteID(high: 9, low: 8),
      logEpoch: 77, highest: ClockReading(rawValue: 12), silence: .milliseconds(2_500),
      incarnation: 99)
    hello.reserved = 5
    return hello
  }

  @Test func `a hello reads back`() throws {
    try roundTrip(encoded { hello.encode(to: &$0) }, to: hello) { reader throws(CodecError) in
      try Hello(from: &reader)
    }
  }

  @Test func `a hello with fields of a later version reads back without them`() throws {
    let bytes = encoded { out in
      hello.encode(to: &out)
      out.writeVarint(200)
      out.writeBlob([1, 2, 3])
    }
    var reader = ByteReader(bytes.span.bytes)
    #expect(try Hello(from: &reader) == hello)
  }

  @Test func `a hello of a stranger, of no site, of no kind or of no version is refused`() {
    var strangers: [[UInt8]] = []
    var bytes = encoded { hello.encode(to: &$0) }
    bytes[0] ^= 1
    strangers.append(bytes)
    var nobody = hello
    nobody.site = .zero
    strangers.append(encoded { nobody.encode(to: &$0) })
    bytes = encoded { hello.encode(to: &$0) }
    bytes[5] = 0  // The lowest version becomes zero.
    strangers.append(bytes)
    bytes = encoded { hello.encode(to: &$0) }
    bytes[5] = 4  // The range becomes empty.
    strangers.append(bytes)
    for bytes in strangers {
      #expect(throws: CodecError.self) {
        var reader = ByteReader(bytes.span.bytes)
        _ = try Hello(from: &reader)
      }
    }
  }

  @Test func `questions and answers read back`() throws {
    let range = KeyRange(collection: "cars", from: [3, 65], to: [3, 66])
    let questions = [
      RangeQuestion(
        try cleared("cars"), request: 300, range: range, holding: Fingerprint(count: 7, sum: hash)),
      .everything(300, range), .rest(300, range), .send(300, range, isSecret: false),
      .send(300, range, isSecret: true),
    ]
    for question in questions {
      try roundTrip(encoded { question.encode(to: &$0) }, to: question) { reader throws(CodecError) in
        try RangeQuestion(from: &reader)
      }
    }
    let items = try ["a", "b"].map { DocumentHash(id: try DocumentID($0), hash: hash) }
    let bodies: [RangeAnswer.Body] = [
      .items(items, others: OtherDocuments(count: 9, certificates: 2, total: 300)),
      .items(items, others: .none), .rest(items, isLast: false), .rest([], isLast: true),
      .split([
        .init(to: [3, 66], fingerprint: Fingerprint(count: 1, sum: hash)),
        .init(to: [], fingerprint: Fingerprint()),
      ]),
    ]
    for body in bodies {
      let answer = RangeAnswer(try cleared("cars"), request: 4, body: body)
      try roundTrip(encoded { answer.encode(to: &$0) }, to: answer) { reader throws(CodecError) in
        try RangeAnswer(from: &reader)
      }
    }
    for answer in [RangeAnswer.equal(5), .stream(6)] {
      try roundTrip(encoded { answer.encode(to: &$0) }, to: answer) { reader throws(CodecError) in
        try RangeAnswer(from: &reader)
      }
    }
  }

  @Test func `wants, haves and offers read back`() throws {
    let id = try DocumentID("a")
    let list = WantList(
      reconciliation: 2, seen: 5, isTransaction: true,
      wants: [
        DocumentWant(try cleared("cars"), id: id, vector: vector, isHeld: true),
        DocumentWant(whole: try DocumentID("b"), in: "cars"),
      ])
    try roundTrip(encoded { list.encode(to: &$0) }, to: list) { reader throws(CodecError) in
      try WantList(from: &reader)
    }
    let have = DocumentHave(try cleared("cars"), id: id, hash: hash, vector: vector)
    try roundTrip(encoded { DocumentHave.encode([have], reconciliation: 3, seen: 4, to: &$0) }, to: [have]) {
      reader throws(CodecError) in
      try DocumentHave.decode(from: &reader).haves
    }
    let offer = DocumentOffer(try cleared("cars"), item: DocumentHash(id: id, hash: hash))
    try roundTrip(encoded { DocumentOffer.encode([offer], to: &$0) }, to: [offer]) {
      reader throws(CodecError) in
      try DocumentOffer.decode(from: &reader)
    }
  }

  @Test(arguments: ["__secret", "system:data", "", String(repeating: "x", count: 101), "a\u{0}b"])
  func `a collection that cannot be synced is not cleared, nor read`(name: String) throws {
    let isCleared = gatekeeper.clear(gathered: name) != nil
    #expect(!isCleared)
    let question = RangeQuestion.rest(1, KeyRange(collection: name))
    let bytes = encoded { question.encode(to: &$0) }
    #expect(throws: CodecError.self) {
      var reader = ByteReader(bytes.span.bytes)
      _ = try RangeQuestion(from: &reader)
    }
  }

  @Test func `a count beyond the bytes is refused without room being made for it`() {
    let bytes = encoded { out in
      out.writeVarint(0)
      out.writeVarint(0)
      out.write(0 as UInt8)
      out.writeVarint(UInt64.max)
    }
    let error = #expect(throws: CodecError.self) {
      var reader = ByteReader(bytes.span.bytes)
      _ = try WantList(from: &reader)
    }
    #expect(error?.code == .truncated)
  }
}
