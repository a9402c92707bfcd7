import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct VerifiedPagesTests {
  /// Transactions of all sizes, nested and rolled back, beside snapshots that stay open.
  private func audit(_ seed: UInt64, ignoresFreed: Bool) throws -> PageAudit {
    let fixture = try StoreFixture()
    let store = fixture.store
    var generator = SeededGenerator(seed: seed)
    var audit = PageAudit(ignoresFreed: ignoresFreed)
    try store.createIndex(.cars("byN", "n"))
    for round in 0..<120 {
      let count =
        Int.random(in: 0..<10, using: &generator) == 0 ? 900 : Int.random(in: 1..<12, using: &generator)
      // Several that wait share a commit, each in a transaction nested in it.
      try change(store, count, isRolledBack: round % 8 == 3, &generator)
      if round % 3 != 0 { try audit.run(store) }
      if round % 10 == 0 {
        // While a snapshot is open nothing that it refers to is used again.
        try store.read { tx in
          let cars = try #require(try tx.collection("cars"))
          try change(store, 50, isRolledBack: false, &generator)
          try tx.forEachStoredRecord(in: cars) { _, _, _, _ in true }
        }
      }
    }
    #expect(try store.verify().isIntact)
    return audit
  }

  private struct Undone: Error {}

  private func change(
    _ store: Store, _ count: Int, isRolledBack: Bool, _ generator: inout SeededGenerator
  ) throws {
    var made: [(String, Int, Int)] = []
    for _ in 0..<count {
      let bytes =
        Int.random(in: 0..<40, using: &generator) == 0 ? 9_000 : Int.random(in: 0..<300, using: &generator)
      made.append(
        ("d\(Int.random(in: 0..<3_000, using: &generator))", bytes, Int.random(in: 0..<4, using: &generator)))
    }
    do {
      try store.write { tx in
        for (id, bytes, kind) in made {
          if kind == 0 {
            _ = try tx.evict(DocumentID(id), in: "cars")
          } else {
            let text = Value.string(String(repeating: "x", count: bytes))
            try tx.upsert(["n": .int(Int64(bytes)), "text": text], id: DocumentID(id), into: "cars")
          }
        }
        if isRolledBack { throw Undone() }
      }
    } catch is Undone {
      return
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a page that counts as verified is the one that was verified`(seed: UInt64) throws {
    let audit = try audit(seed, ignoresFreed: false)
    #expect(audit.trusted > 2_000)
    #expect(audit.wrong == 0)
  }

  @Test func `without what commits freed it would not be`() throws {
    #expect(try audit(1, ignoresFreed: true).wrong > 100)
  }

  @Test func `marks are made anew when the map moves, and hold beside commits`() throws {
    let fixture = try StoreFixture {
      $0.mapBytes = 64 << 20
      $0.leastMapBytes = 1 << 20
      $0.reservesAddressSpace = { $0 <= 10 << 20 }
    }
    let store = fixture.store
    var audit = PageAudit()
    var generator = SeededGenerator(seed: 9)
    for round in 0..<40 {
      try change(store, 60, isRolledBack: round % 8 == 3, &generator)
      try audit.run(store)
      if round % 5 == 4 { try store.resize(mapBytes: (8 + round) << 20) }
      try audit.run(store)
    }
    #expect(audit.trusted > 500)
    #expect(audit.wrong == 0)
    #expect(try store.verify().isIntact)
  }
}
