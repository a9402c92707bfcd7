import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

/// A listener need not free a commit's memory: the writer's thread frees it when it reports the next commit.
@Suite struct ToldCommitTests {
  /// Changes that a listener was told of, without keeping them.
  private final class Seen: Sendable {
    private struct Entry {
      weak var change: Change?
    }

    private let entries = Mutex<[Entry]>([])

    func note(_ commit: Commit) {
      entries.withLock { entries in
        for change in commit.changes { entries.append(Entry(change: change)) }
      }
    }

    /// Which of them somebody still holds.
    var areHeld: [Bool] { entries.withLock { $0.map { $0.change != nil } } }
  }

  private static func write(_ number: Int64, _ text: String = "", to store: Store) throws {
    try store.write { try $0.upsert(["text": .string(text)], id: DocumentID(.int(number)), into: "cars") }
  }

  @Test func `a commit is let go of when the next one is told`() throws {
    let fixture = try StoreFixture { $0.drive = .manual }
    let seen = Seen()
    let listener = fixture.store.onCommit { seen.note($0) }
    defer { listener.cancel() }
    try Self.write(1, to: fixture.store)
    #expect(seen.areHeld == [true])
    try Self.write(2, to: fixture.store)
    #expect(seen.areHeld == [false, true])
    fixture.store.close()
    #expect(seen.areHeld == [false, false])
  }

  @Test func `a large commit is not kept`() throws {
    let fixture = try StoreFixture { $0.drive = .manual }
    let seen = Seen()
    let listener = fixture.store.onCommit { seen.note($0) }
    defer { listener.cancel() }
    let text = String(repeating: "x", count: 5 << 20)
    try Self.write(1, text, to: fixture.store)
    try fixture.store.write { tx in
      for number in 2...3 as ClosedRange<Int64> {
        try tx.upsert(["text": .string(text)], id: DocumentID(.int(number)), into: "cars")
      }
    }
    #expect(seen.areHeld == [false, false, false])
  }

  /// Freeing a few long records costs few locks, however short the commit: their memory is worth more.
  @Test(arguments: [(20_000, 1, true), (100_000, 3, false), (300, 500, true), (40_000, 20, false)])
  func `of commits of less, those of long records are not kept`(bytes: Int, count: Int64, isKept: Bool) throws
  {
    let fixture = try StoreFixture { $0.drive = .manual }
    let seen = Seen()
    let listener = fixture.store.onCommit { seen.note($0) }
    defer { listener.cancel() }
    let text = String(repeating: "x", count: bytes)
    try fixture.store.write { tx in
      for number in 0..<count {
        try tx.upsert(["text": .string(text)], id: DocumentID(.int(number)), into: "cars")
      }
    }
    #expect(seen.areHeld == [Bool](repeating: isKept, count: Int(count)))
  }

  /// Also where the first commit was written on its caller's thread while the writer's slept.
  @Test func `a commit is let go of when nothing is to be done`() async throws {
    let fixture = try StoreFixture()
    let seen = Seen()
    let listener = fixture.store.onCommit { seen.note($0) }
    defer { listener.cancel() }
    for number in 1...2 as ClosedRange<Int64> {
      try Self.write(number, to: fixture.store)
      try await waitUntil { !seen.areHeld.contains(true) }
    }
    try await fixture.store.write { try $0.upsert(["n": .int(1)], id: DocumentID(.int(3)), into: "cars") }
    try await waitUntil { !seen.areHeld.contains(true) }
    #expect(seen.areHeld.count == 3)
  }
}
