import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// The calling thread carries out a blocking write, if nobody else writes and the thread runs no task.
@Suite struct CallerThreadTests {
  /// Runs `body` on a thread of its own, which runs no task.
  private func onThread<R: Sendable>(
    stackBytes: Int = 8 << 20, _ body: @escaping @Sendable () throws -> R
  ) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      let thread = Thread { continuation.resume(with: Result { try body() }) }
      thread.stackSize = stackBytes
      thread.start()
    }
  }

  private struct Undone: Error {}

  @Test func `body and listeners run on the caller's thread`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let told = Mutex<[Thread]>([])
    let listener = store.onCommit { _ in told.withLock { $0.append(Thread.current) } }
    let isSame = try await onThread {
      let (thread, _) = try store.write { tx in
        try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars")
        return UnsafeSendable(Thread.current)
      }
      return thread.value === Thread.current && told.withLock { $0.last } === Thread.current
    }
    #expect(isSame)
    #expect(try store.fields("a", in: "cars") == ["n": .int(1)])
    listener.cancel()
  }

  @Test func `a task's thread and one with a shallow stack leave it to the store's`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let isElsewhere = try await onThread(stackBytes: 256 << 10) {
      let (thread, _) = try store.write { _ in UnsafeSendable(Thread.current) }
      return thread.value !== Thread.current
    }
    #expect(isElsewhere)
    func write() throws -> Bool {
      try store.write { _ in UnsafeSendable(Thread.current) }.0.value !== Thread.current
    }
    #expect(try write())
  }

  @Test func `what is thrown undoes it, and a write inside is refused`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let inside = try await onThread {
      #expect(throws: Undone.self) {
        try store.write { tx in
          try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars")
          throw Undone()
        }
      }
      return try store.write { _ in code { try store.write { _ in } } }.0
    }
    #expect(inside == .nestedWriteTransaction)
    #expect(try store.fields("a", in: "cars") == nil)
  }

  @Test func `threads and tasks that write at once all have their turn, in one order`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let log = CommitLog()
    let listener = store.onCommit { log.append($0) }
    let (threads, writes) = (4, 150)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<threads {
        group.addTask {
          try await onThread {
            for number in 0..<writes { try store.put("\(thread)-\(number)", ["n": .int(Int64(number))]) }
          }
        }
        group.addTask {
          for number in 0..<writes {
            try await store.write { tx in
              _ = try tx.upsert(
                ["n": .int(Int64(number))], id: DocumentID("task \(thread)-\(number)"), into: "cars")
            }
          }
        }
        group.addTask {
          for number in 0..<10 {
            try await store.transaction { tx in
              try await tx.run { tx in
                _ = try tx.upsert(["n": .int(1)], id: DocumentID("open \(thread)-\(number)"), into: "cars")
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.count(in: "cars") == threads * (2 * writes + 10))
    let sequences = log.all.map(\.sequence)
    #expect(sequences == sequences.sorted() && Set(sequences).count == sequences.count)
    listener.cancel()
  }

  @Test func `a store that is closed inside is closed behind it`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try await onThread {
      try store.write { tx in
        try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars")
        store.close()
      }
      #expect(code { try store.put("b", ["n": .int(1)]) } == .closed)
      store.close()
    }
    try fixture.reopen()
    #expect(try fixture.store.fields("a", in: "cars") == ["n": .int(1)])
  }
}

/// A thread, to be compared only.
private struct UnsafeSendable<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
