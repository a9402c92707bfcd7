import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// Stores that have met more sites than they keep in memory.
@Suite struct ManySitesTests {
  private static let size = Limits.sitesPerDocument

  private func fixture(_ adjust: (inout StoreOptions) -> Void = { _ in }) throws -> StoreFixture {
    try StoreFixture {
      $0.keptSites = 1_000
      $0.siteRun = 500
      $0.collectionInterval = nil
      adjust(&$0)
    }
  }

  @Test func `a bounded number of sites stays in memory, and the others are found`() throws {
    let fixture = try fixture()
    for number in 0..<6 { try fixture.store.crowd(number) }
    // A segment more at most, and those that came since the last one was made.
    #expect(try fixture.store.sitesInMemory <= 1_000 + 4_096 + 512)
    func check() throws {
      #expect(try fixture.store.statistics().siteCount == 6 * Self.size)
      for number in 0..<6 {
        try expectEqual(fixture.store.wire("d\(number)"), CrowdedDocument.numbered(number))
        for site in [number * Self.size, (number + 1) * Self.size - 1] {
          let found = try fixture.store.read { try $0.highestReading(of: CrowdedDocument.site(site)) }
          expectEqual(found, CrowdedDocument.reading(site))
        }
      }
      let unknown = CrowdedDocument.site(6 * Self.size)
      #expect(try fixture.store.read { try $0.highestReading(of: unknown) } == nil)
      let highest = try fixture.store.read { try $0.highestReading() }
      #expect(highest == CrowdedDocument.reading(6 * Self.size - 1))
      #expect(try fixture.store.verify().damages == [])
    }
    try check()
    try fixture.reopen()
    #expect(try fixture.store.sitesInMemory < 1_000 + 500)
    try check()
    try fixture.store.compact()
    try check()
  }

  @Test func `an ordinary store has all of its sites in memory`() throws {
    let fixture = try StoreFixture()
    for number in 0..<4 { try fixture.store.crowd(number) }
    #expect(try fixture.store.entries(of: "siteRuns").isEmpty)
    // The site of default data among them.
    #expect(try fixture.store.sitesInMemory == 4 * Self.size + 1)
    try fixture.reopen()
    #expect(try fixture.store.sitesInMemory == 4 * Self.size + 1)
  }

