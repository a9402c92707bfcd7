import CRDTCore
import CRDTModel
import TestKit
import Testing

/// Limits on the sites that write a document and on the keys of its maps, the same at every entrance.
@Suite struct DocumentLimitTests {
  private static let limit = Limits.sitesPerDocument

  private func code(_ body: () throws -> Void) -> DocumentError.Code? {
    do { try body() } catch { return (error as? DocumentError)?.code }
    return nil
  }

  /// A replica of a document that so many other sites have written.
  private func peer(_ sites: Range<Int>) throws -> Peer {
    var peer = Peer(1)
    try peer.merge(CrowdedDocument.wire(sites))
    return peer
  }

  @Test func `a document on the wire has as many writers as there may be, and no more`() throws {
    let most = try peer(0..<Self.limit)
    #expect(try most.vector.elements.count == Self.limit)
    #expect(try most.fields == ["n": .int(Int64(Self.limit - 1))])
    let more = CrowdedDocument.wire(0..<Self.limit + 1)
    for read: (RawSpan) throws -> Void in [
      { try WireDocument.validate($0) }, { _ = try WireDocument.basis($0) },
    ] {
      let error = #expect(throws: CodecError.self) { try read(more.span.bytes) }
      expectEqual(error?.code, .limit)
    }
    var other = Peer(2)
    #expect(throws: CodecError.self) { try other.merge(more) }
    #expect(other.document == nil)
  }

  @Test func `a vector by itself has no more writers either`() throws {
    func vector(_ count: Int) -> VersionVector {
      VersionVector(
        (0..<count).map {
          let birth = ClockReading(milliseconds: 1_000)
          return .init(writer: Writer(site: CrowdedDocument.site($0), birth: birth), reading: birth)
        })
    }
    func read(_ vector: VersionVector) throws -> VersionVector {
      var out = ByteWriter()
      vector.encode(to: &out)
      var reader = ByteReader(out.bytes.span.bytes)
      return try VersionVector(from: &reader)
    }
    #expect(try read(vector(Self.limit)) == vector(Self.limit))
    let error = #expect(throws: CodecError.self) { try read(vector(Self.limit + 1)) }
    #expect(error?.code == .limit)
  }

