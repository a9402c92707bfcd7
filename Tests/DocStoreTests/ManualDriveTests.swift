import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct ManualDriveTests {
  private struct Stop: Error {}

  /// What was told of transactions, in the order it was told.
  private final class Told: Sendable {
    private let lines = Mutex<[String]>([])

    func note(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock { $0 } }
  }

  private static func fixture(_ adjust: (inout StoreOptions) -> Void = { _ in }) throws -> StoreFixture {
    try StoreFixture {
      $0.drive = .manual
      adjust(&$0)
    }
  }

  private static func enqueue(_ id: String, _ store: Store, _ told: Told, thenThrow: Bool = false) {
    store.enqueue(
      { tx in
        try tx.upsert(["n": .int(1)], id: DocumentID(id), into: "cars")
        if thenThrow { throw Stop() }
      },
      completion: { outcome in
        switch outcome {
        case .success(let receipt): told.note("\(id) \(receipt.sequence)")
        case .failure(let error): told.note("\(id) \((error as? StoreError)?.code.rawValue ?? "thrown")")
        }
      })
  }

  @Test(arguments: [StoreDrive.thread, .manual])
  func `a transaction runs on the caller's thread in a store driven by hand alone`(_ drive: StoreDrive) throws
  {
    let fixture = try StoreFixture { $0.drive = drive }
    let caller = ThreadMark()
    let isHere = try fixture.store.write { tx in
      try tx.upsert([:], id: DocumentID("a"), into: "cars")
      return caller.isCurrent
    }.0
    #expect(isHere == (drive == .manual))
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  @Test func `a task's transaction and maintenance are carried out at once, too`() async throws {
    let fixture = try Self.fixture()
    let store = fixture.store
    try await store.write { try $0.upsert([:], id: DocumentID("a"), into: "cars") }
    try await store.createIndex(.cars("byName", "name"))
    try store.compact()
    try store.collect()
    store.housekeep()
    #expect(try store.count(in: "cars") == 1)
  }

  @Test func `a queued transaction is seen, told and answered step by step`() throws {
    let fixture = try Self.fixture()
    let store = fixture.store
    let told = Told()
    let listener = store.onCommit { told.note("commit \($0.sequence)") }
    defer { listener.cancel() }
    #expect(!store.step(upTo: .announced))
    Self.enqueue("a", store, told)
    #expect(try store.count(in: "cars") == nil)
    #expect(store.step(upTo: .executed))
    #expect(!store.step(upTo: .executed))
    #expect(try store.count(in: "cars") == nil)
    #expect(store.step(upTo: .committed))
    #expect(try store.count(in: "cars") == 1)
    #expect(told.all == [])
    #expect(store.step(upTo: .announced))
    #expect(told.all == ["commit 1", "a 1"])
    #expect(!store.step(upTo: .announced))
  }

  @Test func `a transaction that is waited for comes after those that were queued before`() throws {
    let fixture = try Self.fixture()
    let store = fixture.store
    let told = Told()
    Self.enqueue("a", store, told)
    store.step(upTo: .executed)
    Self.enqueue("b", store, told)
    #expect(try store.put("c", [:]).sequence == 3)
    #expect(told.all == ["a 1", "b 2"])
  }

  @Test func `those that wait share a commit, in which each can fail alone`() throws {
    let commits = CountBox()
    let fixture = try Self.fixture {
      $0.commitFault = {
        commits.add(); return 0
      }
    }
    let store = fixture.store
    let told = Told()
    for id in ["a", "b", "c"] { Self.enqueue(id, store, told, thenThrow: id == "b") }
    #expect(store.step(upTo: .announced))
    #expect(commits.value == 1)
    #expect(told.all == ["b thrown", "a 1", "c 2"])
    #expect(try store.count(in: "cars") == 2)
  }

  @Test func `a commit that fails is told to all in it, and a failed step does not stop the next`() throws {
    let fixture = try Self.fixture { $0.commitFault = { ENOSPC } }
    let store = fixture.store
    let told = Told()
    for id in ["a", "b"] { Self.enqueue(id, store, told) }
    #expect(store.step(upTo: .committed))
    #expect(told.all == ["a full", "b full"])
    Self.enqueue("c", store, told)
    #expect(store.step(upTo: .announced))
    #expect(told.all.last == "c full")
  }

  @Test func `inside a step nothing is carried on, and no write can wait for itself`() throws {
    let fixture = try Self.fixture()
    let store = fixture.store
    let told = Told()
    let listener = store.onCommit { _ in
      Self.enqueue("later", store, told)
      told.note("step \(store.step(upTo: .announced))")
      told.note("\(code { try store.put("b", [:]) }?.rawValue ?? "written")")
    }
    Self.enqueue("a", store, told)
    store.step(upTo: .announced)
    #expect(told.all == ["step false", StoreError.Code.nestedWriteTransaction.rawValue, "a 1"])
    listener.cancel()
    #expect(store.step(upTo: .announced))
    #expect(told.all.last == "later 2")
  }

  // MARK: - Ends

  @Test(arguments: [nil] + CommitStage.allCases.map(Optional.some))
  func `a kill loses what is not committed, and tells nobody of what is`(_ stage: CommitStage?) throws {
    let fixture = try Self.fixture()
    let told = Told()
    let site = fixture.store.site
    try fixture.store.put("before", [:])
    let listener = fixture.store.onCommit { told.note("commit \($0.sequence)") }
    Self.enqueue("a", fixture.store, told)
    if let stage { fixture.store.step(upTo: stage) }
    Self.enqueue("waiting", fixture.store, told)
    fixture.store.crash()
    listener.cancel()
    #expect(told.all == (stage == .announced ? ["commit 2", "a 2"] : []))
    #expect(code { try fixture.store.put("b", [:]) } == .closed)
    try fixture.reopen()
    let isDurable = stage.map { $0 >= .committed } ?? false
    #expect(try fixture.store.count(in: "cars") == (isDurable ? 2 : 1))
    #expect(fixture.store.site == site)
    #expect(fixture.store.identityChange == nil)
    #expect(try fixture.store.put("after", [:]).sequence == (isDurable ? 3 : 2))
    #expect(try fixture.store.verify().isIntact)
  }

  @Test(arguments: [nil] + CommitStage.allCases.map(Optional.some))
  func `control: a store that is closed carries out and tells what waits`(_ stage: CommitStage?) throws {
    let fixture = try Self.fixture()
    let told = Told()
    Self.enqueue("a", fixture.store, told)
    if let stage { fixture.store.step(upTo: stage) }
    Self.enqueue("waiting", fixture.store, told)
    fixture.store.close()
    #expect(told.all == ["a 1", "waiting 2"])
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") == 2)
  }

  @Test func `a kill in the first commit of a session is no reason to become another site`() throws {
    let fixture = try Self.fixture()
    let site = fixture.store.site
    for round in 0..<4 {
      Self.enqueue("\(round)", fixture.store, Told())
      fixture.store.step(upTo: .committed)
      fixture.store.crash()
      try fixture.reopen()
      expectEqual(fixture.store.site, site)
    }
    #expect(try fixture.store.count(in: "cars") == 4)
  }

  @Test func `a listener may close the store`() throws {
    let fixture = try Self.fixture()
    let (store, told) = (fixture.store, Told())
    let listener = store.onCommit { _ in store.close() }
    Self.enqueue("a", store, told)
    #expect(store.step(upTo: .announced))
    listener.cancel()
    #expect(told.all == ["a 1"])
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  @Test func `a kill of a store with a thread leaves nobody waiting, and the same site`() async throws {
    let fixture = try StoreFixture()
    let (store, site, told) = (fixture.store, fixture.store.site, Told())
    let (started, gate) = (Gate(), Gate())
    store.enqueue(
      { tx in
        started.open()
        gate.wait()
        try tx.upsert([:], id: DocumentID("a"), into: "cars")
      }, completion: { _ in told.note("a") })
    started.wait()
    Self.enqueue("b", store, told)
    let end = Task.detached { store.crash() }
    try await waitUntil { told.all == ["b closed"] }
    gate.open()
    await end.value
    #expect(told.all == ["b closed", "a"])
    try fixture.reopen()
    #expect(fixture.store.site == site)
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  // MARK: - What comes from outside

  @Test func `the injected clock alone decides how old a snapshot is`() throws {
    let seconds = Mutex(5)
    let fixture = try Self.fixture {
      $0.monotonic = { .seconds(seconds.withLock { $0 }) }
      $0.readerDeadline = .seconds(60)
    }
    let store = fixture.store
    try store.put("a", [:])
    try store.read { tx in
      seconds.withLock { $0 += 60 }
      try store.put("b", [:])
      #expect(try tx.collections().map(\.documentCount) == [1])
      #expect(try store.statistics().oldestReaderAge == .seconds(60))
      seconds.withLock { $0 += 1 }
      try store.put("c", [:])
      #expect(code { try tx.collections() } == .deadline)
    }
  }

  @Test func `the same inputs make the same file`() throws {
    func file(seed: UInt64) throws -> Data {
      let fixture = try StoreFixture(seed: seed) {
        $0.drive = .manual
        // How many jobs are taken along depends on the time that they take.
        $0.monotonic = { .zero }
      }
      let store = fixture.store
      for index in 0..<200 {
        store.enqueue(
          { tx in
            try tx.upsert(["n": .int(Int64(index))], id: DocumentID("\(index % 90)"), into: "c\(index % 3)")
            if index % 7 == 0 { try tx.remove(DocumentID("\(index % 50)"), in: "c\(index % 3)") }
          }, completion: { _ in })
        if index % 5 == 0 { while store.step(upTo: .announced) {} }
      }
      store.close()
      return try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))
    }
    #expect(try file(seed: 3) == file(seed: 3))
    #expect(try file(seed: 3) != file(seed: 4))
  }
}

/// Remembers a thread.
private struct ThreadMark: @unchecked Sendable {
  private let thread = Thread.current

  var isCurrent: Bool { thread == Thread.current }
}