  @Test func `a document by sites that are not in memory is written and merged as any other`() throws {
    let fixture = try fixture()
    try fixture.store.crowd(0, sites: 0..<3)
    for number in 1..<4 { try fixture.store.crowd(number) }
    let sites = try fixture.store.sites
    #expect(sites.ordinal(of: CrowdedDocument.site(0)) == nil)
    let id = try DocumentID("d0")
    #expect(try fixture.store.write { try $0.update(id, in: "cars", [.set(["m"], .int(7))]) }.0)
    #expect(try fixture.store.fields("d0", in: "cars") == ["n": .int(2), "m": .int(7)])
    // The same sites, and one more, with later writes.
    let later = CrowdedDocument.wire(0..<4, at: 1_750_000_000_000)
    try fixture.store.write(origin: .remote(1)) { tx in
      let first = try tx.merge(wire: later.span.bytes, id: id, in: "cars")
      #expect(first == .changed)
      let second = try tx.merge(wire: later.span.bytes, id: id, in: "cars")
      #expect(second == .unchanged)
    }
    #expect(try fixture.store.fields("d0", in: "cars") == ["n": .int(3), "m": .int(7)])
    let reading = ClockReading(milliseconds: 1_750_000_000_000)
    #expect(try fixture.store.read { try $0.highestReading(of: CrowdedDocument.site(0)) } == reading)
    try fixture.reopen()
    #expect(try fixture.store.read { try $0.highestReading(of: CrowdedDocument.site(0)) } == reading)
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a site that comes again when it is not in memory keeps the highest reading of its clock`()
    throws
  {
    let fixture = try fixture()
    try fixture.store.crowd(0)
    for number in 1..<4 { try fixture.store.crowd(number) }
    let site = CrowdedDocument.site(5)
    let highest = CrowdedDocument.reading(5)
    let older = CrowdedDocument.wire(5..<6, at: 1_600_000_000_000)
    try fixture.store.write(origin: .remote(1)) { tx in
      let first = try tx.merge(wire: older.span.bytes, id: DocumentID("older"), in: "cars")
      #expect(first == .changed)
    }
    #expect(try fixture.store.wire("older") == older)
    for _ in 0..<2 {
      try expect(fixture.store.read { try $0.highestReading(of: site) } == highest)
      try expectEqual(fixture.store.verify().damages, [])
      try fixture.reopen()
    }
  }

  @Test func `a snapshot finds its sites, however many come after it`() throws {
    let fixture = try fixture()
    try fixture.store.crowd(0)
    try fixture.store.read { tx in
      for number in 1..<5 { try fixture.store.crowd(number) }
      let cars = try #require(try tx.collection("cars"))
      let vector = try tx.withRecord(cars, DocumentID("d0")) { record, _ in try record.vector(sites: tx.sites)
      }
      #expect(vector?.elements.map(\.writer.site) == (0..<Self.size).map(CrowdedDocument.site))
      let late = CrowdedDocument.site(4 * Self.size)
      #expect(try tx.highestReading(of: late) == nil)
      #expect(try tx.highestReading(of: CrowdedDocument.site(9)) == CrowdedDocument.reading(9))
    }
  }

  @Test func `each new site counts as what it takes on disk`() throws {
    let fixture = try fixture()
    let (first, second) = (CrowdedDocument.numbered(0), CrowdedDocument.numbered(1))
    try fixture.store.write(origin: .remote(1)) { tx in
      _ = try tx.merge(wire: first.span.bytes, id: DocumentID("a"), in: "cars")
      let cars = try #require(try tx.collection("cars"))
      let record = try #require(try tx.record(cars, DocumentID("a")))
      #expect(tx.recordBytes == record.bytes.count + Self.size * WriteTransaction.siteBytes)
      let before = tx.recordBytes
      _ = try tx.merge(wire: first.span.bytes, id: DocumentID("b"), in: "cars")
      #expect(tx.recordBytes == before + record.bytes.count)
      _ = try tx.merge(wire: second.span.bytes, id: DocumentID("c"), in: "cars")
      #expect(tx.recordBytes > before + record.bytes.count + Self.size * WriteTransaction.siteBytes)
    }
  }

  @Test func `a transaction that fails leaves no sites on disk, and the next one's are found`() throws {
    let fixture = try fixture()
    try fixture.store.crowd(0)
    struct Stop: Error {}
    for number in 1..<4 {
      #expect(throws: Stop.self) {
        try fixture.store.write { tx in
          let wire = CrowdedDocument.numbered(number)
          _ = try tx.merge(wire: wire.span.bytes, id: DocumentID("d\(number)"), in: "cars")
          throw Stop()
        }
      }
    }
    #expect(try fixture.store.statistics().siteCount == Self.size)
    for number in 4..<7 { try fixture.store.crowd(number) }
    try fixture.reopen()
    for number in [0, 4, 5, 6] {
      try expectEqual(fixture.store.wire("d\(number)"), CrowdedDocument.numbered(number))
    }
    #expect(try fixture.store.verify().damages == [])
  }

  // MARK: - Damage

  @Test func `a damaged entry of a site is damage of the documents that it wrote`() throws {
    let fixture = try fixture()
    for number in 0..<4 { try fixture.store.crowd(number) }
    let entry = try #require(try fixture.store.entries(of: "sites").first)
    try fixture.reopen {
      var value = entry.value
      value[20] ^= 1
      let count = try FileDamage.replace(entry.key + entry.value, by: entry.key + value, at: fixture.dataPath)
      #expect(count > 0)
    }
    #expect(throws: (any Error).self) { try fixture.store.wire("d0") }
    for number in 1..<4 {
      try expectEqual(fixture.store.wire("d\(number)"), CrowdedDocument.numbered(number))
    }
    let later = CrowdedDocument.wire(0..<4, at: 1_750_000_000_000)
    let id = try DocumentID("d0")
    let failure = code {
      try fixture.store.write(origin: .remote(1)) {
        _ = try $0.merge(wire: later.span.bytes, id: id, in: "cars")
      }
    }
    #expect(failure == .corrupt)
    try fixture.store.put("other", ["n": .int(1)])
    let damages = try fixture.store.verify().damages
    #expect(damages.contains { $0.kind == .entry })
    #expect(damages.filter { $0.kind == .document }.count == 1)
  }

  @Test func `where sites are not found by a damaged run they are found all the same`() throws {
    let fixture = try fixture()
    for number in 0..<4 { try fixture.store.crowd(number) }
    let run = try #require(try fixture.store.entries(of: "siteRuns").first)
    try fixture.reopen {
      let bytes = Array(run.value.prefix(60))
      var wrong = bytes
      wrong[17] ^= 1
      let count = try FileDamage.replace(bytes, by: wrong, at: fixture.dataPath)
      #expect(count > 0)
    }
    for site in [0, 5, 3 * Self.size] {
      let found = try fixture.store.read { try $0.highestReading(of: CrowdedDocument.site(site)) }
      expectEqual(found, CrowdedDocument.reading(site))
    }
    #expect(try fixture.store.wire("d0") == CrowdedDocument.numbered(0))
    #expect(try !fixture.store.verify().isIntact)
  }

  @Test func `a run that does not have all of its sites is damage`() throws {
    let fixture = try fixture()
    for number in 0..<2 { try fixture.store.crowd(number) }
    let runs = try fixture.store.entries(of: "siteRuns")
    #expect(runs.count > 2)
    // One run's bytes in the place of another's do not pass.
    try fixture.reopen {
      try FileDamage.replace(
        Array(runs[0].value.prefix(200)), by: Array(runs[1].value.prefix(200)), at: fixture.dataPath)
    }
    #expect(try !fixture.store.verify().isIntact)
  }
}

extension CrowdedDocument {
  /// By a document's number, by sites of its own.
  static func numbered(_ number: Int) -> [UInt8] {
    let first = number * Limits.sitesPerDocument
    return wire(first..<first + Limits.sitesPerDocument)
  }

  /// When a site has written.
  static func reading(_ site: Int) -> ClockReading {
    ClockReading(milliseconds: 1_700_000_000_000 + UInt64(site))
  }
}

extension Store {
  /// Takes in the document `d<number>` by sites of its own.
  func crowd(_ number: Int, sites: Range<Int>? = nil) throws {
    let wire = sites.map { CrowdedDocument.wire($0) } ?? CrowdedDocument.numbered(number)
    try write(origin: .remote(1)) {
      _ = try $0.merge(wire: wire.span.bytes, id: DocumentID("d\(number)"), in: "cars")
    }
  }

  var sites: SiteTable { get throws { try read { $0.sites } } }

  var sitesInMemory: Int { get throws { try sites.sites.count } }
}
