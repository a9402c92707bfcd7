import CRDTCore
@testable import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct GroupCommitTests {
  private struct Stop: Error {}

  @Test func `writers that wait share commits, and each finds its document durable`() async throws {
    let counter = CountBox()
    let fixture = try StoreFixture {
      $0.commitFault = {
        counter.add(); return 0
      }
    }
    let store = fixture.store
    let writers = 200
    try await withThrowingTaskGroup(of: UInt64.self) { group in
      for index in 0..<writers {
        group.addTask {
          let receipt = try await store.write { tx in
            try tx.upsert(["n": .int(Int64(index))], id: DocumentID("\(index)"), into: "cars")
          }.1
          let found = try store.fields("\(index)", in: "cars")
          expectEqual(found, ["n": .int(Int64(index))])
          return receipt.sequence
        }
      }
      var sequences: Set<UInt64> = []
      for try await sequence in group { sequences.insert(sequence) }
      #expect(sequences == Set(1...UInt64(writers)))
    }
    #expect(counter.value < writers / 2)
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") == writers)
  }

  @Test func `of jobs that share a commit only the one that throws is rolled back`() async throws {
    let counter = CountBox()
    let fixture = try StoreFixture {
      $0.commitFault = {
        counter.add(); return 0
      }
    }
    let store = fixture.store
    let gate = Gate()
    defer { gate.open() }
    // Keeps the writer busy until all others are queued, so that they run as one batch.
    let first = Task {
      try await store.write { tx in
        try tx.upsert([:], id: DocumentID("first"), into: "cars")
        gate.wait()
      }
    }
    // Tasks begin in any order.
    try await waitUntil { store.isWriting }
    let tasks = (0..<20).map { index in
      Task {
        try await store.write { tx in
          try tx.upsert(["key\(index)": .int(1)], id: DocumentID("\(index)"), into: "cars")
          try tx.upsert([:], id: DocumentID("\(index)"), into: index % 3 == 0 ? "odd\(index)" : "boats")
          if index % 3 == 0 { throw Stop() }
        }.1
      }
    }
    try await waitUntil { store.waitingJobs == 20 }
    gate.open()
    _ = try await first.value
    var failures = 0
    for task in tasks {
      do { _ = try await task.value } catch is Stop { failures += 1 }
    }
    #expect(failures == 7)
    #expect(try store.count(in: "cars") == 14)
    #expect(try store.count(in: "boats") == 13)
    try fixture.reopen()
    try fixture.store.read { tx in
      #expect(try tx.collections().map(\.name) == ["boats", "cars"])
      let names = try #require(try tx.collection("cars")).keys.names
      #expect(Set(names) == Set((0..<20).filter { $0 % 3 != 0 }.map { "key\($0)" }))
      #expect(tx.sequence == 14)
    }
    for index in 0..<20 where index % 3 != 0 {
      try expectEqual(fixture.store.fields("\(index)", in: "cars"), ["key\(index)": .int(1)])
    }
    // One commit for the first and those that fitted into its batch, few more for the rest.
    #expect(counter.value <= 10)
  }

  @Test func `writes of the application and of sessions take turns, and each keeps its order`() throws {
    let now = Mutex(Duration.zero)
    let fixture = try StoreFixture {
      $0.drive = .manual
      $0.monotonic = { now.withLock { $0 } }
    }
    let order = Mutex<[String]>([])
    func enqueue(_ origin: Origin, _ name: String) {
      fixture.store.enqueue(origin: origin) { tx in
        order.withLock { $0.append(name) }
        // One more is taken along into the same commit, and no third one.
        now.withLock { $0 += .seconds(1) }
        try tx.upsert([:], id: DocumentID(name), into: "cars")
      } completion: { _ in
      }
    }
    // The last one is of a session that has cost nothing yet.
    for name in ["s1", "s2", "s3"] { enqueue(.remote(1), name) }
    enqueue(.remote(2), "t1")
    for name in ["u1", "u2"] { enqueue(.user, name) }
    for _ in 0..<2 { expect(fixture.store.step(upTo: .announced)) }
    enqueue(.user, "u3")
    while fixture.store.step(upTo: .announced) {}
    #expect(order.withLock { $0 } == ["u1", "u2", "s1", "t1", "u3", "s2", "s3"])
  }

  @Test func `a session that has cost little need not wait for those that have cost much`() {
    var costs = SourceCosts()
    let sessions = (1...3).map { Origin.remote($0) }
    costs.note(8 << 20, of: sessions[0])
    for _ in 0..<3 { costs.note(1_000, of: sessions[1]) }
    costs.note(1 << 30, of: .user)
    #expect(costs.cost(of: .user) == 0 && costs.cost(of: sessions[2]) == 0)
    #expect(costs.cost(of: sessions[1]) < costs.cost(of: sessions[0]))
    // What was so long ago does not count any more, and is not kept.
    for _ in 0..<12 { costs.note(64 << 20, of: sessions[2]) }
    #expect(costs.cost(of: sessions[0]) == 0 && costs.cost(of: sessions[1]) == 0)
  }

  @Test func `threads that block share commits too`() throws {
    let counter = CountBox()
    let fixture = try StoreFixture {
      $0.commitFault = {
        counter.add(); return 0
      }
    }
    let store = fixture.store
    let threads = 16
    let failures = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      for index in 0..<20 {
        do { try store.put("\(thread).\(index)", ["n": .int(Int64(index))]) } catch {
          failures.withLock { $0 += 1 }
        }
      }
    }
    #expect(failures.withLock { $0 } == 0)
    #expect(try store.count(in: "cars") == threads * 20)
    #expect(try store.read { $0.sequence } == UInt64(threads * 20))
  }

  @Test func `a cancelled writer that still waits leaves the queue; one whose body runs is not disturbed`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let gate = Gate()
    defer { gate.open() }
    let running = Task {
      try await store.write { tx in
        try tx.upsert([:], id: DocumentID("running"), into: "cars")
        gate.wait()
      }
    }
    try await waitUntil { store.isWriting }
    let waiting = Task {
      try await store.write { try $0.upsert([:], id: DocumentID("waiting"), into: "cars") }
    }
    try await waitUntil { store.waitingJobs == 1 }
    waiting.cancel()
    running.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    gate.open()
    _ = try await running.value
    #expect(try store.fields("running", in: "cars") != nil)
    #expect(try store.fields("waiting", in: "cars") == nil)
    let late = Task {
      try? await Task.sleep(for: .seconds(100))
      _ = try await store.write { try $0.upsert([:], id: DocumentID("late"), into: "cars") }
    }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(try store.fields("late", in: "cars") == nil)
  }

  @Test func `logs who waits for whom, rising from warning to error`() async throws {
    let fixture = try StoreFixture {
      $0.waitWarning = .milliseconds(20)
      $0.waitRepeat = .milliseconds(10)
    }
    let store = fixture.store
    let gate = Gate()
    defer { gate.open() }
    let running = Task { try await store.write(origin: .remote(3)) { _ in gate.wait() } }
    try await waitUntil { store.isWriting }
    let waiting = Task { try await store.write(hint: "button") { _ in } }
    try await waitUntil { fixture.log.all.count >= 5 }
    gate.open()
    _ = try await running.value
    _ = try await waiting.value
    let lines = fixture.log.all
    #expect(lines.map(\.0).prefix(5) == [.warning, .warning, .warning, .error, .error])
    #expect(
      lines[0].1
        == "Waiting for write transaction (elapsed: 0s), originator=User 'button' blocked_by=Replication")
  }

  @Test func `a job that waits for one that has not begun is watched, too`() {
    var queue = JobQueue()
    let options = StoreOptions()
    func job() -> Job {
      Job(.user, options) { _ in
      } completion: { _ in
      }
    }
    let first = queue.append(job())
    let second = queue.append(job())
    let third = queue.append(job())
    #expect([first, second, third] == [false, true, false])
    #expect(queue.isWatched)
  }

  @Test func `names maintenance that others wait for`() async throws {
    let fixture = try StoreFixture { $0.waitWarning = .milliseconds(20) }
    let store = fixture.store
    let gate = Gate()
    defer { gate.open() }
    let running = Task { try await store.maintain { _, _ in gate.wait() } }
    try await waitUntil { store.isWriting }
    let waiting = Task { try await store.write(hint: "button") { _ in } }
    try await waitUntil { !fixture.log.all.isEmpty }
    gate.open()
    _ = try await running.value
    _ = try await waiting.value
    #expect(
      fixture.log.texts.first
        == "Waiting for write transaction (elapsed: 0s), originator=User 'button' blocked_by=User 'maintenance'"
    )
  }
}

/// A counter for closures.
final class CountBox: Sendable {
  private let count = Mutex(0)

  func add() { count.withLock { $0 += 1 } }
  var value: Int { count.withLock { $0 } }
}

/// Keeps the writer waiting inside a transaction.
///
/// Whoever makes one opens it on every path: a store is not closed before its last transaction ends.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { semaphore.signal() }

  /// Returns once the gate was opened.
  func wait() {
    semaphore.wait()
    semaphore.signal()
  }
}

/// Waits for something that another thread is sure to bring about; gives up with an error after a minute.
///
/// The time alone proves nothing: while other tests keep all threads busy, neither side may run for a minute.
/// So the condition must also have been checked often enough.
func waitUntil(_ isDone: () throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(60)
  var looks = 0
  while try !isDone() {
    looks += 1
    if looks > 1_000, ContinuousClock.now > end { throw CancellationError() }
    try await Task.sleep(for: .milliseconds(1))
  }
}
