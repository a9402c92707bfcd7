import CRDTModel
import Foundation
import TestKit
import Testing

@testable import CRDTCore

/// What a document keeps of writers that a newer writer of their site superseded, after many openings.
@Suite struct SupersededWriterTests {
  private static let openings = 10_000

  private func open(_ peer: inout Peer, _ number: Int) {
    peer.open(random: UInt64(number) &* 0x9E37_79B9_7F4A_7C15, now: UInt64(number) * 1_000)
  }

  @Test func `a document that was written after each of ten thousand openings stays small`() throws {
    var phone = Peer(1)
    var cloud = Peer(2)
    try phone.upsert(["a": .int(0), "b": .int(0), "c": .int(0), "once": .string("kept")], now: 1)
    var most = (elements: 0, metadata: 0, delta: 0)
    for number in 1...Self.openings {
      open(&phone, number)
      let key = ["a", "b", "c"][number % 3] as TextKey
      try phone.update([.set([key], .int(Int64(number)))], now: UInt64(number) * 1_000)
      let delta = try phone.wire(lacking: cloud.vector)
      try cloud.merge(delta)
      expectEqual(cloud.document?.summary, phone.document?.summary, "opening \(number)")
      most.elements = max(most.elements, try phone.vector.elements.count, try cloud.vector.elements.count)
      most.metadata = max(most.metadata, phone.metadataBytes)
      most.delta = max(most.delta, delta.count)
    }
    #expect(most.elements <= SupersededWriters.limit)
    #expect(most.metadata <= 320, "bytes of merge metadata")
    #expect(most.delta <= 700, "bytes of a delta")
    let fields = try cloud.fields
    #expect(fields == ["a": .int(9_999), "b": .int(10_000), "c": .int(9_998), "once": .string("kept")])
    #expect(try phone.decodedSummary == phone.document?.summary)
    var fresh = Peer(3)
    try fresh.merge(phone.wire())
    #expect(fresh.document?.summary == phone.document?.summary)
  }

  @Test func `a counter keeps what each opening added, in few bytes, and its document's vector stays short`()
    throws
  {
    let openings = 2_500
    var phone = Peer(1)
    var cloud = Peer(2)
    try phone.upsert(["n": .counter(0)], now: 1)
    try cloud.pull(phone)
    for number in 1...openings {
      open(&phone, number)
      try phone.update([.increment(["n"], 1)], now: UInt64(number) * 1_000)
      if number % 250 == 0 {
        try cloud.merge(try phone.wire(lacking: cloud.vector))
        try cloud.update([.increment(["n"], 1_000_000)], now: UInt64(number) * 1_000)
        try phone.merge(try cloud.wire(lacking: phone.vector))
        expectEqual(cloud.document?.summary, phone.document?.summary)
      }
    }
    #expect(try phone.fields == ["n": .counter(Int64(openings) + 10_000_000)])
    #expect(try phone.vector.elements.count <= SupersededWriters.contributorLimit)
    #expect(phone.metadataBytes <= openings * 24)
    #expect(try phone.decodedSummary == phone.document?.summary)
    // An operation delta carries none of them.
    let before = phone
    try phone.update([.increment(["n"], 5)], now: UInt64(openings) * 1_000 + 1)
    let operationDelta = try #require(try phone.operationDelta(of: before))
    #expect(operationDelta.count < 60)
    try cloud.pull(before)
    try cloud.merge(operationDelta)
    #expect(cloud.document?.summary == phone.document?.summary)
    var fresh = Peer(3)
    let wire = try phone.wire()
    try fresh.merge(wire)
    #expect(fresh.document?.summary == phone.document?.summary)
    let columns = try #require(try WireColumns(splitting: wire.span.bytes))
    let joined = try WireColumns.joined(
      columns.content.span.bytes, columns.stamps.span.bytes, limit: Limits.hardDocumentBytes)
    #expect(joined == wire)
  }

