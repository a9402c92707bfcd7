import CRDTCore
import CRDTModel
import TestKit
import Testing

/// What a team that takes only this module has.
@Suite struct ReplicaTests {
  private static let today: UInt64 = 1_760_000_000_000

  private func replica(_ number: UInt64) -> Replica { Replica(site: SiteID(high: number, low: ~number)) }

  @Test func `concurrent edits of two replicas merge to the same, both ways`() throws {
    var (a, b) = (replica(1), replica(2))
    var (here, there) = (ReplicatedDocument(), ReplicatedDocument())
    try a.upsert(
      ["status": .string("open"), "count": .counter(1), "map": .map(["x": .int(1)])], into: &here,
      now: Self.today)
    #expect(try b.merge(a.encoding(of: here), into: &there, now: Self.today) == .changed)
    #expect(here.summary == there.summary)
    let (known, other) = (try a.vector(of: here), try b.vector(of: there))
    try a.update(
      [.set(["status"], .string("paid")), .increment(["count"], 2)], of: &here, now: Self.today + 1)
    try b.update([.set(["map", "y"], .null), .increment(["count"], 3)], of: &there, now: Self.today + 1)
    let (mine, theirs) = (try a.delta(of: here, since: known), try b.delta(of: there, since: other))
    #expect(try a.merge(theirs, into: &here, now: Self.today) == .changed)
    #expect(try b.merge(mine, into: &there, now: Self.today) == .changed)
    #expect(try b.merge(mine, into: &there, now: Self.today) == .unchanged)
    let expected: [TextKey: Value] = [
      "status": .string("paid"), "count": .counter(6), "map": .map(["x": .int(1), "y": .null]),
    ]
    #expect(try a.fields(of: here) == expected && b.fields(of: there) == expected)
    #expect(try a.encoding(of: here) == b.encoding(of: there))
    #expect(try a.vector(of: here) == b.vector(of: there))
    #expect(here.summary == there.summary)
  }

  @Test func `random histories of three replicas end in one state`() throws {
    for seed in 0..<60 as Range<UInt64> {
      var random = RandomDocument(seed: seed)
      var replicas = (1...3).map { replica($0) }
      var documents = Array(repeating: ReplicatedDocument(), count: 3)
      for step in 0..<40 as Range<UInt64> {
        let index = random.generator.int(below: 3)
        let now = Self.today + step
        switch random.generator.int(below: 8) {
        case 0: try replicas[index].remove(&documents[index], now: now)
        case 1, 2: _ = try? replicas[index].upsert(random.fields(), into: &documents[index], now: now)
        case 3: _ = try? replicas[index].update([random.edit()], of: &documents[index], now: now)
        default:
          let other = random.generator.int(below: 3)
          guard documents[other].record != nil else { continue }
          let since = try replicas[index].vector(of: documents[index])
          let delta = try replicas[other].delta(of: documents[other], since: since)
          try replicas[index].merge(delta, into: &documents[index], now: now)
        }
      }
      for _ in 0..<2 {
        for index in 0..<3 {
          for other in 0..<3 where other != index && documents[other].record != nil {
            let bytes = try replicas[other].encoding(of: documents[other])
            try replicas[index].merge(bytes, into: &documents[index], now: Self.today)
          }
        }
      }
      for index in 1..<3 {
        expectEqual(documents[index].summary, documents[0].summary, "seed \(seed)")
        let bytes = try replicas[index].encoding(of: documents[index])
        try expectEqual(bytes, replicas[0].encoding(of: documents[0]), "seed \(seed)")
      }
    }
  }

  @Test func `a delta of what is not here is not merged`() throws {
    var (a, b) = (replica(1), replica(2))
    var (here, there) = (ReplicatedDocument(), ReplicatedDocument())
    try a.upsert(["x": .int(1)], into: &here, now: Self.today)
    let before = try a.vector(of: here)
    try a.update([.set(["x"], .int(2))], of: &here, now: Self.today)
    let delta = try a.delta(of: here, since: before)
    #expect(try b.merge(delta, into: &there, now: Self.today) == .missingBase)
    #expect(there == ReplicatedDocument())
  }

  @Test func `a document comes back from its record, with the tables that were kept`() throws {
    var a = replica(1)
    var here = ReplicatedDocument()
    try a.upsert(["x": .int(1), "y": .string("kept")], into: &here, now: Self.today)
    let record = try #require(here.record)
    var again = Replica(
      site: a.site,
      tables: RecordTables(
        keys: KeyTable(names: a.tables.keys.names), sites: SiteTable(sites: a.tables.sites.sites)),
      clock: HybridClock(latest: a.clock.latest))
    var document = try again.document(of: record)
    #expect(document == here)
    try again.update([.set(["x"], .int(2))], of: &document, now: 0)
    #expect(try again.fields(of: document) == ["x": .int(2), "y": .string("kept")])
    // It went on as the same writer.
    #expect(try again.vector(of: document).elements.count == 1)
  }

  @Test func `a damaged record is told, and left as it is`() throws {
    var a = replica(1)
    var here = ReplicatedDocument()
    try a.upsert(["x": .string("a string of some length")], into: &here, now: Self.today)
    var bytes = try #require(here.record).bytes
    bytes[bytes.count - 3] ^= 1
    #expect(throws: CodecError.self) { try a.document(of: Record(bytes: bytes)) }
    #expect(throws: CodecError.self) { try a.document(of: Record(bytes: [])) }
  }

  @Test func `what cannot be written is refused and changes nothing`() throws {
    var a = replica(1)
    var here = ReplicatedDocument()
    #expect(try a.update([.set(["x"], .int(1))], of: &here, now: Self.today) == false)
    #expect(try a.remove(&here, now: Self.today) == false)
    #expect(try a.encoding(of: here).isEmpty && a.fields(of: here) == nil)
    try a.upsert(["text": .string("x")], into: &here, now: Self.today)
    let before = here
    #expect(throws: DocumentError.self) {
      try a.update([.increment(["text"], 1)], of: &here, now: Self.today)
    }
    #expect(throws: DocumentError.self) {
      try a.upsert(["a": .array([.counter(1)])], into: &here, now: Self.today)
    }
    #expect(throws: CodecError.self) { try a.merge([1, 2, 3], into: &here, now: Self.today) }
    #expect(here == before)
  }

  @Test func `a clock far ahead is merged and not followed`() throws {
    var (a, b) = (replica(1), replica(2))
    var (here, there) = (ReplicatedDocument(), ReplicatedDocument())
    try a.upsert(["x": .int(1)], into: &here, now: Self.today * 2)
    try b.merge(a.encoding(of: here), into: &there, now: Self.today)
    #expect(b.clock.latest < ClockReading(milliseconds: Self.today + 1))
    // An edit of what is seen wins over it all the same.
    try b.update([.set(["x"], .int(2))], of: &there, now: Self.today)
    try a.merge(b.encoding(of: there), into: &here, now: Self.today)
    #expect(try a.fields(of: here) == ["x": .int(2)])
  }
}
