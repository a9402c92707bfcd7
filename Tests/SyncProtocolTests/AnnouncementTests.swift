import CRDTCore
import DocStore
import ScopePolicy
import SyncProtocol
import TestKit
import Testing

/// What peers announce and say of announcements, good and bad.
@Suite struct AnnouncementTests {
  private struct Closed: Error {}

  private static let writer = Writer(site: SiteID(high: 1, low: 2), birth: ClockReading(rawValue: 500))

  static let malformed: [[UInt8]] = [
    [0, 1, 0],  // an empty group
    [0, 1, 1, 1, 0x61, 2, 0x30, 0x31, 0, 1, 0, 1, 0],  // a site that is not listed
    [0, 1, 1, 1, 0x61, 3, 3, 0x61, 0, 0, 0],  // neither a vector nor a hash
    [0, 1, 1, 1, 0x61, 3, 3, 0x61, 0, 64, 0],  // unknown flags
    [0xFF, 0xFF, 0xFF, 0x7F],  // more sites than bytes
  ]

  private func document(
    _ id: String, reading: UInt64 = 500, hash: UInt64? = nil, isHeld: Bool = false, leaves: Bool = false
  ) throws -> AnnouncedDocument {
    let gatekeeper = Gatekeeper(gate: SyncScopes(), peer: .small, access: .everything)
    guard let cleared = gatekeeper.clear(gathered: "things") else { throw Closed() }
    let elements = [VersionVector.Element(writer: Self.writer, reading: ClockReading(rawValue: reading))]
    return AnnouncedDocument(
      cleared, id: try DocumentID(id), vector: VersionVector(hash == nil ? elements : []), hash: hash,
      isHeld: isHeld, leaves: leaves)
  }

  private func open() throws -> RawPeer {
    let raw = try RawPeer()
    try raw.open(subscribing: "SELECT * FROM things")
    return raw
  }

  @Test func `announcements and prunings read back`() throws {
    let announcement = Announcement([
      [try document("a"), try document("b", reading: 900, isHeld: true)], [try document("c", hash: 77)],
    ])
    var out = ByteWriter()
    announcement.encode(to: &out)
    // The site once; of a document its name and a few bytes.
    #expect(out.count < 16 + 3 * 26)
    var reader = ByteReader(out.bytes.span.bytes)
    #expect(try Announcement(from: &reader) == announcement)
    var word = ByteWriter()
    let prune = Prune(forwards: true, own: true, settled: 300)
    prune.encode(to: &word)
    var other = ByteReader(word.bytes.span.bytes)
    #expect(try Prune(from: &other) == prune)
  }

  @Test(arguments: malformed)
  func `a malformed announcement ends the session`(payload: [UInt8]) throws {
    let raw = try open()
    raw.send(.announce) { $0.write(payload) }
    #expect(raw.closed != nil)
  }

  @Test func `settling what was not announced ends the session`() throws {
    let raw = try open()
    raw.send(.prune) { Prune(settled: 1).encode(to: &$0) }
    #expect(raw.closed?.code == .malformed)
  }

  @Test func `what is announced is wanted once, and compared when it never comes`() throws {
    let raw = try open()
    // The first reconciliation finds nothing.
    raw.send(.answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      RangeAnswer.equal(1).encode(to: &out)
    }
    raw.send(.settled) { $0.writeVarint(1) }
    let compared = raw.sent(.compare).count
    let announcement = Announcement([[try document("a")]])
    raw.send(.announce) { announcement.encode(to: &$0) }
    let frame = try #require(raw.sent(.want).first)
    var reader = ByteReader(frame.span.bytes)
    let want = try WantList(from: &reader)
    #expect(want.isGraft)
    #expect(want.wants.map(\.id) == [try DocumentID("a")])
    for _ in 0..<200 { raw.tick(after: .milliseconds(100)) }
    #expect(raw.sent(.want).count == 1)
    #expect(raw.sent(.compare).count == compared + 1)
    #expect(raw.closed == nil)
  }

  @Test func `what leaves before it is here is wanted when it has come`() throws {
    let raw = try open()
    try raw.sendDocument("a", ["n": .int(2)])
    let announcement = Announcement([[try document("a", leaves: true)]])
    raw.send(.announce) { announcement.encode(to: &$0) }
    #expect(raw.sent(.want).isEmpty)
    try raw.apply()
    raw.tick(after: .milliseconds(50))
    let frame = try #require(raw.sent(.want).first)
    var reader = ByteReader(frame.span.bytes)
    #expect(try WantList(from: &reader).wants.map(\.id) == [try DocumentID("a")])
    #expect(raw.closed == nil)
  }

  @Test func `a flood of announcements that are never kept takes no more than it may`() throws {
    let raw = try open()
    var wanted = 0
    for batch in 0..<60 {
      let groups = try (0..<1_000).map { [try document("d\(batch * 1_000 + $0)")] }
      raw.send(.announce) { Announcement(groups).encode(to: &$0) }
    }
    for frame in raw.sent(.want) {
      var reader = ByteReader(frame.span.bytes)
      wanted += try WantList(from: &reader).wants.count
    }
    // The rest is left to a reconciliation.
    #expect(wanted == 32_768)
    #expect(raw.closed == nil)
    #expect(raw.session.statistics.transactionsHeard == 60_000)
  }
}