  @Test func `the last site that may write goes on, and one more does not begin`() throws {
    var last = try peer(0..<Self.limit - 1)
    try last.upsert(["m": .int(1)], now: 1)
    try last.update([.set(["n"], .int(2)), .remove(["m"])], now: 2)
    #expect(try last.vector.elements.count == Self.limit)
    #expect(try last.fields == ["n": .int(2)])

    var refused = try peer(0..<Self.limit)
    let before = try refused.wire()
    #expect(code { try refused.upsert(["n": .int(1)], now: 1) } == .tooManySites)
    #expect(code { try refused.upsert(["n": .int(1)], .updateDifferentValues, now: 1) } == .tooManySites)
    #expect(code { try refused.update([.set(["n"], .int(1))], now: 1) } == .tooManySites)
    #expect(code { try refused.update([.increment(["n"], 1)], now: 1) } == .tooManySites)
    #expect(code { try refused.update([.set(["m", "k"], .int(1))], now: 1) } == .tooManySites)
    #expect(code { try refused.remove(now: 1) } == .tooManySites)
    #expect(try refused.wire() == before)
    // What writes nothing is no write.
    #expect(
      try !refused.upsert(["n": .int(Int64(Self.limit - 1))], .updateDifferentValues, now: 1))
  }

  @Test func `documents that are too much together stay as they are, at both sides`() throws {
    let half = Self.limit / 2
    var (one, other) = (try peer(0..<half + 1), try peer(half..<Self.limit + 1))
    let (mine, theirs) = (try one.wire(), try other.wire())
    let tables = one.tables.sites.sites.count
    for _ in 0..<2 {
      try expectEqual(one.merge(theirs).refusal, .tooManySites)
      try expectEqual(other.merge(mine).refusal, .tooManySites)
      try expectEqual(one.repair(theirs).refusal, .tooManySites)
      try expectEqual(other.repair(mine).refusal, .tooManySites)
    }
    #expect(try one.wire() == mine)
    #expect(try other.wire() == theirs)
    #expect(one.tables.sites.sites.count == tables)
    // As many as there may be are merged.
    var fits = try peer(half + 1..<Self.limit)
    #expect(try fits.merge(mine).refusal == nil)
    #expect(try fits.vector.elements.count == Self.limit)
  }

  @Test func `a write of one site more is refused as a delta and as a successor`() throws {
    let full = try peer(0..<Self.limit)
    let nearlyFull = try peer(1..<Self.limit)
    var writer = nearlyFull.changingSite(to: 7)
    try writer.upsert(["n": .int(-1)], now: 1_800_000_000_000)
    let delta = try writer.wire(lacking: try nearlyFull.vector)
    var here = full
    #expect(try here.merge(delta).refusal == .tooManySites)
    #expect(try here.wire() == full.wire())
    // What fits is taken in by either.
    let operationDelta = try #require(try writer.operationDelta(of: nearlyFull))
    for wire in [delta, operationDelta] {
      var fits = nearlyFull
      try expect(fits.merge(wire).refusal == nil)
      try expectEqual(fits.vector.elements.count, Self.limit)
    }
  }

  // MARK: - Keys of a map

  private static let keyLimit = Limits.keysPerMap

  private static func map(_ keys: Range<Int>) -> [TextKey: Value] {
    Dictionary(uniqueKeysWithValues: keys.map { (TextKey("k\($0)"), .null) })
  }

  private static let places: [@Sendable ([TextKey: Value]) -> [TextKey: Value]] = [
    { $0 }, { ["m": .map($0)] }, { ["a": .array([.map($0)])] },
  ]

  @Test(arguments: places.indices)
  func `a map has as many keys as there may be, and no more, wherever it stands`(place: Int) throws {
    let most = Self.places[place](Self.map(0..<Self.keyLimit))
    let more = Self.places[place](Self.map(0..<Self.keyLimit + 1))
    var peer = Peer(1)
    #expect(code { try peer.upsert(more, now: 1) } == .tooManyKeys)
    #expect(peer.document == nil)
    // The id is none of them.
    try peer.upsert(most.merging(["_id": .int(1)]) { $1 }, now: 1)
    var other = Peer(2)
    try other.pull(peer)
    #expect(try other.fields == most)
    let before = try other.wire()
    #expect(code { try other.upsert(more, now: 2) } == .tooManyKeys)
    for (key, value) in more where most[key] != value {
      expectEqual(code { try other.update([.set([key], value)], now: 2) }, .tooManyKeys)
      expectEqual(code { try other.update([.replace([key], value)], now: 2) }, .tooManyKeys)
    }
    #expect(try other.wire() == before)
    // What is not new goes on.
    try other.update([.set([more.keys.sorted()[0]], .int(1))], now: 3)
    #expect(try other.wire() != before)
  }

  @Test func `keys that are removed count until they are forgotten`() throws {
    var peer = Peer(1)
    try peer.upsert(Self.map(0..<Self.keyLimit), now: 1)
    try peer.update([.remove(["k0"]), .remove(["k1"])], now: 2)
    #expect(code { try peer.update([.set(["new"], .null)], now: 3) } == .tooManyKeys)
    #expect(try peer.collect(before: ClockReading(milliseconds: 3)) == .changed)
    try peer.update([.set(["new"], .null), .set(["newer"], .null)], now: 4)
    #expect(code { try peer.update([.set(["newest"], .null)], now: 5) } == .tooManyKeys)
  }

  @Test func `maps that have too many keys together stay as they are, at both sides`() throws {
    var (one, other) = (Peer(1), Peer(2))
    try one.upsert(["m": .map([:])], now: 1)
    try other.pull(one)
    try one.update([.set(["m"], .map(Self.map(0..<Self.keyLimit / 2 + 1)))], now: 2)
    try other.update([.set(["m"], .map(Self.map(Self.keyLimit / 2..<Self.keyLimit + 1)))], now: 2)
    let (mine, theirs) = (try one.wire(), try other.wire())
    #expect(try one.merge(theirs).refusal == .tooManyKeys)
    #expect(try one.merge(other.wire(lacking: try one.vector)).refusal == .tooManyKeys)
    #expect(try one.repair(theirs).refusal == .tooManyKeys)
    #expect(try other.merge(mine).refusal == .tooManyKeys)
    #expect(try one.wire() == mine)
    #expect(try other.wire() == theirs)
    try other.update([.remove(["m"])], now: 3)
    #expect(try one.merge(other.wire()).refusal == nil)
    #expect(try one.fields == [:])
  }

  @Test(arguments: places.indices, [false, true])
  func `a map of too many keys on the wire is refused`(place: Int, isUniform: Bool) throws {
    // Written by hand: nothing else makes it.
    func wire(_ keys: Int) -> [UInt8] {
      let life = ClockReading(milliseconds: 1_000)
      var out = ByteWriter()
      out.write(isUniform ? 3 : 1 as UInt8)
      out.writeFixed(life.rawValue)
      if isUniform {
        out.write(CrowdedDocument.site(1))
      } else {
        out.writeVarint(2)
        for number in 1...2 { out.write(CrowdedDocument.site(number)) }
        out.writeVarint(2)
        for index in 0..<2 {
          out.writeVarint(index)
          for _ in 0..<2 { out.writeSignedVarint(0) }
        }
        out.writeVarint(1)
      }
      if place > 0 {
        out.writeVarint(1)
        out.writeString(place == 1 ? "m" : "a")
      }
      if place == 1 { out.write(0x10 as UInt8) }
      if place == 2 { for byte in [7, 1, 8] as [UInt8] { out.write(byte) } }
      out.writeVarint(keys)
      for key in Self.map(0..<keys).keys.sorted() {
        out.writeString(key.text)
        out.write(0 as UInt8)
      }
      return out.bytes
    }
    var peer = Peer(1)
    try peer.merge(wire(Self.keyLimit))
    #expect(try peer.fields == Self.places[place](Self.map(0..<Self.keyLimit)))
    let more = wire(Self.keyLimit + 1)
    var tables = RecordTables()
    for read: () throws -> Void in [
      { try WireDocument.validate(more.span.bytes) },
      { _ = try DocumentCodec.merge(wire: more.span.bytes, existing: nil, own: .zero, tables: &tables) },
      { _ = try DocumentCodec.record(ofUniform: more.span.bytes, tables: &tables) },
    ].prefix(isUniform ? 3 : 2) {
      let error = #expect(throws: CodecError.self) { try read() }
      expectEqual(error?.code, .limit)
    }
  }

  @Test func `a replica without a store tells it, too`() throws {
    var replica = Replica(site: SiteID(high: 1, low: 1))
    var document = ReplicatedDocument()
    try replica.merge(CrowdedDocument.wire(0..<Self.limit), into: &document, now: 1)
    let before = try replica.encoding(of: document)
    guard
      case .refused(let error) = try replica.merge(
        CrowdedDocument.wire(1..<Self.limit + 1), into: &document, now: 1)
    else {
      Issue.record("it was merged")
      return
    }
    #expect(error.code == .tooManySites)
    #expect(code { try replica.upsert(["n": .int(1)], into: &document, now: 1) } == .tooManySites)
    #expect(try replica.encoding(of: document) == before)
  }
}

extension MergeOutcome {
  fileprivate var refusal: DocumentError.Code? {
    if case .refused(let error) = self { error.code } else { nil }
  }
}
