import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Threads that wait for the writer, beside transactions whose bodies are tasks.
@Suite struct StandstillTests {
  /// A synchronous function that writes and blocks, as old code of an application does.
  private static func putBlocking(_ store: Store, _ id: String) throws {
    try store.put(id, ["n": .int(1)])
  }

  @Test func `blocking writes of as many tasks as there are threads let an asynchronous transaction end`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let writers = ProcessInfo.processInfo.activeProcessorCount * 2
    let (errors, receipt) = try await store.transaction { tx in
      let blocked = (0..<writers).map { number in
        // Not the transaction's own task, in which a write is refused at once.
        Task.detached { () -> StoreError? in
          do {
            try Self.putBlocking(store, "w\(number)")
            return nil
          } catch {
            return error as? StoreError
          }
        }
      }
      var errors: [StoreError?] = []
      for task in blocked { errors.append(await task.value) }
      try await tx.run { _ = try $0.upsert([:], id: DocumentID("a"), into: "cars") }
      return errors
    }
    #expect(receipt.sequence == 1)
    #expect(errors.allSatisfy { $0?.code == .wouldBlock })
    #expect(errors.first??.message.contains("`try await write`") == true)
    #expect(try store.count(in: "cars") == 1)
    try Self.putBlocking(store, "later")
    #expect(try store.count(in: "cars") == 2)
  }

  @Test func `a thread that runs no task waits for an asynchronous transaction as long as it takes`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let wrote = Outcome<Bool>()
    try await store.transaction { tx in
      Thread.detachNewThread { wrote.set((try? store.put("b", [:])) != nil) }
      try await waitUntil { store.waitingJobs == 1 }
      try await tx.run { _ = try $0.upsert([:], id: DocumentID("a"), into: "cars") }
    }
    #expect(await wrote.value())
    #expect(try store.count(in: "cars") == 2)
  }

  @Test func `a write that has run is durable before the body of the transaction behind it ends`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    let gate = DispatchSemaphore(value: 0)
    let first = Outcome<Bool>()
    Thread.detachNewThread { _ = try? store.write { _ in gate.wait() } }
    try await waitUntil { store.isWriting }
    // Behind the one that holds the writer: a blocking write, then a transaction that waits for its end.
    Thread.detachNewThread { first.set((try? store.put("a", [:])) != nil) }
    try await waitUntil { store.waitingJobs == 1 }
    let transaction = Task {
      try await store.transaction { tx in
        let isDone = await first.value()
        try await tx.run { _ = try $0.upsert([:], id: DocumentID("b"), into: "cars") }
        return isDone
      }.0
    }
    try await waitUntil { store.waitingJobs == 2 }
    gate.signal()
    #expect(try await transaction.value)
    #expect(try store.count(in: "cars") == 2)
  }

  @Test func `closing inside a write does not wait, and closing outside then does`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (inside, outside, gate, isLast) = (
      Outcome<Bool>(), Outcome<Bool>(), DispatchSemaphore(value: 0), Flag()
    )
    Thread.detachNewThread {
      _ = try? store.write { tx in
        _ = try tx.upsert([:], id: DocumentID("a"), into: "cars")
        store.close()
        inside.set(true)
        gate.wait()
      }
    }
    #expect(await inside.value())
    Thread.detachNewThread {
      store.close()
      outside.set(isLast.isSet)
    }
    isLast.set()
    gate.signal()
    #expect(await outside.value())
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  @Test func `closing in the body of an asynchronous transaction lets the transaction end`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try await store.transaction { tx in
      try await tx.run { _ = try $0.upsert([:], id: DocumentID("a"), into: "cars") }
      store.close()
      try await tx.run { _ = try $0.upsert([:], id: DocumentID("b"), into: "cars") }
    }
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") == 2)
  }

  @Test func `closing in a task gives an open transaction a second and rolls it back`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let begun = Outcome<Bool>()
    let closed = Outcome<Bool>()
    let transaction = Task {
      await code {
        try await store.transaction { tx in
          _ = try await tx.run { try $0.upsert([:], id: DocumentID("a"), into: "cars") }
          begun.set(true)
          // For as long as the other task closes the store.
          _ = await closed.value()
          _ = try await tx.run { try $0.upsert([:], id: DocumentID("b"), into: "cars") }
        }
      }
    }
    #expect(await begun.value())
    await Task.detached { store.close() }.value
    closed.set(true)
    #expect(await transaction.value == .closed)
    try fixture.reopen()
    #expect(try fixture.store.count(in: "cars") ?? 0 == 0)
  }
}

/// Something that becomes true once.
private final class Flag: Sendable {
  private let state = Atomic(false)
  var isSet: Bool { state.load(ordering: .sequentiallyConsistent) }
  func set() { state.store(true, ordering: .sequentiallyConsistent) }
}

/// A value that a thread gives and a task waits for.
private final class Outcome<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var waiting: [CheckedContinuation<Value, Never>] = []
  }

  private let state = Mutex(State())

  func set(_ value: Value) {
    let waiting = state.withLock { state in
      state.value = value
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: value) }
  }

  func value() async -> Value {
    await withCheckedContinuation { continuation in
      let value = state.withLock { state -> Value? in
        if state.value == nil { state.waiting.append(continuation) }
        return state.value
      }
      if let value { continuation.resume(returning: value) }
    }
  }
}
