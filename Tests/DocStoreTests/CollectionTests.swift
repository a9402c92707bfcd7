import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Collection under clocks that jump, crashes, damage, and beside others who write.
@Suite struct CollectionTests {
  @Test func `a clock that jumps ten years ahead makes a store forget a day early, not everything`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let store = fixture.store
    try store.certify("certified", [:])
    for age in ["old", "middle", "young"] {
      try store.write { tx in
        for id in [age, age + "2"] { try tx.upsert([:], id: DocumentID(id), into: "cars") }
      }
      try store.write { tx in for id in [age, age + "2"] { try tx.remove(DocumentID(id), in: "cars") } }
      if age == "old" { try clock.pass(days: 4, store) }
      if age == "middle" { try clock.pass(days: 3, store) }
    }
    clock.advance(days: 3_653)
    for _ in 0..<3 { try store.collect() }
    #expect(try store.memory() == Memory(records: 4, alive: 0, certificates: 3))
    #expect(try store.groupCount() == 4)
    try fixture.reopen()
    try fixture.store.collect()
    #expect(try fixture.store.memory() == Memory(records: 4, alive: 0, certificates: 3))
    // The clock is corrected. Time continues from where it was, and documents written meanwhile keep their
    // lifetime.
    try fixture.store.put("ahead", [:])
    try fixture.store.write { try $0.remove(DocumentID("ahead"), in: "cars") }
    clock.set(1_800_000_000_000 + 8 * DayClock.day)
    try clock.pass(days: 5, fixture.store)
    #expect(try fixture.store.memory() == Memory(records: 3, alive: 0, certificates: 5))
    try clock.pass(days: 4, fixture.store)
    #expect(try fixture.store.memory() == Memory(records: 0, alive: 0, certificates: 8))
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a store that is seldom opened counts a day for each stretch, and loses no day in use`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    try fixture.store.put("x", [:])
    try fixture.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    for _ in 0..<7 {
      try fixture.reopen { clock.advance(days: 30) }
      try fixture.store.collect()
      // Again in the same session: nothing more has been lived through.
      try fixture.store.collect()
    }
    #expect(try fixture.store.memory().certificates == 0)
    try fixture.reopen { clock.advance(days: 30) }
    try fixture.store.collect()
    #expect(try fixture.store.memory().certificates == 1)
  }

  @Test func `others write between the slices, and see nothing of it but its progress`() throws {
    let clock = DayClock()
    let meanwhile = Mutex<(@Sendable () throws -> Void)?>(nil)
    let fixture = try StoreFixture(clock: clock) {
      $0.writerSlice = .zero
      $0.stepFault = { step throws(StoreError) in
        guard step == .sliceCollected, let body = meanwhile.withLock({ $0 }) else { return }
        do { try body() } catch { Issue.record(error) }
      }
    }
    defer { meanwhile.withLock { $0 = nil } }
    let store = fixture.store
    try store.write { tx in for n in 0..<20 { try tx.upsert([:], id: DocumentID("\(n)"), into: "cars") } }
    try store.write { tx in for n in 0..<20 { try tx.remove(DocumentID("\(n)"), in: "cars") } }
    store.tombstoneLifetime = .seconds(3_600)
    clock.advance(days: 1)
    let seen = Mutex<[Int]>([])
    let look: @Sendable () throws -> Void = {
      let expiry = try store.statistics().expiry
      #expect(expiry.isCollecting)
      #expect(expiry.certificates == expiry.forgotten.tombstones)
      let number = seen.withLock { seen in
        seen.append(expiry.certificates)
        return seen.count
      }
      try store.put("new\(number)", [:])
      // One of those whose turn is to come lives again.
      if number == 5 { try store.put("19", ["n": .int(1)]) }
    }
    meanwhile.withLock { $0 = look }
    try store.collect()
    let count = seen.withLock { $0.count }
    #expect(count >= 19)
    #expect(seen.withLock { Array($0.prefix(10)) } == Array(1...10))
    #expect(try store.memory() == Memory(records: count + 1, alive: count + 1, certificates: 19))
    #expect(try store.verify().damages == [])
  }

  @Test func `closing ends a collection with the slice under way`() throws {
    let clock = DayClock()
    let slices = Mutex(0)
    let opened = Mutex<Store?>(nil)
    let fixture = try StoreFixture(clock: clock) {
      $0.writerSlice = .zero
      $0.tombstoneLifetime = .seconds(3_600)
      $0.stepFault = { step in
        guard step == .sliceCollected else { return }
        let count = slices.withLock { slices in
          slices += 1
          return slices
        }
        if count == 5 { opened.withLock { $0 }?.close() }
      }
    }
    defer { opened.withLock { $0 = nil } }
    opened.withLock { $0 = fixture.store }
    try fixture.store.write { tx in
      for n in 0..<30 { try tx.upsert([:], id: DocumentID("\(n)"), into: "cars") }
    }
    try fixture.store.write { tx in for n in 0..<30 { try tx.remove(DocumentID("\(n)"), in: "cars") } }
    clock.advance(days: 1)
    #expect(code { try fixture.store.collect() } == .closed)
    #expect(slices.withLock { $0 } == 5)
    slices.withLock { $0 = 100 }
    try fixture.reopen()
    #expect(try fixture.store.memory() == Memory(records: 25, alive: 0, certificates: 5))
    try fixture.store.collect()
    #expect(try fixture.store.memory() == Memory(records: 0, alive: 0, certificates: 30))
  }

  /// Thirty deletions and ten removed fields.
  private static func fill(_ path: String, _ options: StoreOptions) throws {
    let store = try Store.open(at: path, options: options)
    defer { store.close() }
    for _ in 0..<2 {
      try store.write { tx in
        for n in 0..<40 { try tx.upsert(["n": .int(1)], id: DocumentID("\(n)"), into: "cars") }
      }
    }
    try store.write { tx in
      for n in 0..<30 { try tx.remove(DocumentID("\(n)"), in: "cars") }
      for n in 30..<40 { try tx.update(DocumentID("\(n)"), in: "cars", [.remove(["n"])]) }
    }
  }

  @Test func `a crash between slices leaves every deletion remembered, and the rest is done later`()
    async throws
  {
    try await TemporaryDirectory.with { directory in
      var quiet = StoreOptions(log: { _, _ in })
      quiet.collectionInterval = nil
      let path = directory.file("db")
      try Self.fill(path, quiet)
      for round in 1...3 {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
          var options = StoreOptions(log: { _, _ in })
          options.collectionInterval = nil
          options.writerSlice = .zero
          options.tombstoneLifetime = .zero
          let slices = Mutex(0)
          options.stepFault = { step in
            guard step == .sliceCollected else { return }
            let count = slices.withLock { slices in
              slices += 1
              return slices
            }
            if count == 10 { kill(getpid(), SIGKILL) }
          }
          try Store.open(at: path, options: options).collect()
        }
        let store = try Store.open(at: path, options: quiet)
        defer { store.close() }
        let expiry = try store.statistics().expiry
        expectEqual(expiry.waitingDocuments, 40 - 10 * round)
        try expectEqual(store.verify().damages, [])
        for n in 0..<40 { try expectEqual(store.state("\(n)"), n < 30 ? .deleted : .alive) }
      }
      var options = quiet
      options.tombstoneLifetime = .zero
      let last = try Store.open(at: path, options: options)
      defer { last.close() }
      try last.collect()
      #expect(try last.memory() == Memory(records: 10, alive: 10, certificates: 30))
      #expect(try last.groupCount() == 0)
    }
  }

  @Test func `a commit that fails while collecting forgets nothing`() throws {
    let clock = DayClock()
    let fault = Mutex<Int32>(0)
    let fixture = try StoreFixture(clock: clock) { $0.commitFault = { fault.withLock { $0 } } }
    try fixture.store.put("x", [:])
    try fixture.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    fixture.store.tombstoneLifetime = .seconds(3_600)
    clock.advance(days: 1)
    fault.withLock { $0 = EIO }
    #expect(code { try fixture.store.collect() } == .io)
    fault.withLock { $0 = 0 }
    #expect(code { try fixture.store.collect() } == .poisoned)
    try fixture.reopen()
    #expect(try fixture.store.memory() == Memory(records: 1, alive: 0, certificates: 0))
    fixture.store.tombstoneLifetime = .seconds(3_600)
    try fixture.store.collect()
    #expect(try fixture.store.memory() == Memory(records: 0, alive: 0, certificates: 1))
  }

  @Test func `a damaged tombstone is neither forgotten nor in the way of others`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    for id in ["a", "b"] { try fixture.store.put(id, ["text": .string("marker of \(id), to be found")]) }
    try fixture.store.write { tx in
      for id in ["a", "b"] {
        try tx.update(DocumentID(id), in: "cars", [.remove(["gone"]), .set(["n"], .int(1))])
      }
    }
    try fixture.store.write { tx in try tx.update(DocumentID("a"), in: "cars", [.remove(["n"])]) }
    try fixture.store.write { tx in try tx.remove(DocumentID("b"), in: "cars") }
    try fixture.reopen {
      try FileDamage.replace(
        Array("marker of a, to be found".utf8), by: Array("marker of a, to be fount".utf8),
        at: fixture.dataPath)
    }
    try clock.pass(days: 8, fixture.store)
    #expect(try fixture.store.read { try $0.certificateCount() } == 1)
    #expect(try fixture.store.state("b") == .deleted)
    #expect(code { try fixture.store.memory() } == .corrupt)
    #expect(code { try fixture.store.bytes("a") } == .corrupt)
  }

  @Test func `a damaged certificate is reported, and goes with an eviction`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    let id = try DocumentID("x")
    try fixture.store.certify("x", [:])
    let entry = try #require(try fixture.store.entries(of: "certificates").first)
    try fixture.reopen {
      var damaged = entry.value
      damaged[7] ^= 1
      try FileDamage.replace(entry.key + entry.value, by: entry.key + damaged, at: fixture.dataPath)
    }
    let store = fixture.store
    #expect(code { try store.state("x") } == .corrupt)
    #expect(code { try store.put("x", [:]) } == .corrupt)
    #expect(try store.verify().damageCount == 1)
    try clock.pass(days: 2, store)
    #expect(try store.certificateEntries() == 1)
    #expect(try store.write { try $0.evict(id, in: "cars") }.0)
    try store.put("x", ["n": .int(1)])
    #expect(try store.verify().damages == [])
  }

  @Test func `damage to what says when to forget is no obstacle`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    for id in ["a", "b"] {
      try fixture.store.write { tx in
        for n in 0..<2 { try tx.upsert(["n": .int(1)], id: DocumentID("\(id)\(n)"), into: "cars") }
      }
      try fixture.store.write { tx in for n in 0..<2 { try tx.remove(DocumentID("\(id)\(n)"), in: "cars") } }
    }
    let waiting = try fixture.store.entries(of: "expiry").filter { $0.key[0] == 1 }
    let groups = try fixture.store.entries(of: "log")
    #expect((waiting.count, groups.count) == (4, 4))
    try fixture.reopen {
      for entry in [waiting[0], groups[0]] {
        var damaged = entry.value
        damaged[3] ^= 4
        let count = try FileDamage.replace(
          entry.key + entry.value, by: entry.key + damaged, at: fixture.dataPath)
        expect(count > 0)
      }
    }
    try clock.pass(days: 8, fixture.store)
    #expect(try fixture.store.memory() == Memory(records: 1, alive: 0, certificates: 3))
    #expect(try fixture.store.groupCount() == 0)
    try clock.pass(days: 8, fixture.store)
    #expect(try fixture.store.memory() == Memory(records: 0, alive: 0, certificates: 4))
    #expect(try fixture.store.verify().damages == [])
  }

  @Test func `a copy and a backup remember what their original did`() throws {
    let clock = DayClock()
    let fixture = try StoreFixture(clock: clock)
    try fixture.store.certify("certified", [:])
    try fixture.store.put("x", [:])
    try fixture.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    let path = fixture.directory.file("backup")
    try fixture.store.backup(to: path)
    var options = StoreOptions(now: { clock.now }, log: { _, _ in })
    options.collectionInterval = nil
    let copy = try Store.open(at: path, options: options)
    defer { copy.close() }
    #expect(copy.site != fixture.store.site)
    for store in [copy, fixture.store] {
      try expectEqual(store.memory(), Memory(records: 1, alive: 0, certificates: 1))
      try expectEqual(store.state("certified"), .deleted)
    }
    try clock.pass(days: 8, copy, fixture.store)
    for store in [copy, fixture.store] {
      try expectEqual(store.memory(), Memory(records: 0, alive: 0, certificates: 2))
      try expectEqual(store.verify().damages, [])
    }
    // What the copy writes over a certificate is a new site's, and passes for an insert after the deletion.
    try copy.put("x", ["n": .int(2)])
    try copy.send("x", to: fixture.store)
    #expect(try fixture.store.fields("x", in: "cars") == ["n": .int(2)])
  }
}
