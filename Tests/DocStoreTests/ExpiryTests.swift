import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct ExpiryTests {
  @Test func `a tombstone becomes a certificate after its lifetime, and that goes after its own`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock) { $0.certificateLifetime = .seconds(20 * 86_400) }
    let store = fixture.store
    try store.put("x", ["n": .int(1)])
    try store.put("stays", ["n": .int(1)])
    try store.write { try $0.remove(DocumentID("x"), in: "cars") }
    try clock.pass(days: 7, store)
    #expect(try store.memory() == Memory(records: 2, alive: 1, certificates: 0))
    try clock.pass(days: 1, store)
    #expect(try store.memory() == Memory(records: 1, alive: 1, certificates: 1))
    #expect(try store.state("x") == .deleted)
    try fixture.reopen()
    #expect(try fixture.store.state("x") == .deleted)
    try clock.pass(days: 20, fixture.store)
    #expect(try fixture.store.memory().certificates == 1)
    try clock.pass(days: 1, fixture.store)
    #expect(try fixture.store.memory() == Memory(records: 1, alive: 1, certificates: 0))
    #expect(try fixture.store.state("x") == .unknown)
  }

  @Test func `lifetimes can be changed while the store is open`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    try store.put("x", [:])
    try store.write { try $0.remove(DocumentID("x"), in: "cars") }
    store.tombstoneLifetime = nil
    try clock.pass(days: 8, store)
    store.tombstoneLifetime = .seconds(30 * 86_400)
    try store.collect()
    #expect(try store.memory().certificates == 0)
    store.tombstoneLifetime = .seconds(86_400)
    store.certificateLifetime = nil
    try store.collect()
    #expect(try store.memory() == Memory(records: 0, alive: 0, certificates: 1))
    store.certificateLifetime = .seconds(86_400)
    try store.collect()
    #expect(try store.memory().certificates == 1)
    try clock.pass(days: 2, store)
    #expect(try store.memory().certificates == 0)
  }

  @Test func `collection is no write: nothing is announced, and the log stands still`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    try store.put("x", ["a": .int(1), "b": .int(2)])
    try store.put("y", [:])
    try store.write { tx in
      try tx.update(DocumentID("x"), in: "cars", [.remove(["a"])])
      try tx.remove(DocumentID("y"), in: "cars")
    }
    let before = try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      return (
        tx.sequence, tx.commitID, try tx.sequence(of: DocumentID("x"), in: cars),
        try tx.withRecord(cars, DocumentID("x")) { $1 }
      )
    }
    let size = try store.bytes("x")
    let commits = CommitLog()
    let listener = store.onCommit { commits.append($0) }
    try clock.pass(days: 8, store)
    let after = try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      return (
        tx.sequence, tx.commitID, try tx.sequence(of: DocumentID("x"), in: cars),
        try tx.withRecord(cars, DocumentID("x")) { $1 }
      )
    }
    #expect(before == after)
    #expect(commits.all.isEmpty)
    #expect(try store.bytes("x") < size)
    #expect(try store.fields("x", in: "cars") == ["b": .int(2)])
    #expect(try store.memory() == Memory(records: 1, alive: 1, certificates: 1))
    listener.cancel()
    try store.put("y", [:])
    #expect(try store.state("y") == .alive)
  }

  @Test func `an upsert after a certified deletion starts afresh, and removes the certificate`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    try store.certify("x", ["old": .int(1)])
    try store.write { tx in
      #expect(try tx.update(DocumentID("x"), in: "cars", [.set(["n"], .int(1))]) == false)
      #expect(try tx.remove(DocumentID("x"), in: "cars") == false)
      #expect(try tx.evict(DocumentID("x"), in: "cars") == false)
      try tx.upsert(["n": .int(1)], id: DocumentID("x"), into: "cars", strategy: .insertDefaultIfAbsent)
    }
    #expect(try store.state("x") == .deleted)
    // Scans, counts and group records do not know it.
    #expect(try store.count(in: "cars") == 0)
    try store.put("x", ["new": .int(2)])
    #expect(try store.fields("x", in: "cars") == ["new": .int(2)])
    #expect(try store.memory() == Memory(records: 1, alive: 1, certificates: 0))
  }

  @Test
  func `an older document does not come back to life; what was written unaware is kept and then reported`()
    throws
  {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try here.store.put("x", ["n": .int(1)])
    try here.store.send("x", to: away.store)
    try here.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 3)
    try away.store.write { try $0.update(DocumentID("x"), in: "cars", [.set(["offline"], .int(1))]) }
    try clock.pass(days: 27, here.store)
    #expect(try here.store.memory().certificates == 1)
    try away.store.send("x", to: here.store)
    #expect(try here.store.state("x") == .deleted)
    // It stands as a tombstone again, with what the other wrote, for another lifetime.
    #expect(try here.store.memory() == Memory(records: 1, alive: 0, certificates: 0))
    try here.store.send("x", to: away.store)
    #expect(try away.store.state("x") == .deleted)
    #expect(try here.store.summary("x") == away.store.summary("x"))
    #expect(!here.log.texts.contains { $0.contains("forgotten") })
    try clock.pass(days: 8, here.store)
    #expect(try here.store.memory() == Memory(records: 0, alive: 0, certificates: 1))
    #expect(here.log.all.contains { $0.0 == .warning && $0.1.contains("forgotten") })
  }

  @Test func `an upsert that did not know of a certified deletion passes, and the document lives again`()
    throws
  {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try here.store.put("x", ["n": .int(1)])
    try here.store.send("x", to: away.store)
    try here.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 3)
    try away.store.put("x", ["m": .int(2)])
    try clock.pass(days: 27, here.store)
    try away.store.send("x", to: here.store)
    #expect(try here.store.fields("x", in: "cars") == ["n": .int(1), "m": .int(2)])
    #expect(try here.store.memory() == Memory(records: 1, alive: 1, certificates: 0))
  }

  @Test func `what bears a stamp from 2099 goes by the time it came`() throws {
    let clock = DayClock()
    let far = DayClock()
    far.set(4_070_908_800_000)
    let there = try StoreFixture(seed: 1, clock: far)
    let here = try StoreFixture(seed: 2, clock: clock)
    try there.store.put("gone", ["n": .int(1)])
    try there.store.put("field", ["n": .int(1), "m": .int(2)])
    try there.store.write { tx in
      try tx.remove(DocumentID("gone"), in: "cars")
      try tx.update(DocumentID("field"), in: "cars", [.remove(["n"])])
    }
    for id in ["gone", "field"] { try there.store.send(id, to: here.store) }
    let size = try here.store.bytes("field")
    try clock.pass(days: 8, here.store)
    #expect(try here.store.memory() == Memory(records: 1, alive: 1, certificates: 1))
    #expect(try here.store.bytes("field") < size)
    // The certificate is as strong as the tombstone was.
    #expect(try here.store.state("gone") == .deleted)
    try here.store.put("gone", ["new": .int(1)])
    #expect(try here.store.fields("gone", in: "cars") == ["new": .int(1)])
  }

  @Test func `records of transactions go after the tombstone lifetime`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    for day in 0..<200 {
      try store.write { tx in
        for id in ["a", "b"] { try tx.upsert(["n": .int(Int64(day))], id: DocumentID(id), into: "cars") }
      }
      if day == 99 { try clock.pass(days: 5, store) }
    }
    try clock.pass(days: 3, store)
    #expect(try store.groupCount() == 100)
    #expect(
      try store.read { tx in
        var first: UInt64 = 0
        try tx.groups(after: 0) { sequence, _ in
          first = sequence
          return false
        }
        return first
      } == 101)
  }

  @Test func `a field that is removed again and again is forgotten, and no entry is left behind`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock) { $0.writerSlice = .zero }
    var random = SeededGenerator(seed: 5)
    for _ in 0..<40 {
      let store = fixture.store
      try store.write { tx in
        for _ in 0..<20 {
          let id = try DocumentID("\(random.int(below: 200))")
          let field = "f\(random.int(below: 4))"
          switch random.int(below: 6) {
          case 0: try tx.update(id, in: "cars", [.remove([TextKey(field)])])
          case 1: if random.oneIn(3) { try tx.evict(id, in: "cars") }
          default: try tx.upsert([TextKey(field): .int(1)], id: id, into: "cars")
          }
        }
      }
      clock.advance(days: 1)
      if random.oneIn(3) { try store.collect() }
      if random.oneIn(10) { try fixture.reopen() }
    }
    let store = fixture.store
    // What changed since it was entered has its time begin anew, once.
    try clock.pass(days: 17, store)
    try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      try tx.forEachRecord(in: cars, verify: true) { _, _, record in
        let isForgettable = record.isForgettable
        #expect(!isForgettable)
        return true
      }
    }
    #expect(try store.statistics().expiry.waitingDocuments == 0)
    #expect(try store.verify().damages == [])
  }

  @Test func `the store collects by itself`() async throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock) {
      $0.collectionInterval = .milliseconds(20)
      $0.tombstoneLifetime = .seconds(3_600)
    }
    try fixture.store.put("x", [:])
    _ = try await fixture.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 1)
    try await waitUntil { try fixture.store.memory().certificates == 1 }
    // Closing does not wait for the next time.
    fixture.store.close()
  }

  @Test func `collecting inside a write transaction is refused`() throws {
    let fixture = try StoreFixture(clock: DayClock())
    let store = fixture.store
    try store.write { _ in #expect(code { try store.collect() } == .nestedWriteTransaction) }
    store.close()
    #expect(code { try store.collect() } == .closed)
  }

  @Test func `a removal is forgotten also where the document changes every day`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    try store.put("x", ["gone": .int(1), "n": .int(0)])
    try store.write { try $0.update(DocumentID("x"), in: "cars", [.remove(["gone"])]) }
    for day in 0..<9 {
      try store.put("x", ["n": .int(Int64(day))])
      try clock.pass(days: 1, store)
    }
    #expect(try store.statistics().expiry.forgotten.shrunkDocuments == 1)
    #expect(try store.statistics().expiry.waitingDocuments == 0)
    #expect(try store.fields("x", in: "cars") == ["n": .int(8)])
  }

  @Test func `evicting a tombstone leaves a certificate, so that no peer brings the document back`() throws {
    let clock = DayClock()
    let here = try StoreFixture(seed: 1, clock: clock)
    let away = try StoreFixture(seed: 2, clock: clock)
    try here.store.put("x", ["n": .int(1)])
    try here.store.send("x", to: away.store)
    try here.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    let epoch = try here.store.read { $0.evictionEpoch }
    #expect(try here.store.write { try $0.evict(DocumentID("x"), in: "cars") }.0)
    #expect(try here.store.read { $0.evictionEpoch } == epoch + 1)
    #expect(try here.store.memory() == Memory(records: 0, alive: 0, certificates: 1))
    try away.store.send("x", to: here.store)
    #expect(try here.store.state("x") == .deleted)
    // A living document leaves nothing behind.
    try here.store.put("y", [:])
    try here.store.write { _ = try $0.evict(DocumentID("y"), in: "cars") }
    #expect(try here.store.state("y") == .unknown)
    #expect(try here.store.verify().damages == [])
  }

  @Test func `statistics say what waits and what was forgotten`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    try store.write { tx in
      for n in 0..<10 { try tx.upsert(["a": .int(1), "b": .int(1)], id: DocumentID("\(n)"), into: "cars") }
    }
    try store.write { tx in
      for n in 0..<3 { try tx.remove(DocumentID("\(n)"), in: "cars") }
      for n in 3..<5 { try tx.update(DocumentID("\(n)"), in: "cars", [.remove(["a"])]) }
    }
    var expiry = try store.statistics().expiry
    #expect((expiry.waitingDocuments, expiry.logEntries, expiry.certificates) == (5, 2, 0))
    #expect(expiry.lastCollection == nil)
    try clock.pass(days: 8, store)
    expiry = try store.statistics().expiry
    #expect((expiry.waitingDocuments, expiry.logEntries, expiry.certificates) == (0, 0, 3))
    #expect(expiry.lastCollection == clock.now)
    #expect(!expiry.isCollecting)
    let forgotten = expiry.forgotten
    #expect((forgotten.tombstones, forgotten.shrunkDocuments, forgotten.logEntries) == (3, 2, 2))
    store.certificateLifetime = .seconds(86_400)
    try clock.pass(days: 2, store)
    #expect(try store.statistics().expiry.forgotten.certificates == 3)
  }
}
