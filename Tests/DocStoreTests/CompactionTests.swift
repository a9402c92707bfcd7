import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct CompactionTests {
  private let fixture: StoreFixture

  init() throws { fixture = try Self.fragmented() }

  /// A store most of whose pages are free.
  private static func fragmented(_ adjust: (inout StoreOptions) -> Void = { _ in }) throws -> StoreFixture {
    let fixture = try StoreFixture(adjust)
    try fixture.fill(2_000)
    try fixture.store.write { tx in
      for n in 0..<1_800 { _ = try tx.evict(DocumentID("\(n)"), in: "cars") }
    }
    try fixture.store.write { _ = try $0.remove(DocumentID("1900"), in: "cars") }
    return fixture
  }

  @Test func `gives free pages back, and keeps contents, site, log and clock`() throws {
    let store = fixture.store
    let (before, statistics) = (try Holdings(store), try store.statistics())
    try store.compact()
    let after = try store.statistics()
    #expect(after.fileBytes < statistics.fileBytes / 3)
    #expect(after.freePages < 40)
    #expect(try Holdings(store) == before)
    let receipt = try store.put("new", ["n": .int(1)])
    #expect(receipt.sequence == before.sequence + 1)
    let site = store.site
    try fixture.reopen()
    #expect(fixture.store.site == site)
    #expect(fixture.store.identityChange == nil)
    #expect(try fixture.store.count(in: "cars") == 200)
    #expect(try fixture.names() == ["data.mdb", "data.mdb-lock", "instance", "lock"])
    try fixture.store.compact()
    try fixture.store.compact()
    try fixture.store.put("newer", [:])
    #expect(try fixture.store.count(in: "cars") == 201)
  }

  @Test func `a snapshot from before stays what it was, and does not hold compaction up`() throws {
    let store = fixture.store
    try store.read { tx in
      let before = try Holdings(tx)
      try store.compact()
      try store.put("new", [:])
      try store.write { _ = try $0.evict(DocumentID("1950"), in: "cars") }
      #expect(try Holdings(tx) == before)
      #expect(try store.fields("1950", in: "cars") == nil)
      #expect(try store.count(in: "cars") == 199)
    }
    #expect(try Holdings(store).summaries.count == 200)
  }

  @Test func `readers and writers beside it lose nothing and see whole transactions`() async throws {
    let store = fixture.store
    let isDone = CountBox()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for writer in 0..<3 {
        group.addTask {
          for n in 0..<40 {
            try await store.write { tx in
              try tx.upsert(["n": .int(Int64(n))], id: DocumentID("a\(writer).\(n)"), into: "pairs")
              try tx.upsert(["n": .int(Int64(n))], id: DocumentID("b\(writer).\(n)"), into: "pairs")
            }
          }
          return 0
        }
      }
      group.addTask {
        var reads = 0
        while isDone.value == 0 {
          let count = try store.count(in: "pairs") ?? 0
          expectEqual(count % 2, 0)
          reads += 1
          await Task.yield()
        }
        return reads
      }
      group.addTask {
        for _ in 0..<5 {
          try await Task.detached { try store.compact() }.value
        }
        return 0
      }
      var finished = 0
      for try await reads in group {
        finished += 1
        if finished == 4 { isDone.add() }
        if finished == 5 { expect(reads > 0) }
      }
    }
    #expect(try store.count(in: "pairs") == 240)
    try fixture.reopen()
    #expect(try fixture.store.count(in: "pairs") == 240)
    #expect(try fixture.store.count(in: "cars") == 199)
  }

  @Test func `stopped half way, everything is as before`() throws {
    let before = try Holdings(fixture.store)
    #expect(throws: Interruption.self) {
      try fixture.store.compact { if $0.share > 0.2 { throw Interruption() } }
    }
    #expect(try fixture.names() == ["data.mdb", "data.mdb-lock", "instance", "lock"])
    #expect(try Holdings(fixture.store) == before)
    try fixture.store.put("new", [:])
    try fixture.store.compact()
  }

  @Test(arguments: [StoreStep.compactionCopied, .compactionOpened, .compactionMarked])
  func `a failure before the exchange leaves the old file in use`(step: StoreStep) throws {
    let isFailing = Mutex(true)
    let fixture = try Self.fragmented { options in
      options.stepFault = { (reached) throws(StoreError) in
        if reached == step, isFailing.withLock({ $0 }) {
          throw StoreError(.io, "a failure", operation: "test")
        }
      }
    }
    let (site, before) = (fixture.store.site, try Holdings(fixture.store))
    #expect(code { try fixture.store.compact() } == .io)
    #expect(try Holdings(fixture.store) == before)
    try fixture.store.put("new", [:])
    #expect(try fixture.names() == ["data.mdb", "data.mdb-lock", "instance", "lock"])
    try fixture.reopen()
    #expect(fixture.store.site == site)
    #expect(try fixture.store.count(in: "cars") == 200)
    isFailing.withLock { $0 = false }
    try fixture.store.compact()
    #expect(try fixture.store.count(in: "cars") == 200)
  }

  @Test func `a failure to make the exchange durable poisons, for a crash could bring the old file back`()
    throws
  {
    let fixture = try Self.fragmented { options in
      options.stepFault = { (reached) throws(StoreError) in
        if reached == .compactionRenamed { throw StoreError(.io, "a failure", operation: "test") }
      }
    }
    let before = try Holdings(fixture.store)
    #expect(code { try fixture.store.compact() } == .io)
    #expect(code { try fixture.store.put("new", [:]) } == .poisoned)
    #expect(code { try fixture.store.compact() } == .poisoned)
    #expect(try fixture.store.statistics().failure?.code == .io)
    #expect(try Holdings(fixture.store) == before)
    try fixture.reopen()
    #expect(try Holdings(fixture.store) == before)
    #expect(fixture.store.identityChange == nil)
    try fixture.store.put("new", [:])
  }

  @Test(
    arguments: [
      StoreStep.compactionCopied, .compactionOpened, .compactionMarked, .compactionRenamed, .compactionSynced,
    ])
  func `killed at any step, the store is whole and stays the site it is`(step: StoreStep) async throws {
    let (site, before) = (fixture.store.site, try Holdings(fixture.store))
    fixture.store.close()
    let crash = Crash(path: fixture.path, step: step)
    await #expect(processExitsWith: .signal(SIGKILL)) { [crash = crash as Crash] in
      let store = try Store.open(at: crash.path, options: crash.options())
      try store.compact()
    }
    for _ in 0..<2 {
      try fixture.reopen()
      expectEqual(fixture.store.site, site)
      expect(fixture.store.identityChange == nil)
      try expectEqual(Holdings(fixture.store), before)
      try expectEqual(fixture.names(), ["data.mdb", "data.mdb-lock", "instance", "lock"])
    }
    try fixture.store.put("new", [:])
  }

  @Test func `inside a write transaction it is refused at once`() throws {
    let store = fixture.store
    try store.write { _ throws -> Void in #expect(code { try store.compact() } == .nestedWriteTransaction) }
    fixture.store.close()
    #expect(code { try store.compact() } == .closed)
  }

  // MARK: - Another size

  @Test(arguments: [true, false])
  func `a full store takes writes again once it has more room`(byCompaction: Bool) throws {
    let fixture = try StoreFixture { $0.mapBytes = 1 << 20 }
    let store = fixture.store
    var stored = 0
    while code(of: { try fixture.fill(20, from: stored, bytes: 2_000) }) == nil { stored += 20 }
    #expect(code { try fixture.fill(20, from: stored, bytes: 2_000) } == .full)
    if byCompaction { try store.compact(mapBytes: 8 << 20) } else { try store.resize(mapBytes: 8 << 20) }
    #expect(try store.statistics().mapBytes == 8 << 20)
    try fixture.fill(1_000, from: stored, bytes: 2_000)
    #expect(try store.count(in: "cars") == stored + 1_000)
    #expect(code { try store.resize(mapBytes: 1 << 20) } == .limit)
  }

  @Test func `resizing waits for readers, gives up at its deadline, and readers go on either way`()
    async throws
  {
    let fixture = try StoreFixture { $0.gateDeadline = .milliseconds(200) }
    let store = fixture.store
    try store.put("a", [:])
    try store.read { tx throws -> Void in
      #expect(code { try store.resize(mapBytes: 1 << 30) } == .deadline)
      #expect(try tx.collections().count == 1)
    }
    try store.put("b", [:])
    try store.resize(mapBytes: 1 << 30)
    #expect(try store.count(in: "cars") == 2)
    try store.put("c", [:])
    // A reader that comes while the gate is closed gets its turn.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { () throws -> Void in
          for _ in 0..<200 {
            try expectEqual(
              store.count(in: "cars"), 3)
          }
        }
      }
      group.addTask { for n in 1...20 { _ = code { try store.resize(mapBytes: (1 << 30) + n << 20) } } }
      try await group.waitForAll()
    }
  }
}