  @Test func `a thousand devices that were opened many times count as a thousand writers`() throws {
    var hub = Peer(0)
    try hub.upsert(["n": .int(0)], now: 1)
    var now: UInt64 = 1
    for _ in 0..<4 {
      for number in 1...1_000 {
        now += 1
        var device = Peer(number)
        device.tables = hub.tables
        device.document = hub.document
        device.open(random: now &* 0x9E37_79B9_7F4A_7C15, now: now)
        try device.update([.set(["n"], .int(Int64(now)))], now: now)
        hub.tables = device.tables
        hub.document = device.document
      }
    }
    #expect(try hub.fields == ["n": .int(Int64(now))])
    #expect(try hub.vector.elements.count <= 1_002)
    #expect(hub.tables.sites.count == 1_002)
    let before = hub
    try hub.update([.set(["n"], .int(0))], now: now + 1)
    let operationDelta = try #require(try hub.operationDelta(of: before))
    #expect(operationDelta.count < 60, "bytes of one write")
    let delta = try hub.wire(lacking: before.vector)
    #expect(delta.count < 48 << 10, "bytes of a delta")
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `stores that were copied lose nothing where a document has more births than its vector keeps`(
    seed: UInt64
  )
    throws
  {
    var history = ForkHistory(seed: seed, isLong: true)
    try history.run()
  }

  // MARK: - One write on top of a state

  /// The peer with another list of superseded writers, and so with the same summary.
  private func relisted(_ peer: Peer, _ change: (inout DocumentState) -> Void) throws -> Peer {
    var peer = peer
    let document = try #require(peer.document)
    var state = try DocumentState(
      RecordView(document.record.span.bytes), own: peer.site, tables: peer.tables)
    change(&state)
    peer.document = StateEncoder.encode(state, own: peer.site, tables: &peer.tables)
    #expect(peer.document?.summary == document.summary)
    return peer
  }

  /// A document that one device's store, opened three times, and another one have written.
  private func shared() throws -> (phone: Peer, cloud: Peer) {
    var (phone, cloud) = (Peer(1), Peer(2))
    try phone.upsert(["x": .int(0), "y": .int(0)], now: 1_000_000)
    phone.open(random: 7, now: 2_000_000)
    try phone.update([.set(["x"], .int(1)), .set(["y"], .int(1))], now: 2_000_000)
    phone.open(random: 9, now: 2_500_000)
    try phone.update([.set(["x"], .int(7)), .set(["y"], .int(7))], now: 2_500_000)
    try cloud.pull(phone)
    try cloud.update([.set(["z"], .int(1))], now: 3_000_000)
    try phone.pull(cloud)
    return (phone, cloud)
  }

  @Test(arguments: [true, false])
  func `a successor is taken by a peer that lists other superseded writers`(_ listsMore: Bool) throws {
    let shared = try shared()
    var cloud = shared.cloud
    let site = shared.phone.site
    var other = try relisted(shared.phone) {
      if listsMore {
        $0.vector.advance(
          Writer(site: site, birth: ClockReading(milliseconds: 5)), to: ClockReading(milliseconds: 9))
      } else {
        $0.vector.dropSuperseded(unless: [Writer(site: $0.life.site, birth: $0.lifeBirth)])
      }
    }
    #expect(try other.vector.elements.count == (listsMore ? 5 : 3))
    let before = cloud
    try cloud.update([.set(["x"], .int(2))], now: 4_000_000)
    let operationDelta = try #require(try cloud.operationDelta(of: before))
    let standing = try #require(other.document)
    let state = try DocumentState(
      RecordView(standing.record.span.bytes), own: other.site, tables: other.tables)
    let read = try #require(try OperationDeltaReader.read(operationDelta.span.bytes, onto: state))
    #expect(read.vector.elements.last == (try cloud.vector.elements.last))
    // In a run the writer is named by its site, and its place found anew.
    let (former, document) = (try #require(before.document), try #require(cloud.document))
    let whole = try #require(
      try WireDocument.operationDelta(of: former.stored, to: document.stored, tables: cloud.tables))
    var columns: [Range<Int>] = []
    let part = try #require(try RunMember(whole, values: &columns))
    var entries = ByteWriter()
    try part.head.appendEntries(operationDelta.span.bytes, columns: &columns, to: &entries)
    for route in [CodecRoute.shortest, .tree] {
      var (codec, tables) = (RunCodec(part.head), other.tables)
      let made = try codec.apply(
        entries.bytes.span.bytes, to: standing.stored, own: other.site, tables: &tables, by: route)
      expectEqual(made?.summary, document.summary)
    }
    #expect(try other.merge(operationDelta).isChanged)
    #expect(other.document?.summary == cloud.document?.summary)
    #expect(try other.vector.elements.last == cloud.vector.elements.last)
    #expect(try other.fields == cloud.fields)
  }

  /// A summary does not tell how far it has come, and so nothing would tell whose write it was.
  @Test func `a superseded writer that goes on makes no successor`() throws {
    var (phone, cloud) = (Peer(1), Peer(2))
    try phone.upsert(["x": .int(0)], now: 1_000_000)
    var former = phone
    phone.open(random: 7, now: 2_000_000)
    try phone.update([.set(["x"], .int(1))], now: 2_000_000)
    try cloud.pull(phone)
    try former.pull(phone)
    let (before, formerBefore) = (cloud, former)
    try former.update([.set(["y"], .int(2))], now: 3_000_000)
    try cloud.pull(former)
    #expect(try cloud.fields == ["x": .int(1), "y": .int(2)])
    for route in [CodecRoute.shortest, .tree] {
      try expect(cloud.operationDelta(of: before, by: route) == nil)
      try expect(former.operationDelta(of: formerBefore, by: route) == nil)
    }
    // The newest one's is one.
    let next = phone
    try phone.update([.set(["x"], .int(3))], now: 4_000_000)
    #expect(try phone.operationDelta(of: next) != nil)
  }

  // MARK: - Contributions

  /// A counter of which the vector leaves a contributor out.
  private func unlisted() throws -> Peer {
    var phone = Peer(1)
    try phone.upsert(["n": .counter(2), "text": .string("x")], now: 1_000_000)
    try phone.update([.increment(["n"], 3)], now: 1_000_000)
    phone.open(random: 7, now: 2_000_000)
    try phone.update([.increment(["n"], 4), .set(["text"], .string("y"))], now: 2_000_000)
    phone.open(random: 9, now: 3_000_000)
    try phone.update([.increment(["n"], 5), .set(["text"], .string("z"))], now: 3_000_000)
    let document = try #require(phone.document)
    var state = try DocumentState(
      RecordView(document.record.span.bytes), own: phone.site, tables: phone.tables)
    let life = Writer(site: state.life.site, birth: state.lifeBirth)
    state.vector.dropSuperseded(unless: [life])
    #expect(state.vector.elements.count == 2)
    phone.document = StateEncoder.encode(state, own: phone.site, tables: &phone.tables)
    #expect(phone.document?.summary == document.summary)
    return phone
  }

  @Test func `such a document is written as an earlier release wrote it`() throws {
    func golden(_ name: String) throws -> [UInt8] {
      let url = try #require(
        Bundle.module.url(forResource: name, withExtension: "bin", subdirectory: "Golden"))
      return [UInt8](try Data(contentsOf: url))
    }
    let phone = try unlisted()
    let (record, wire) = (try golden("record-superseded-v2"), try golden("wire-superseded-v1"))
    let written = try phone.wire()
    expect(phone.document?.record == record, "record \(phone.document?.record ?? [])")
    expect(written == wire, "wire \(written)")
  }

