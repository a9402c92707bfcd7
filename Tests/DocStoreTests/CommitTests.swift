import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct CommitTests {
  @Test func `tells what each document was before and after, in order, before the writer returns`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let id = try DocumentID("a")
    try store.put("a", ["n": .int(1)])
    let log = CommitLog()
    let listener = store.onCommit { log.append($0) }
    let first = try store.write(origin: .remote(9)) { tx in
      try tx.upsert(["n": .int(2)], id: id, into: "cars")
      try tx.update(id, in: "cars", [.set(["m"], .int(3))])
      try tx.upsert([:], id: DocumentID("b"), into: "boats")
    }.1
    #expect(log.all.count == 1)
    let second = try store.write { try $0.remove(id, in: "cars") }.1
    let third = try store.write { try $0.evict(id, in: "cars") }.1
    listener.cancel()
    try store.put("c", [:])
    let commits = log.all
    try #require(commits.count == 3)
    #expect(commits.map(\.sequence) == [first.sequence, second.sequence, third.sequence])
    #expect(commits.map(\.id) == [first.id, second.id, third.id])
    #expect(Set(commits.map(\.id)).count == 3)
    #expect(commits[0].origin == .remote(9))
    #expect(commits[1].origin == .user)

    let changes = commits[0].changes
    #expect(changes.map(\.collection.name) == ["cars", "boats"])
    #expect(changes.map(\.group) == [0, 0])
    #expect(try changes[0].fieldsBefore() == ["n": .int(1)])
    #expect(try changes[0].fieldsAfter() == ["n": .int(2), "m": .int(3)])
    #expect(changes[0].beforeSummary != changes[0].afterSummary)
    #expect(changes[1].before == nil)
    #expect(changes[1].beforeSummary == nil)

    #expect(commits[1].changes[0].before == changes[0].after)
    #expect(commits[1].changes[0].after?.withView { $0.isAlive } == false)
    #expect(commits[2].changes[0].kind == .evict)
    #expect(commits[2].changes[0].before == commits[1].changes[0].after)
    #expect(commits[2].changes[0].after == nil)
    #expect(commits.map(\.evictionEpoch) == [0, 0, 1])
  }

  @Test func `a rolled back transaction and one without changes are not told of`() throws {
    let fixture = try StoreFixture()
    let log = CommitLog()
    let listener = fixture.store.onCommit { log.append($0) }
    defer { listener.cancel() }
    _ = code {
      try fixture.store.write { tx in
        try tx.upsert([:], into: "cars")
        throw CancellationError()
      }
    }
    try fixture.store.write { _ in }
    #expect(log.all.isEmpty)
  }

  @Test func `letting go of the registration ends it`() throws {
    let fixture = try StoreFixture()
    let log = CommitLog()
    _ = fixture.store.onCommit { log.append($0) }
    try fixture.store.put("a", [:])
    #expect(log.all.isEmpty)
  }

  @Test func `those who are told first stay first when others come and go`() throws {
    let fixture = try StoreFixture()
    let told = Mutex([String]())
    @Sendable func note(_ name: String) -> @Sendable (Commit) -> Void {
      { _ in told.withLock { $0.append(name) } }
    }
    let late = fixture.store.onCommit(note("late"))
    let first = fixture.store.onCommitFirst(note("first"))
    let second = fixture.store.onCommitFirst(note("second"))
    let last = fixture.store.onCommit(note("last"))
    try fixture.store.put("a", [:])
    first.cancel()
    late.cancel()
    let third = fixture.store.onCommitFirst(note("third"))
    try fixture.store.put("b", [:])
    withExtendedLifetime((second, third, last)) {}
    #expect(told.withLock { $0 } == ["first", "second", "late", "last", "second", "third", "last"])
  }

  @Test func `a transaction of several documents keeps a group record, one of a single document none`() throws
  {
    let fixture = try StoreFixture()
    try fixture.store.put("a", [:])
    let receipt = try fixture.store.write { tx in
      try tx.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars")
      try tx.upsert([:], id: DocumentID("b"), into: "boats")
      try tx.upsert(["n": .int(2)], id: DocumentID("a"), into: "cars")
    }.1
    try fixture.reopen()
    #expect(try fixture.groups() == ["\(receipt.sequence): cars/a boats/b"])
    #expect(try fixture.groups(after: receipt.sequence).isEmpty)
  }

  @Test func `each group of a transaction has a sequence of its own; its documents bear it`() throws {
    let fixture = try StoreFixture()
    let log = CommitLog()
    let listener = fixture.store.onCommit { log.append($0) }
    defer { listener.cancel() }
    try fixture.store.put("z", [:])
    let receipt = try fixture.store.write { tx in
      for group in ["a", "b", "c"] {
        try tx.beginGroup()
        try tx.upsert([:], id: DocumentID(group + "1"), into: "cars")
        if group != "b" { try tx.upsert([:], id: DocumentID(group + "2"), into: "cars") }
      }
      try tx.beginGroup()
      try tx.beginGroup()
    }.1
    #expect(receipt.sequence == 4)
    #expect(try fixture.groups() == ["2: cars/a1 cars/a2", "4: cars/c1 cars/c2"])
    let commit = try #require(log.all.last)
    #expect(commit.sequence == 4)
    #expect(commit.changes.map(\.group) == [0, 0, 1, 2, 2])
    #expect(commit.changes.map(\.sequence) == [2, 2, 3, 4, 4])
    let stored = try fixture.store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      return try ["z", "a1", "a2", "b1", "c1"].map { try tx.sequence(of: DocumentID($0), in: cars) }
    }
    #expect(stored == [1, 2, 2, 3, 4])
  }

  @Test func `evictions are in no group, and raise the eviction epoch once a transaction`() throws {
    let fixture = try StoreFixture()
    for id in ["a", "b", "c"] { try fixture.store.put(id, [:]) }
    let receipt = try fixture.store.write { tx in
      try tx.evict(DocumentID("a"), in: "cars")
      try tx.evict(DocumentID("b"), in: "cars")
    }.1
    #expect(receipt.sequence == 4)
    #expect(try fixture.groups().isEmpty)
    #expect(try fixture.store.read { $0.evictionEpoch } == 1)
    #expect(try fixture.store.count(in: "cars") == 1)
    try fixture.reopen()
    #expect(try fixture.store.read { $0.evictionEpoch } == 1)
    #expect(try fixture.store.fields("a", in: "cars") == nil)
  }

  @Test
  func
    `whoever registers while a transaction runs is told of it whole, though nobody listened when it began`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    try store.put("a", ["n": .int(1)])
    try store.put("e", ["n": .int(1)])
    let log = CommitLog()
    let gate = Gate()
    defer { gate.open() }
    let first = Task {
      try await store.write { tx in
        try tx.upsert(["n": .int(2)], id: DocumentID("a"), into: "cars")
        try tx.upsert(["m": .int(1)], id: DocumentID("b"), into: "boats")
        try tx.evict(DocumentID("e"), in: "cars")
        gate.wait()
      }
    }
    try await waitUntil { store.isWriting }
    let second = Task {
      try await store.write { try $0.upsert(["n": .int(3)], id: DocumentID("a"), into: "cars") }
    }
    try await waitUntil { store.waitingJobs == 1 }
    let listener = store.onCommit { log.append($0) }
    defer { listener.cancel() }
    let snapshot = try store.read { $0.sequence }
    gate.open()
    _ = try await (first.value, second.value)
    let commits = log.all.filter { $0.sequence > snapshot }
    try #require(commits.map(\.sequence) == [3, 4])
    let changes = commits[0].changes
    try #require(changes.count == 3)
    #expect(try changes[0].fieldsBefore() == ["n": .int(1)])
    #expect(try changes[0].fieldsAfter() == ["n": .int(2)])
    #expect(changes[1].before == nil)
    #expect(try changes[1].fieldsAfter() == ["m": .int(1)])
    #expect(try changes[2].fieldsBefore() == ["n": .int(1)])
    #expect(changes[2].after == nil)
    #expect(commits[1].changes[0].before == changes[0].after)
  }
}

extension Change {
  func fieldsBefore() throws -> [TextKey: Value]? {
    try before?.withView { (view) throws(CodecError) in try view.fields(collection.keys) }
  }

  func fieldsAfter() throws -> [TextKey: Value]? {
    try after?.withView { (view) throws(CodecError) in try view.fields(collection.keys) }
  }
}

extension StoreFixture {
  fileprivate func groups(after sequence: UInt64 = 0) throws -> [String] {
    try store.read { tx in
      var found: [(UInt64, [DocumentKey])] = []
      try tx.groups(after: sequence) { sequence, members in
        found.append((sequence, members))
        return true
      }
      return try found.map { sequence, members in
        let names = try members.map { member -> String in
          guard case .string(let id) = member.id.value else { return "?" }
          return "\(try tx.collection(number: member.collection)?.name ?? "?")/\(id)"
        }
        return "\(sequence): \(names.joined(separator: " "))"
      }
    }
  }
}
