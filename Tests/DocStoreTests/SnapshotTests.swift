import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct SnapshotTests {
  @Test func `a read does not move while others write`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    for n in 0..<50 { try store.put("\(n)", ["n": .int(0)]) }
    try store.read { tx in
      let cars = try #require(try tx.collection("cars"))
      for round in 1...5 {
        try store.write { tx in
          for n in 0..<50 {
            try tx.upsert(
              ["n": .int(Int64(round)), "k\(round)": .null], id: DocumentID("\(n)"), into: "cars")
          }
          try tx.upsert([:], id: DocumentID("new\(round)"), into: "cars")
        }
        var count = 0
        try tx.forEachRecord(in: cars) { _, _, record in
          let fields = try record.fields(cars.keys)
          expectEqual(fields, ["n": .int(0)])
          count += 1
          return true
        }
        expectEqual(count, 50)
        expectEqual(tx.sequence, 50)
        try expectEqual(tx.collections().map(\.documentCount), [50])
      }
    }
    #expect(try store.count(in: "cars") == 55)
  }

  @Test func `readers always have the names and sites that their records need`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let isDone = CountBox()
    let failures = LogLines()
    let reader = Thread {
      while isDone.value == 0 {
        do {
          try store.read { tx in
            for info in try tx.collections() {
              let collection = try #require(try tx.collection(info.name))
              try tx.forEachRecord(in: collection) { _, _, record in
                _ = try record.fields(collection.keys)
                _ = try record.vector(sites: tx.sites)
                return true
              }
            }
          }
        } catch { failures.append(.error, "\(error)") }
      }
      isDone.add()
    }
    reader.start()
    for n in 0..<300 { try store.put("\(n % 7)", ["key\(n)": .int(1)], into: "c\(n % 11)") }
    isDone.add()
    let end = ContinuousClock.now + .seconds(10)
    while isDone.value < 2, ContinuousClock.now < end { sched_yield() }
    #expect(failures.texts.isEmpty)
  }

  @Test func `visits ids in byte order, from and to, tombstones too, until told to stop`() throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let names = ["a", "ab", "b", "ba", "c"]
    for name in names.shuffled() {
      try store.put(name, [:])
      try store.put(name, [:], into: "boats")
    }
    try store.write { try $0.remove(DocumentID("ab"), in: "cars") }
    func visit(from: String? = nil, to: String? = nil, limit: Int = .max) throws -> [String] {
      try store.read { tx in
        var seen: [String] = []
        try tx.forEachRecord(
          in: try #require(try tx.collection("cars")), from: from.map { try DocumentID($0).bytes },
          to: to.map { try DocumentID($0).bytes }
        ) { id, _, record in
          guard case .string(let name) = try DocumentID(validating: id).value else { return false }
          seen.append(record.isAlive ? name : "-" + name)
          return seen.count < limit
        }
        return seen
      }
    }
    #expect(try visit() == ["a", "-ab", "b", "ba", "c"])
    #expect(try visit(from: "ab", to: "c") == ["-ab", "b", "ba"])
    #expect(try visit(from: "aa", to: "b") == ["-ab"])
    #expect(try visit(from: "d").isEmpty)
    #expect(try visit(limit: 2) == ["a", "-ab"])
  }

  @Test func `more readers than the engine keeps slots for are refused, and later ones served`() async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    func nested(_ depth: Int) throws -> Int {
      try store.read { _ in depth == 0 ? 0 : try nested(depth - 1) + 1 }
    }
    #expect(try nested(100) == 100)
    #expect(code { try nested(1_100) } == .tooManyReaders)
    #expect(try nested(10) == 10)
  }
}