  @Test func `a contribution without its writer in the vector is kept, sent and added to`() throws {
    var phone = try unlisted()
    #expect(try phone.fields == ["n": .counter(14), "text": .string("z")])
    var cloud = Peer(2)
    try cloud.merge(phone.wire())
    #expect(cloud.document?.summary == phone.document?.summary)
    try cloud.update([.increment(["n"], 100)], now: 4_000_000)
    try phone.pull(cloud)
    try phone.update([.increment(["n"], 1_000)], now: 4_000_000)
    try cloud.pull(phone)
    #expect(try cloud.fields == ["n": .counter(1_114), "text": .string("z")])
    #expect(try phone.fields == cloud.fields)
    #expect(cloud.document?.summary == phone.document?.summary)
    #expect(try phone.decodedSummary == phone.document?.summary)
  }

  @Test
  func
    `a contributor that stands in the vector, or has no site there, is refused where it is told as left out`()
    throws
  {
    let wire = try unlisted().wire()
    _ = try WireDocument.validate(wire.span.bytes)
    var refused = 0
    for index in wire.indices {
      for byte in [0, 1, 2, 3, 255] as [UInt8] where wire[index] != byte {
        var other = wire
        other[index] = byte
        do {
          try WireDocument.validate(other.span.bytes)
          // What is taken is canonical.
          var peer = Peer(3)
          try peer.merge(other)
          expectEqual(try peer.wire(), other)
        } catch is CodecError { refused += 1 }
      }
    }
    #expect(refused > wire.count)
  }
}
