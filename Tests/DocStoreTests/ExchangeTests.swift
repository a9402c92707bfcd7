import DocStore
import TestKit
import Testing

/// What an application has that brings documents from store to store by means of its own.
@Suite struct ExchangeTests {
  private static let collection = "cars"

  /// Brings to one store what another has written after a commit.
  ///
  /// - Returns: Where to go on.
  @discardableResult
  private func bring(_ source: Store, to target: Store, after sequence: UInt64) throws -> UInt64 {
    let (written, end) = try source.read { transaction in
      var written: [DocumentID] = []
      let isWhole = try transaction.forEachWritten(after: sequence) { number, document in
        expect(number > sequence)
        written.append(document.id)
        return true
      }
      expect(isWhole)
      expectEqual(Set(written).count, written.count, "a document comes once")
      return (written, transaction.sequence)
    }
    for id in written {
      let vector = try target.read { transaction in
        try transaction.collection(Self.collection).flatMap { try transaction.vector(of: id, in: $0) }
      }
      let delta = try source.read { transaction in
        try transaction.collection(Self.collection).flatMap {
          try transaction.delta(of: id, in: $0, since: vector ?? VersionVector())
        }
      }
      let bytes = try #require(delta)
      let result = try target.write { try $0.merge(bytes, id: id, into: Self.collection) }.0
      expect(result == .changed || result == .unchanged)
    }
    return end
  }

  private func edit(_ store: Store, _ random: inout SeededGenerator) throws {
    let id = try DocumentID("car\(random.int(below: 8))")
    let number = Value.int(Int64(random.int(below: 1_000)))
    let field = TextKey("field\(random.int(below: 4))")
    try store.write { transaction in
      switch random.int(below: 6) {
      case 0: try transaction.remove(id, in: Self.collection)
      case 1: try transaction.update(id, in: Self.collection, [.increment(["driven"], 1)])
      default: _ = try transaction.upsert([field: number], id: id, into: Self.collection)
      }
    }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `stores that bring each other what was written since come to the same`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (a, b) = (try StoreFixture(seed: seed), try StoreFixture(seed: seed + 1_000))
    var (fromA, fromB) = (UInt64(0), UInt64(0))
    for _ in 0..<5 {
      for _ in 0..<random.int(below: 12) { try edit(random.oneIn(2) ? a.store : b.store, &random) }
      if random.oneIn(2) { fromA = try bring(a.store, to: b.store, after: fromA) }
      if random.oneIn(2) { fromB = try bring(b.store, to: a.store, after: fromB) }
    }
    for _ in 0..<2 {
      fromA = try bring(a.store, to: b.store, after: fromA)
      fromB = try bring(b.store, to: a.store, after: fromB)
    }
    for number in 0..<8 {
      let fields = try a.store.fields("car\(number)", in: Self.collection)
      try expectEqual(b.store.fields("car\(number)", in: Self.collection), fields, "car\(number)")
    }
  }

