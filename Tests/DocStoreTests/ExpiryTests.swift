import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

@Suite struct ExpiryTests {
  private static let day: UInt64 = 86_400_000

  /// A fixture whose clock is moved by hand.
  private final class Clock: Sendable {
    private let time = Mutex<UInt64>(1_800_000_000_000)
    var now: UInt64 { time.withLock { $0 } }
    func advance(days: UInt64) { time.withLock { $0 += days * ExpiryTests.day } }
    func set(_ now: UInt64) { time.withLock { $0 = now } }
  }

  private static func fixture(
    _ clock: Clock, seed: UInt64 = 1, _ adjust: (inout StoreOptions) -> Void = { _ in }
  ) throws -> StoreFixture {
    try StoreFixture(seed: seed) {
      $0.now = { clock.now }
      $0.collectionInterval = nil
      adjust(&$0)
    }
  }

  @Test func `a tombstone becomes a certificate after its lifetime, and that goes after its own`() throws {
    let clock = Clock()
    let fixture = try Self.fixture(clock)
    let store = fixture.store
    try store.put("x", ["n": .int(1)])
    try store.put("stays", ["n": .int(1)])
    try store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 6)
    try store.collect(now: clock.now)
    #expect(try store.memory() == Memory(records: 2, alive: 1, certificates: 0))
    clock.advance(days: 2)
    try store.collect(now: clock.now)
    #expect(try store.memory() == Memory(records: 1, alive: 1, certificates: 1))
    #expect(try store.state("x") == .deleted)
    try fixture.reopen()
    #expect(try fixture.store.state("x") == .deleted)
    clock.advance(days: 364)
    try fixture.store.collect(now: clock.now)
    #expect(try fixture.store.memory().certificates == 1)
    clock.advance(days: 2)
    try fixture.store.collect(now: clock.now)
    #expect(try fixture.store.memory() == Memory(records: 1, alive: 1, certificates: 0))
    #expect(try fixture.store.state("x") == .unknown)
  }

  @Test func `lifetimes can be changed while the store is open`() throws {
    let clock = Clock()
    let fixture = try Self.fixture(clock)
    let store = fixture.store
    try store.put("x", [:])
    try store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 8)
    store.tombstoneLifetime = .seconds(30 * 86_400)
    try store.collect(now: clock.now)
    #expect(try store.memory().certificates == 0)
    store.tombstoneLifetime = .seconds(86_400)
    store.certificateLifetime = nil
    try store.collect(now: clock.now)
    clock.advance(days: 10_000)
    try store.collect(now: clock.now)
    #expect(try store.memory() == Memory(records: 0, alive: 0, certificates: 1))
  }

  @Test func `collection is no write: nothing is announced, and the log stands still`() throws {
    let clock = Clock()
    let fixture = try Self.fixture(clock)
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
    clock.advance(days: 8)
    try store.collect(now: clock.now)
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
    let clock = Clock()
    let fixture = try Self.fixture(clock)
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
    let clock = Clock()
    let here = try Self.fixture(clock, seed: 1)
    let away = try Self.fixture(clock, seed: 2)
    try here.store.put("x", ["n": .int(1)])
    try here.store.send("x", to: away.store)
    try here.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 3)
    try away.store.write { try $0.update(DocumentID("x"), in: "cars", [.set(["offline"], .int(1))]) }
    clock.advance(days: 27)
    try here.store.collect(now: clock.now)
    #expect(try here.store.memory().certificates == 1)
    try away.store.send("x", to: here.store)
    #expect(try here.store.state("x") == .deleted)
    // It stands as a tombstone again, with what the other wrote, for another lifetime.
    #expect(try here.store.memory() == Memory(records: 1, alive: 0, certificates: 0))
    try here.store.send("x", to: away.store)
    #expect(try away.store.state("x") == .deleted)
    #expect(try here.store.summary("x") == away.store.summary("x"))
    #expect(!here.log.texts.contains { $0.contains("forgotten") })
    clock.advance(days: 8)
    try here.store.collect(now: clock.now)
    #expect(try here.store.memory() == Memory(records: 0, alive: 0, certificates: 1))
    #expect(here.log.all.contains { $0.0 == .warning && $0.1.contains("forgotten") })
  }

  @Test func `an upsert that did not know of a certified deletion passes, and the document lives again`()
    throws
  {
    let clock = Clock()
    let here = try Self.fixture(clock, seed: 1)
    let away = try Self.fixture(clock, seed: 2)
    try here.store.put("x", ["n": .int(1)])
    try here.store.send("x", to: away.store)
    try here.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 3)
    try away.store.put("x", ["m": .int(2)])
    clock.advance(days: 27)
    try here.store.collect(now: clock.now)
    try away.store.send("x", to: here.store)
    #expect(try here.store.fields("x", in: "cars") == ["n": .int(1), "m": .int(2)])
    #expect(try here.store.memory() == Memory(records: 1, alive: 1, certificates: 0))
  }

  @Test func `what bears a stamp from 2099 goes by the time it came`() throws {
    let clock = Clock()
    let far = Clock()
    far.set(4_070_908_800_000)
    let there = try Self.fixture(far, seed: 1)
    let here = try Self.fixture(clock, seed: 2)
    try there.store.put("gone", ["n": .int(1)])
    try there.store.put("field", ["n": .int(1), "m": .int(2)])
    try there.store.write { tx in
      try tx.remove(DocumentID("gone"), in: "cars")
      try tx.update(DocumentID("field"), in: "cars", [.remove(["n"])])
    }
    for id in ["gone", "field"] { try there.store.send(id, to: here.store) }
    let size = try here.store.bytes("field")
    clock.advance(days: 8)
    try here.store.collect(now: clock.now)
    #expect(try here.store.memory() == Memory(records: 1, alive: 1, certificates: 1))
    #expect(try here.store.bytes("field") < size)
    // The certificate is as strong as the tombstone was.
    #expect(try here.store.state("gone") == .deleted)
    try here.store.put("gone", ["new": .int(1)])
    #expect(try here.store.fields("gone", in: "cars") == ["new": .int(1)])
  }

  @Test func `what a clock that was ahead dated is forgotten a lifetime after the clock was set right`()
    throws
  {
    let clock = Clock()
    let fixture = try Self.fixture(clock)
    let store = fixture.store
    clock.advance(days: 20_000)
    try store.write { tx in
      for id in ["a", "b"] { try tx.upsert([:], id: DocumentID(id), into: "cars") }
    }
    try store.write { tx in for id in ["a", "b"] { try tx.remove(DocumentID(id), in: "cars") } }
    clock.set(1_800_000_000_000)
    try store.collect(now: clock.now)
    #expect(try store.memory() == Memory(records: 2, alive: 0, certificates: 0))
    #expect(try store.groupCount() == 2)
    clock.advance(days: 8)
    try store.collect(now: clock.now)
    #expect(try store.memory() == Memory(records: 0, alive: 0, certificates: 2))
    #expect(try store.groupCount() == 0)
  }

  @Test func `records of transactions go after the tombstone lifetime`() throws {
    let clock = Clock()
    let fixture = try Self.fixture(clock)
    let store = fixture.store
    for day in 0..<200 {
      try store.write { tx in
        for id in ["a", "b"] { try tx.upsert(["n": .int(Int64(day))], id: DocumentID(id), into: "cars") }
      }
      if day == 99 { clock.advance(days: 5) }
    }
    clock.advance(days: 3)
    try store.collect(now: clock.now)
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
    let clock = Clock()
    let fixture = try Self.fixture(clock) { $0.writerSlice = .zero }
    let store = fixture.store
    var random = SeededGenerator(seed: 5)
    for _ in 0..<40 {
      try store.write { tx in
        for _ in 0..<20 {
          let id = try DocumentID("\(random.int(below: 200))")
          let field = "f\(random.int(below: 4))"
          switch random.int(below: 6) {
          case 0: try tx.update(id, in: "cars", [.remove([field])])
          case 1: if random.oneIn(3) { try tx.evict(id, in: "cars") }
          default: try tx.upsert([field: .int(1)], id: id, into: "cars")
          }
        }
      }
      clock.advance(days: 1)
      if random.oneIn(3) { try store.collect(now: clock.now) }
    }
    clock.advance(days: 30)
    // What changed since it was entered has its time begin anew, once.
    try store.collect(now: clock.now)
    clock.advance(days: 8)
    try store.collect(now: clock.now)
    try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      try tx.forEachRecord(in: cars, verify: true) { _, _, record in
        let isForgettable = record.isForgettable
        #expect(!isForgettable)
        return true
      }
      #expect(try tx.expiryCount() == 0)
    }
  }

  @Test func `the store collects by itself`() async throws {
    let clock = Clock()
    let fixture = try Self.fixture(clock) { $0.collectionInterval = .milliseconds(20) }
    try fixture.store.put("x", [:])
    _ = try await fixture.store.write { try $0.remove(DocumentID("x"), in: "cars") }
    clock.advance(days: 8)
    try await waitUntil { try fixture.store.memory().certificates == 1 }
    // Closing does not wait for the next time.
    fixture.store.close()
  }

  @Test func `a damaged tombstone is neither forgotten nor in the way of others`() throws {
    let clock = Clock()
    let fixture = try Self.fixture(clock)
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
    clock.advance(days: 8)
    try fixture.store.collect(now: clock.now)
    #expect(try fixture.store.memory() == Memory(records: 1, alive: 1, certificates: 1))
    #expect(code { try fixture.store.bytes("a") } == .corrupt)
  }

  @Test func `collecting inside a write transaction is refused`() throws {
    let fixture = try Self.fixture(Clock())
    let store = fixture.store
    try store.write { _ in #expect(code { try store.collect(now: 0) } == .nestedWriteTransaction) }
    store.close()
    #expect(code { try store.collect(now: 0) } == .closed)
  }
}

