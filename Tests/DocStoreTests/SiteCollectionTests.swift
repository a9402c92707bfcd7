import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Sites that no document names any more, of those that are not in memory.
@Suite struct SiteCollectionTests {
  private static let size = Limits.sitesPerDocument

  private static func adjust(_ options: inout StoreOptions) {
    options.keptSites = 0
    options.siteRun = 500
    options.collectionInterval = nil
  }

  private func fixture(_ adjust: (inout StoreOptions) -> Void = { _ in }) throws -> StoreFixture {
    try StoreFixture {
      Self.adjust(&$0)
      adjust(&$0)
    }
  }

  private static func evict(_ numbers: Range<Int>, in store: Store) throws {
    try store.write { tx in
      for number in numbers {
        let isKnown = try tx.evict(DocumentID("d\(number)"), in: "cars")
        expect(isKnown)
      }
    }
  }

  /// Eight documents, of which some sites are in memory.
  private static func fill(_ store: Store) throws { for number in 0..<8 { try store.crowd(number) } }

  private static func expectWhole(_ numbers: Range<Int>, in store: Store) throws {
    for number in numbers { try expectEqual(store.wire("d\(number)"), CrowdedDocument.numbered(number)) }
    try expectEqual(store.verify().damages, [])
  }

  @Test func `sites go with the documents that they wrote, and come back with other ordinals`() throws {
    let fixture = try fixture()
    let store = fixture.store
    try Self.fill(store)
    let ordinal = try store.read { tx in tx.sites.count }
    try Self.evict(0..<4, in: store)
    #expect(try store.statistics().siteCount == 8 * Self.size)
    try store.collect()
    #expect(try store.statistics().siteCount == 4 * Self.size)
    #expect(try store.statistics().expiry.forgotten.sites == 4 * Self.size)
    #expect(try store.read { try $0.highestReading(of: CrowdedDocument.site(1)) } == nil)
    let kept = CrowdedDocument.site(4 * Self.size)
    #expect(try store.read { try $0.highestReading(of: kept) } == CrowdedDocument.reading(4 * Self.size))
    try Self.expectWhole(4..<8, in: store)
    try store.crowd(1)
    #expect(try store.sites.count == ordinal + Self.size)
    try fixture.reopen()
    #expect(try fixture.store.statistics().siteCount == 5 * Self.size)
    try Self.expectWhole(4..<8, in: fixture.store)
    #expect(try fixture.store.wire("d1") == CrowdedDocument.numbered(1))
    // Ordinals of before are not given again.
    #expect(try fixture.store.sites.count == ordinal + Self.size)
  }

  @Test func `nothing is looked for before enough has gone`() throws {
    let fixture = try fixture()
    let store = fixture.store
    try Self.fill(store)
    try store.collect()
    try Self.evict(0..<1, in: store)
    try store.collect()
    #expect(try store.statistics().siteCount == 8 * Self.size)
    try fixture.reopen()
    // What has gone is remembered.
    try Self.evict(1..<2, in: fixture.store)
    try fixture.store.collect()
    #expect(try fixture.store.statistics().siteCount == 6 * Self.size)
    // And it counts once.
    try Self.evict(2..<3, in: fixture.store)
    try fixture.store.collect()
    #expect(try fixture.store.statistics().siteCount == 6 * Self.size)
    try Self.expectWhole(3..<8, in: fixture.store)
  }

  @Test func `a store whose sites are all in memory keeps them`() throws {
    let fixture = try StoreFixture { $0.collectionInterval = nil }
    for number in 0..<3 { try fixture.store.crowd(number) }
    try Self.evict(0..<3, in: fixture.store)
    try fixture.store.collect()
    #expect(try fixture.store.statistics().siteCount == 3 * Self.size)
  }

  @Test func `an open snapshot keeps the sites of its documents`() throws {
    let fixture = try fixture()
    let store = fixture.store
    try Self.fill(store)
    try store.read { tx in
      try Self.evict(0..<4, in: store)
      try store.collect()
      try store.collect()
      #expect(try store.statistics().siteCount == 8 * Self.size)
      let cars = try #require(try tx.collection("cars"))
      let sites = try tx.withRecord(cars, DocumentID("d2")) { record, _ in
        try record.vector(sites: tx.sites).elements.map(\.writer.site)
      }
      #expect(sites == (2 * Self.size..<3 * Self.size).map(CrowdedDocument.site))
    }
    try store.collect()
    #expect(try store.statistics().siteCount == 4 * Self.size)
    try Self.expectWhole(4..<8, in: store)
  }

  @Test func `of its own accord a store takes two turns, and what is written between them counts`() throws {
    let fixture = try fixture { $0.drive = .manual }
    let store = fixture.store
    try Self.fill(store)
    try Self.evict(0..<3, in: store)
    store.housekeep()
    #expect(try store.statistics().siteCount == 8 * Self.size)
    // Before that its sites had a mark already.
    try Self.evict(3..<4, in: store)
    try Self.evict(4..<5, in: store)
    try store.crowd(4)
    try store.crowd(0)
    store.housekeep()
    #expect(try store.statistics().expiry.forgotten.sites == 3 * Self.size)
    try Self.expectWhole(4..<8, in: store)
    #expect(try store.wire("d0") == CrowdedDocument.numbered(0))
    try fixture.reopen()
    try Self.expectWhole(4..<8, in: fixture.store)
  }

