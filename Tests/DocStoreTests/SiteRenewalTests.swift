import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Stores that write as one site, and how they part.
@Suite struct SiteRenewalTests {
  private static func merge(_ id: String, from other: Store, into store: Store) throws {
    let wire = try other.wire(id)
    try store.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
    }
  }

  private static func highest(_ site: SiteID, _ store: Store) throws -> ClockReading? {
    try store.read { try $0.highestReading(of: site) }
  }

  private static func latest(_ store: Store) throws -> ClockReading { try store.read { $0.latestReading } }

  // MARK: - Renewal

  @Test func `a store that takes a new site keeps what it has, and writes as another writer`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    let (site, epoch) = (store.site, store.epoch)
    let told = Mutex<[IdentityChange]>([])
    let listener = store.onSiteChange { change in told.withLock { $0.append(change) } }
    try store.renewSite(.cloned)
    #expect(store.site != site)
    #expect(store.epoch != epoch)
    #expect(store.identityChange == IdentityChange(reason: .cloned, previousSite: site))
    #expect(told.withLock { $0 } == [IdentityChange(reason: .cloned, previousSite: site)])
    #expect(fixture.log.texts.contains { $0.contains("\(site)") })
    try store.write {
      try $0.update(DocumentID("a"), in: "cars", [.set(["n"], .int(2)), .set(["m"], .int(3))])
    }
    let writers = try store.vector("a").elements.map(\.writer.site)
    #expect(Set(writers) == [site, store.site])
    #expect(try store.statistics().site == store.site)
    listener.cancel()
    try store.renewSite(.cloned)
    #expect(told.withLock { $0.count } == 1)
    let (last, lastEpoch) = (store.site, store.epoch)
    try fixture.reopen()
    #expect(fixture.store.site == last)
    #expect(fixture.store.epoch == lastEpoch)
    #expect(fixture.store.identityChange == nil)
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(2), "m": .int(3)])
    #expect(try fixture.store.verify().damages == [])
  }

  /// Before the first commit of a session and after it, in a new store and in one opened again.
  @Test(arguments: [false, true], [false, true])
  func `a renewed site is the same after a crash`(_ hasWritten: Bool, _ isReopened: Bool) throws {
    let fixture = try StoreFixture { $0.drive = .manual }
    try fixture.store.put("a", [:])
    if isReopened { try fixture.reopen() }
    if hasWritten { try fixture.store.put("b", [:]) }
    try fixture.store.renewSite(.cloned)
    let site = fixture.store.site
    fixture.store.crash()
    try fixture.reopen()
    #expect(fixture.store.site == site)
    try fixture.store.put("c", [:])
    fixture.store.crash()
    try fixture.reopen()
    #expect(fixture.store.site == site)
    #expect(try fixture.store.count(in: "cars") == (hasWritten ? 3 : 2))
  }

  @Test(arguments: [StoreStep.siteMarked, .siteCommitted])
  func `a crash while the site is renewed leaves a site that is not the former one`(_ step: StoreStep) throws
  {
    let isArmed = Mutex(false)
    let fixture = try StoreFixture {
      $0.drive = .manual
      $0.stepFault = { reached throws(StoreError) in
        if isArmed.withLock({ $0 }), reached == step {
          throw StoreError(.io, "a crash", operation: "test")
        }
      }
    }
    try fixture.store.put("a", [:])
    let site = fixture.store.site
    isArmed.withLock { $0 = true }
    #expect(throws: StoreError.self) { try fixture.store.renewSite(.cloned) }
    fixture.store.crash()
    isArmed.withLock { $0 = false }
    try fixture.reopen()
    #expect(fixture.store.site != site)
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  /// Only what this store wrote as a former site counts as its own.
  private static func owns(_ fixture: StoreFixture, _ site: SiteID, _ birth: ClockReading) throws -> Bool {
    try fixture.store.read { snapshot in
      try snapshot.formerSites().contains { $0.mayBe(Writer(site: site, birth: birth)) }
    }
  }

  @Test func `a store remembers its former sites, and how far it wrote as each`() throws {
    let fixture = try StoreFixture()
    #expect(try fixture.store.read { try $0.formerSites() } == [])
    try fixture.store.put("a", [:])
    let first = (site: fixture.store.site, latest: try Self.latest(fixture.store))
    try fixture.store.renewSite(.cloned)
    try fixture.store.put("b", [:])
    let second = (site: fixture.store.site, latest: try Self.latest(fixture.store))
    try fixture.store.renewSite(.key)
    try fixture.store.put("c", [:])
    try fixture.reopen()
    for (site, latest) in [first, second] {
      expect(try Self.owns(fixture, site, latest), "what the store wrote as a former site")
      // A clone that goes on as the former site begins later.
      let later = ClockReading(rawValue: latest.rawValue + (1 << 40))
      expect(try !Self.owns(fixture, site, later), "what another store wrote as a former site")
    }
    #expect(try fixture.store.read { try $0.formerSites().map(\.site) } == [first.site, second.site])
    #expect(try fixture.store.write { try $0.formerSites().map(\.site) }.0 == [first.site, second.site])
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a copy remembers the sites of its original, and a clock put right hides none of their writes`()
    throws
  {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let now = clock.now
    clock.advance(days: 30)
    try fixture.store.put("a", [:])
    let (site, latest) = (fixture.store.site, try Self.latest(fixture.store))
    clock.set(now)
    let hasBegun = try fixture.store.trustClock()
    try #require(hasBegun)
    #expect(try Self.owns(fixture, site, latest))
    let last = fixture.store.site
    let path = fixture.directory.file("copy")
    try fixture.store.backup(to: path)
    let copy = try Store.open(at: path)
    defer { copy.close() }
    #expect(try copy.read { try $0.formerSites().map(\.site) } == [site, last])
  }

  @Test func `inside a transaction the site cannot change`() throws {
    let fixture = try StoreFixture()
    let site = fixture.store.site
    let refusal = try fixture.store.write { _ in code { try fixture.store.renewSite(.cloned) } }.0
    #expect(refusal == .nestedWriteTransaction)
    #expect(fixture.store.site == site)
  }

  // MARK: - Copies that cannot be told apart

  /// The control: a copy that is not trusted notices at once.
  @Test(arguments: [true, false])
  func `a copy of a whole disk goes on as the same site`(_ isWholeDisk: Bool) throws {
    let directory = try TemporaryDirectory()
    let (path, copy) = (directory.file("db"), directory.file("copy"))
    var options = StoreOptions(log: { _, _ in })
    options.trustsCopies = isWholeDisk
    let original = try Store.open(at: path, options: options)
    try original.put("a", [:])
    let site = original.site
    original.close()
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    for round in 0..<3 {
      for path in [path, copy] {
        let store = try Store.open(at: path, options: options)
        defer { store.close() }
        expectEqual(store.site == site, isWholeDisk || path != copy)
        try store.put("\(round)", [:])
      }
    }
    let twin = try Store.open(at: copy, options: options)
    #expect((twin.identityChange == nil) == true)
    try twin.renewSite(.cloned)
    #expect(twin.site != site)
    twin.close()
  }

  // MARK: - What peers remember

  @Test func `who merges a site's writes remembers its highest reading, through crashes and restarts`() throws
  {
    let clock = DayClock()
    let (here, there) = (
      try StoreFixture(seed: 1, clock: clock) { $0.drive = .manual }, try StoreFixture(seed: 2, clock: clock)
    )
    let site = there.store.site
    #expect(try Self.highest(site, here.store) == nil)
    var expected = ClockReading.zero
    for round in 0..<4 {
      clock.advance(days: 1)
      try there.store.put("\(round % 2)", ["n": .int(Int64(round))])
      expected = try Self.latest(there.store)
      try Self.merge("\(round % 2)", from: there.store, into: here.store)
      try expectEqual(Self.highest(site, here.store), expected)
      if round == 1 {
        here.store.crash()
        try here.reopen()
        try expectEqual(Self.highest(site, here.store), expected)
      }
    }
    // What is known already lowers nothing.
    try Self.merge("0", from: there.store, into: here.store)
    #expect(try Self.highest(site, here.store) == expected)
    // Not of itself, nor of strangers.
    try here.store.put("own", [:])
    #expect(try Self.highest(here.store.site, here.store) == nil)
    #expect(try Self.highest(SiteID(high: 1, low: 2), here.store) == nil)
    #expect(try here.store.verify().damages == [])
    here.store.close()
  }

  @Test func `a successor tells its writer's reading, too`() throws {
    let clock = DayClock()
    let (here, there) = (try StoreFixture(seed: 1, clock: clock), try StoreFixture(seed: 2, clock: clock))
    let commits = CommitLog()
    let listener = there.store.onCommit { commits.append($0) }
    try there.store.put("a", ["n": .int(1)])
    try Self.merge("a", from: there.store, into: here.store)
    clock.advance(days: 1)
    try there.store.put("a", ["n": .int(2)])
    let change = try #require(commits.all.last?.changes.first)
    let (before, after) = (try #require(change.before), try #require(change.after))
    let operationDelta = try WireDocument.operationDelta(
      of: StoredDocument(before.bytes.span.bytes, summary: #require(change.beforeSummary)),
      to: StoredDocument(after.bytes.span.bytes, summary: #require(change.afterSummary)),
      tables: RecordTables(keys: change.collection.keys, sites: change.sites))
    let wire = try #require(operationDelta).bytes
    let result = try here.store.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID("a"), in: "cars")
    }.0
    #expect(result == .changed)
    #expect(try Self.highest(there.store.site, here.store) == Self.latest(there.store))
    listener.cancel()
  }

  @Test func `a transaction that fails leaves no reading behind`() throws {
    let fault = Mutex(false)
    let here = try StoreFixture(seed: 1) {
      $0.commitFault = { fault.withLock { $0 } ? ENOSPC : 0 }
    }
    let there = try StoreFixture(seed: 2)
    try there.store.put("a", ["n": .int(1)])
    fault.withLock { $0 = true }
    #expect(code { try Self.merge("a", from: there.store, into: here.store) } == .full)
    #expect(try Self.highest(there.store.site, here.store) == nil)
    fault.withLock { $0 = false }
    try Self.merge("a", from: there.store, into: here.store)
    #expect(try Self.highest(there.store.site, here.store) == Self.latest(there.store))
  }

  @Test func `a store that was put back is behind what its peers remember of it`() throws {
    let directory = try TemporaryDirectory()
    let (path, backup) = (directory.file("db"), directory.file("disk"))
    var options = StoreOptions(log: { _, _ in })
    options.trustsCopies = true
    let first = try Store.open(at: path, options: options)
    let site = first.site
    try first.put("a", ["n": .int(1)])
    first.close()
    try FileManager.default.copyItem(atPath: path, toPath: backup)
    let peer = try StoreFixture(seed: 9)
    let second = try Store.open(at: path, options: options)
    try second.put("a", ["n": .int(2)])
    try Self.merge("a", from: second, into: peer.store)
    let reading = try Self.latest(second)
    second.close()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: backup, toPath: path)
    let restored = try Store.open(at: path, options: options)
    defer { restored.close() }
    #expect(restored.site == site)
    #expect(try Self.latest(restored) < reading)
    #expect(try Self.highest(site, peer.store) == reading)
  }
}

extension Store {
  fileprivate func vector(_ id: String) throws -> VersionVector {
    try read { tx in
      let cars = try #require(try tx.collection("cars"))
      let sites = tx.sites
      return try #require(
        try tx.withRecord(cars, DocumentID(id)) { record, _ in try record.vector(sites: sites) })
    }
  }
}