/// What a store holds.
private struct Memory: Equatable {
  var records: Int
  var alive: Int
  var certificates: Int
}

private enum Life: Equatable { case unknown, alive, deleted }

extension Store {
  fileprivate func memory() throws -> Memory {
    try read { tx in
      var memory = Memory(records: 0, alive: 0, certificates: try tx.certificateCount())
      guard let cars = try tx.collection("cars") else { return memory }
      try tx.forEachRecord(in: cars) { _, _, record in
        memory.records += 1
        memory.alive += record.isAlive ? 1 : 0
        return true
      }
      let info = try #require(try tx.collections().first { $0.name == "cars" })
      #expect(info.documentCount == memory.alive && info.tombstoneCount == memory.records - memory.alive)
      return memory
    }
  }

  fileprivate func state(_ id: String) throws -> Life {
    try read { tx in
      guard let cars = try tx.collection("cars") else { return .unknown }
      return try tx.withRecord(cars, DocumentID(id)) { record, _ in record.isAlive ? .alive : .deleted }
        ?? .unknown
    }
  }

  fileprivate func summary(_ id: String) throws -> Summary? {
    try read { tx in try tx.withRecord(try #require(try tx.collection("cars")), DocumentID(id)) { $1 } }
  }

  fileprivate func bytes(_ id: String) throws -> Int {
    try read { tx in
      try tx.withRecord(try #require(try tx.collection("cars")), DocumentID(id)) { record, _ in
        record.byteCount
      } ?? 0
    }
  }

  fileprivate func groupCount() throws -> Int {
    try read { tx in
      var count = 0
      try tx.groups(after: 0) { _, _ in
        count += 1
        return true
      }
      return count
    }
  }

  /// Writes and deletes a document, and lets the deletion grow old.
  fileprivate func certify(_ id: String, _ fields: [String: Value]) throws {
    try put(id, fields)
    try write { try $0.remove(DocumentID(id), in: "cars") }
    try collect(now: 1_900_000_000_000)
    #expect(try state(id) == .deleted)
    #expect(try memory().certificates == 1)
  }

  /// Merges a document of this store into `other`.
  fileprivate func send(_ id: String, to other: Store) throws {
    let wire = try read { tx in
      let cars = try #require(try tx.collection("cars"))
      let tables = RecordTables(keys: cars.keys, sites: tx.sites)
      return try #require(
        try tx.withRecord(cars, DocumentID(id)) { record, _ in
          var out = ByteWriter()
          try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &out)
          return out.bytes
        })
    }
    _ = try other.write(origin: .session(1)) {
      try $0.merge(wire: wire.span.bytes, id: DocumentID(id), in: "cars")
    }
  }
}