  @Test func `a delta of what is not there is refused, and the whole document is not`() throws {
    let (a, b) = (try StoreFixture(seed: 1), try StoreFixture(seed: 2))
    let id = try DocumentID("x")
    try a.store.write { _ = try $0.upsert(["n": .int(1)], id: id, into: Self.collection) }
    let known = try a.store.read { transaction in
      try transaction.collection(Self.collection).flatMap { try transaction.vector(of: id, in: $0) }
    }
    let vector = try #require(known)
    try a.store.write { try $0.update(id, in: Self.collection, [.set(["m"], .int(2))]) }
    let encodings = try a.store.read { transaction in
      let cars = try #require(try transaction.collection(Self.collection))
      return try [vector, VersionVector()].map { try transaction.delta(of: id, in: cars, since: $0) }
    }
    let (delta, whole) = (try #require(encodings[0]), try #require(encodings[1]))
    #expect(
      try b.store.write { try $0.merge(delta, id: id, into: Self.collection) }.0 == .missingBase
    )
    #expect(try b.store.fields("x", in: Self.collection) == nil)
    #expect(
      try b.store.write { try $0.merge(whole, id: id, into: Self.collection) }.0 == .changed)
    #expect(try b.store.fields("x", in: Self.collection) == ["n": .int(1), "m": .int(2)])
    #expect(
      try b.store.write { try $0.merge(whole, id: id, into: Self.collection) }.0 == .unchanged)
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func `bytes that are no document are refused, and nothing of them is merged`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (a, b) = (try StoreFixture(seed: seed), try StoreFixture(seed: seed + 1))
    let id = try DocumentID("x")
    try a.store.write {
      _ = try $0.upsert(["n": .int(1), "s": .string("text")], id: id, into: Self.collection)
    }
    let found = try a.store.read { transaction in
      let cars = try #require(try transaction.collection(Self.collection))
      return try transaction.delta(of: id, in: cars)
    }
    let whole = try #require(found)
    for bytes in [[], random.bytes(below: 40), Array(whole.dropLast()), whole + [0]] {
      let error = #expect(throws: StoreError.self) {
        try b.store.write { try $0.merge(bytes, id: id, into: Self.collection) }
      }
      expectEqual(error?.code, .corrupt)
    }
    #expect(throws: StoreError.self) { try b.store.write { try $0.merge(whole, id: id, into: "") } }
    #expect(try b.store.fields("x", in: Self.collection) == nil)
  }

  @Test func `a damaged document is told of, and not passed over`() throws {
    let fixture = try StoreFixture()
    for name in ["intact", "damaged"] {
      try fixture.store.write {
        _ = try $0.upsert(
          ["text": .string("text of \(name)")], id: try DocumentID(name), into: Self.collection)
      }
    }
    try fixture.reopen {
      let count = try FileDamage.replace(
        Array("text of damaged".utf8), by: Array("text of DAMAGED".utf8), at: fixture.dataPath)
      #expect(count > 0)
    }
    var seen: [DocumentID] = []
    let error = #expect(throws: StoreError.self) {
      try fixture.store.read { transaction in
        _ = try transaction.forEachWritten(after: 0) { _, document in
          seen.append(document.id)
          return true
        }
      }
    }
    #expect(error?.code == .corrupt)
    let intact = try DocumentID("intact")
    #expect(!seen.contains { $0 != intact })
  }

  @Test func `what is unknown has neither vector nor bytes, and what was deleted has both`() throws {
    let fixture = try StoreFixture()
    let id = try DocumentID("x")
    try fixture.store.write { _ = try $0.upsert(["n": .int(1)], id: id, into: Self.collection) }
    try fixture.store.write { try $0.remove(id, in: Self.collection) }
    try fixture.store.read { transaction in
      let cars = try #require(try transaction.collection(Self.collection))
      #expect(try transaction.vector(of: DocumentID("y"), in: cars) == nil)
      #expect(try transaction.delta(of: DocumentID("y"), in: cars) == nil)
      #expect(try transaction.vector(of: id, in: cars)?.isEmpty == false)
      let delta = try transaction.delta(of: id, in: cars)
      #expect(delta?.isEmpty == false)
    }
  }

  @Test func `what is queued is written in its order without blocking anybody`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let receipts = try await withThrowingTaskGroup(of: UInt64.self) { group in
      for number in 0..<20 {
        group.addTask {
          try await withCheckedThrowingContinuation { continuation in
            store.enqueue { transaction in
              _ = try transaction.upsert(
                ["n": .int(1)], id: try DocumentID("d\(number)"), into: Self.collection)
            } completion: { result in
              continuation.resume(with: result.map(\.sequence))
            }
          }
        }
      }
      return try await group.reduce(into: Set<UInt64>()) { $0.insert($1) }
    }
    #expect(receipts.count == 20)
    struct Refused: Error {}
    let failure = await withCheckedContinuation { continuation in
      store.enqueue { _ in
        throw Refused()
      } completion: {
        continuation.resume(returning: $0)
      }
    }
    #expect(throws: Refused.self) { try failure.get() }
    store.close()
    let closed = await withCheckedContinuation { continuation in
      store.enqueue { _ in
      } completion: {
        continuation.resume(returning: $0)
      }
    }
    #expect(throws: StoreError.self) { try closed.get() }
  }
}
