import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

/// What modules above have the store do for them: before a commit, and when it forgets.
@Suite struct HookTests {
  private let notes = SideTable("notes")

  @Test func `a hook before the commit sees a transaction's changes and adds to it, or undoes it`() throws {
    struct Veto: Error {}
    let fixture = try StoreFixture()
    let store = fixture.store
    let listener = store.beforeCommit { [notes] tx in
      for change in tx.pendingChanges where change.collection.name == "cars" {
        guard change.id != (try DocumentID("no")) else { throw Veto() }
        let kind: UInt8 = change.after == nil ? 2 : change.before == nil ? 0 : 1
        try tx.setSideValue([kind], notes, key: change.id.bytes)
      }
    }
    func note(_ id: String) throws -> [UInt8]? {
      try store.read { try $0.sideValue(notes, key: DocumentID(id).bytes) }
    }
    try store.put("a", [:])
    #expect(try note("a") == [0])
    try store.put("a", ["n": .int(1)])
    #expect(try note("a") == [1])
    #expect(throws: Veto.self) { try store.put("no", [:]) }
    #expect(try store.count(in: "cars") == 1)
    try store.write { _ = try $0.evict(DocumentID("a"), in: "cars") }
    #expect(try note("a") == [2])
    listener.cancel()
    try store.put("no", [:])
    #expect(try note("no") == nil)
  }

  /// Removes what is older than a day of the table, and counts how often it is asked.
  private final class Collector: SideCollector {
    let table: SideTable
    let calls = Mutex((asked: 0, collected: 0, horizon: UInt64(0)))

    init(_ table: SideTable) { self.table = table }

    func isDue(in transaction: borrowing ReadTransaction, at time: CollectionTime) throws -> Bool {
      calls.withLock { $0.asked += 1 }
      guard try transaction.sideEntryCount(table) > 0 else { return false }
      if time.isBehind { return true }
      var isDue = false
      try transaction.forEachSideEntry(table) { _, value in
        isDue = Self.isOld(value, time.now)
        return !isDue
      }
      return isDue
    }

    func collect(in transaction: WriteTransaction, at time: CollectionTime) throws {
      calls.withLock { $0 = ($0.asked, $0.collected + 1, time.horizon) }
      var old: [[UInt8]] = []
      try transaction.forEachSideEntry(table) { key, value in
        if Self.isOld(value, time.now) { old.append(key) }
        return true
      }
      for key in old { try transaction.setSideValue(nil, table, key: key) }
    }

    static func isOld(_ value: [UInt8], _ now: UInt64) -> Bool {
      var reader = ByteReader(value.span.bytes)
      guard let time: UInt64 = try? reader.readFixed() else { return true }
      return time + DayClock.day < now
    }
  }

  private func put(_ key: UInt8, in table: SideTable, _ store: Store) throws {
    try store.write { tx in
      var value = ByteWriter()
      value.writeFixed(try tx.lastingTime())
      try tx.setSideValue(value.bytes, table, key: [key])
    }
  }

  @Test(arguments: [SideTable("notes"), SideTable(working: "staging")])
  func `a collector forgets by the store's time, and the writer is left alone where nothing is due`(
    _ table: SideTable
  ) throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    let collector = Collector(table)
    let registration = store.addCollector(collector)
    try put(1, in: table, store)
    try store.collect()
    #expect(collector.calls.withLock { ($0.asked, $0.collected) } == (1, 0))
    clock.advance(days: 1)
    try put(2, in: table, store)
    // Of years without a word a day counts.
    clock.advance(days: 1_000)
    try store.collect()
    #expect(try store.read { try $0.sideEntryCount(table) } == 1)
    #expect(try store.read { try $0.sideValue(table, key: [2]) } != nil)
    #expect(collector.calls.withLock { $0.collected } > 0)
    registration.cancel()
    clock.advance(days: 1)
    let calls = collector.calls.withLock { $0.asked + $0.collected }
    try clock.pass(days: 3, store)
    #expect(collector.calls.withLock { $0.asked + $0.collected } == calls)
    #expect(try store.read { try $0.sideEntryCount(table) } == 1)
  }

  @Test func `a collector is called when the store itself forgets, and learns what goes`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    let collector = Collector(notes)
    let registration = store.addCollector(collector)
    defer { registration.cancel() }
    try store.put("a", [:])
    try store.collect()
    #expect(collector.calls.withLock { $0.collected } == 0)
    try clock.pass(days: 8, store)
    let (collected, horizon) = collector.calls.withLock { ($0.collected, $0.horizon) }
    #expect(collected > 0)
    #expect(horizon > 1_800_000_000_000 && horizon < clock.now)
    store.tombstoneLifetime = nil
    try put(1, in: notes, store)
    try clock.pass(days: 2, store)
    #expect(collector.calls.withLock { $0.horizon } == 0)
  }

  @Test func `what a collector throws fails the collection, and undoes its slice`() throws {
    struct Broken: SideCollector {
      struct Failure: Error {}
      let table: SideTable
      func isDue(in transaction: borrowing ReadTransaction, at time: CollectionTime) -> Bool { true }
      func collect(in transaction: WriteTransaction, at time: CollectionTime) throws {
        try transaction.setSideValue([1], table, key: [9])
        throw Failure()
      }
    }
    let fixture = try StoreFixture()
    let registration = fixture.store.addCollector(Broken(table: notes))
    #expect(throws: Broken.Failure.self) { try fixture.store.collect() }
    #expect(try fixture.store.read { try $0.sideValue(notes, key: [9]) } == nil)
    registration.cancel()
    try fixture.store.collect()
  }
}