  @Test func `the sites of certificates, of a working table and the store's own stay`() throws {
    let fixture = try fixture()
    var store = fixture.store
    // By a site each.
    for number in 0..<3 { try store.crowd(number, sites: number..<number + 1) }
    try store.put("own", ["n": .int(1)])
    try store.certify("certified", ["n": .int(11)])
    for number in 10..<16 { try store.crowd(number) }
    try store.write { tx in
      var key = ByteWriter()
      key.write(CrowdedDocument.site(1))
      try tx.setSideValue([1], SideTable(working: "cursors"), key: key.bytes)
    }
    try Self.evict(0..<2, in: store)
    try Self.evict(10..<15, in: store)
    _ = try store.write { try $0.evict(DocumentID("own"), in: "cars") }
    // So that of the sites of those that are gone none is in memory.
    try fixture.reopen()
    store = fixture.store
    try store.collect()
    let found = try store.read { tx in try (0..<3).map { try tx.highestReading(of: CrowdedDocument.site($0)) }
    }
    #expect(found == [nil, CrowdedDocument.reading(1), CrowdedDocument.reading(2)])
    #expect(try store.state("certified") == .deleted)
    #expect(try store.verify().damages == [])
    #expect(try store.wire("d15") == CrowdedDocument.numbered(15))
    // The store keeps the sites of the last document, two of the single sites and its own, but not that of
    // default data.
    #expect(try store.statistics().siteCount == Self.size + 3)
  }

  @Test func `a crash while sites are collected loses none that a document names, and the rest goes later`()
    async throws
  {
    try await TemporaryDirectory.with { directory in
      let path = directory.file("db")
      var quiet = StoreOptions(log: { _, _ in })
      Self.adjust(&quiet)
      do {
        let store = try Store.open(at: path, options: quiet)
        defer { store.close() }
        try Self.fill(store)
        try Self.evict(0..<4, in: store)
      }
      for _ in 0..<2 {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
          var options = StoreOptions(log: { _, _ in })
          Self.adjust(&options)
          options.writerSlice = .zero
          let slices = Mutex(0)
          options.stepFault = { step in
            guard step == .sliceCollected else { return }
            let count = slices.withLock { slices in
              slices += 1
              return slices
            }
            if count == 3 { kill(getpid(), SIGKILL) }
          }
          try Store.open(at: path, options: options).collect()
        }
        let store = try Store.open(at: path, options: quiet)
        defer { store.close() }
        let count = try store.statistics().siteCount
        expect((4 * Self.size + 1..<8 * Self.size).contains(count))
        try Self.expectWhole(4..<8, in: store)
      }
      let store = try Store.open(at: path, options: quiet)
      defer { store.close() }
      try store.collect()
      #expect(try store.statistics().siteCount == 4 * Self.size)
      try Self.expectWhole(4..<8, in: store)
    }
  }

  @Test func `a commit that fails while sites are collected leaves all that are named`() throws {
    let fault = Mutex<Int32>(0)
    let slices = Mutex(0)
    let fixture = try fixture {
      $0.writerSlice = .zero
      $0.poisonsAfterFailure = false
      $0.commitFault = { fault.withLock { $0 } }
      $0.stepFault = { step in
        guard step == .sliceCollected else { return }
        let count = slices.withLock { slices in
          slices += 1
          return slices
        }
        if count == 2 { fault.withLock { $0 = EIO } }
      }
    }
    let store = fixture.store
    try Self.fill(store)
    try Self.evict(0..<4, in: store)
    #expect(throws: StoreError.self) { try store.collect() }
    fault.withLock { $0 = 0 }
    try Self.expectWhole(4..<8, in: store)
    try store.collect()
    #expect(try store.statistics().siteCount == 4 * Self.size)
    try Self.expectWhole(4..<8, in: store)
  }

  @Test func `a record that was made beforehand with a site that has gone is made anew`() throws {
    let fixture = try fixture()
    let store = fixture.store
    for number in 0..<2 { try store.crowd(number, sites: number..<number + 1) }
    var drafter = RecordDrafter(store)
    let wire = CrowdedDocument.wire(0..<1, at: 1_750_000_000_000)
    let draft = drafter.draft(wire.span.bytes, in: "cars")
    #expect(draft != nil)
    for number in 10..<16 { try store.crowd(number) }
    try Self.evict(0..<2, in: store)
    try Self.evict(10..<15, in: store)
    try store.collect()
    #expect(try store.read { try $0.highestReading(of: CrowdedDocument.site(0)) } == nil)
    try store.write(origin: .remote(1)) { tx in
      let first = try tx.merge(wire: wire.span.bytes, id: DocumentID("x"), in: "cars", draft: draft)
      #expect(first == .changed)
    }
    #expect(try store.wire("x") == wire)
    #expect(try store.verify().damages == [])
  }

  @Test func `a damaged document keeps nothing from being collected, and none of its sites`() throws {
    let fixture = try fixture()
    try Self.fill(fixture.store)
    try Self.evict(0..<4, in: fixture.store)
    try fixture.store.put("bad", ["text": .string("a text that will be damaged")])
    try fixture.reopen {
      try FileDamage.replace(
        Array("a text that will be damaged".utf8), by: Array("a text that has been damaged".utf8.dropLast()),
        at: fixture.dataPath)
    }
    try fixture.store.collect()
    #expect(try fixture.store.statistics().siteCount <= 4 * Self.size + 1)
    for number in 4..<8 {
      try expectEqual(fixture.store.wire("d\(number)"), CrowdedDocument.numbered(number))
    }
  }
}
