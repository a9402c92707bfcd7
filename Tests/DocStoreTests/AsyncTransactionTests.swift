import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct AsyncTransactionTests {
  private struct Stop: Error {}

  @Test func `commits what its statements wrote, all at once`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (sum, receipt) = try await store.transaction { tx in
      let id = try await tx.run { try $0.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars") }
      await Task.yield()
      #expect(try store.fields("a", in: "cars") == nil)
      let seen = try await tx.run { tx in
        try tx.withRecord(try #require(try tx.collection("cars")), id) { record, _ in record.isAlive }
      }
      #expect(seen == true)
      try await tx.run { _ = try $0.upsert(["n": .int(2)], id: DocumentID("b"), into: "boats") }
      return 3
    }
    #expect(sum == 3)
    #expect(receipt.sequence == 1)
    #expect(try store.count(in: "cars") == 1)
    #expect(try store.count(in: "boats") == 1)
  }

  @Test func `a body that throws rolls everything back`() async throws {
    let fixture = try StoreFixture()
    await #expect(throws: Stop.self) {
      try await fixture.store.transaction { tx in
        _ = try await tx.run { try $0.upsert([:], id: DocumentID("a"), into: "cars") }
        throw Stop()
      }
    }
    #expect(try fixture.store.read { $0.sequence } == 0)
    try fixture.store.put("b", [:])
    #expect(try fixture.store.count(in: "cars") == 1)
  }

  @Test func `falls to its deadline when no statement comes, and others go on`() async throws {
    let fixture = try StoreFixture { $0.transactionDeadline = .milliseconds(20) }
    let store = fixture.store
    let caught = await code {
      try await store.transaction { tx in
        _ = try await tx.run { try $0.upsert([:], id: DocumentID("a"), into: "cars") }
        try await waitUntil { !store.isWriting }
        #expect(await code { try await tx.run { _ in } } == .deadline)
      }
    }
    #expect(caught == .deadline)
    try store.put("b", [:])
    #expect(try store.fields("a", in: "cars") == nil)
    #expect(try store.read { $0.sequence } == 1)
  }

  @Test func `refuses nested writes of every kind at once, and goes on`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.transaction { tx in
      _ = try await tx.run { try $0.upsert([:], id: DocumentID("a"), into: "cars") }
      #expect(code { try store.put("b", [:]) } == .nestedWriteTransaction)
      #expect(await code { try await store.write { _ in } } == .nestedWriteTransaction)
      #expect(await code { try await store.transaction { _ in } } == .nestedWriteTransaction)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { #expect(await code { try await store.write { _ in } } == .nestedWriteTransaction) }
        try await group.waitForAll()
      }
      let inside = try await tx.run { _ in code { try store.put("b", [:]) } }
      #expect(inside == .nestedWriteTransaction)
    }
    #expect(try store.count(in: "cars") == 1)
  }

  @Test func `removing and upserting one document over two statements writes nothing`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    let id = try DocumentID("a")
    let caught = await code {
      try await store.transaction { tx in
        _ = try await tx.run { try $0.upsert([:], id: DocumentID("other"), into: "cars") }
        #expect(try await tx.run { try $0.remove(id, in: "cars") })
        _ = try? await tx.run { try $0.upsert(["n": .int(2)], id: id, into: "cars") }
      }
    }
    #expect(caught == .removedInTransaction)
    #expect(try store.fields("a", in: "cars") == ["n": .int(1)])
    #expect(try store.count(in: "cars") == 1)
  }

  @Test func `a transaction that others wait for is named in the log, with the time`() async throws {
    let fixture = try StoreFixture {
      $0.waitWarning = .milliseconds(1_050)
      $0.waitRepeat = .milliseconds(10)
    }
    let store = fixture.store
    _ = try await store.transaction(origin: .remote(1)) { tx in
      // A thread of its own: other tests may keep those that tasks run on.
      Thread.detachNewThread { _ = try? store.write(origin: .remote(2)) { _ in } }
      try await waitUntil { !fixture.log.all.isEmpty }
    }
    #expect(
      fixture.log.texts.first
        == "Waiting for write transaction (elapsed: 1s), originator=Replication blocked_by=Replication")
    let options = StoreOptions()
    #expect((options.waitWarning, options.waitRepeat) == (.seconds(10), .seconds(5)))
  }

  @Test func `a task that outlives the transaction that started it may write`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let (task, _) = try await store.transaction { _ in
      Task {
        for await _ in stream { break }
        return try await store.write { try $0.upsert([:], into: "cars") }.1.sequence
      }
    }
    continuation.yield()
    #expect(try await task.value == 1)
  }

  @Test func `cancelled while it waits for its turn, its body never runs`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    defer { continuation.finish() }
    let holder = Task {
      try await store.transaction { _ in for await _ in stream { break } }
    }
    try await waitUntil { store.isWriting }
    let ran = CountBox()
    let waiting = Task { try await store.transaction { _ in ran.add() } }
    try await waitUntil { store.waitingJobs == 1 }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(ran.value == 0)
    continuation.yield()
    _ = try await holder.value
  }

  @Test func `cancelled in its body, the next statement throws and everything is rolled back`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await store.transaction { tx in
        _ = try await tx.run { try $0.upsert([:], id: DocumentID("a"), into: "cars") }
        continuation.yield()
        while !Task.isCancelled { await pause() }
        _ = try await tx.run { try $0.upsert([:], id: DocumentID("b"), into: "cars") }
      }
    }
    for await _ in stream { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.read { $0.sequence } == 0)
    try store.put("c", [:])
  }

  @Test func `a handle that leaks out of its body is refused`() async throws {
    let fixture = try StoreFixture()
    let (leaked, _) = try await fixture.store.transaction { $0 }
    #expect(await code { try await leaked.run { _ in } } == .closed)
  }
}
