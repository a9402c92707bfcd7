import CRDTCore
import CRDTModel
import TestKit
import Testing

/// How many sites may write one document: the same number at every entrance.
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
      #expect(error?.code == .limit)
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
      #expect(try one.merge(theirs).refusal == .tooManySites)
      #expect(try other.merge(mine).refusal == .tooManySites)
      #expect(try one.repair(theirs).refusal == .tooManySites)
      #expect(try other.repair(mine).refusal == .tooManySites)
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
    let successor = try #require(try writer.successor(of: nearlyFull))
    for wire in [delta, successor] {
      var fits = nearlyFull
      #expect(try fits.merge(wire).refusal == nil)
      #expect(try fits.vector.elements.count == Self.limit)
    }
  }

  @Test func `a replica without a store tells it, too`() throws {
    var replica = Replica(site: CrowdedDocument.site(-1))
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
