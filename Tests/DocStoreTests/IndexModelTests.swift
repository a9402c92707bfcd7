import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Whatever happens to documents, the rows are those that the documents themselves would give.
@Suite struct IndexModelTests {
  private struct Stop: Error {}

  private static func value(_ random: inout SeededGenerator) -> Value {
    switch random.int(below: 9) {
    case 0: .null
    case 1: .bool(random.oneIn(2))
    case 2: .double(Double(random.int(below: 5)))
    case 3:
      .string(String(repeating: random.pick(["x", "\u{0}", "é"]), count: random.pick([0, 1, 7, 130, 260])))
    case 4: .array([.int(Int64(random.int(below: 3)))])
    case 5: .map(["x": .int(Int64(random.int(below: 3)))])
    case 6: .counter(Int64(random.int(below: 3)))
    default: .int(Int64(random.int(below: 6)))
    }
  }

  private static func id(_ random: inout SeededGenerator) throws -> DocumentID {
    try DocumentID(.int(Int64(random.int(below: 40))))
  }

  /// A plain number does not take the place of a counter; the transaction goes on.
  private static func unlessRefused<R>(_ write: () throws -> R) throws {
    do {
      _ = try write()
    } catch let error as StoreError where error.document?.code == .isACounter {
      return
    }
  }

  private static func step(_ tx: WriteTransaction, _ random: inout SeededGenerator) throws {
    let id = try Self.id(&random)
    let field = random.pick(["a", "b", "c"])
    switch random.int(below: 8) {
    case 0, 1, 2:
      let fields: [TextKey: Value] = [TextKey(field): value(&random), "new\(random.int(below: 30))": .null]
      try unlessRefused { try tx.upsert(fields, id: id, into: "cars") }
    case 3:
      let edits: [Edit] = [
        .set([TextKey(field)], value(&random)), .remove([TextKey(random.pick(["a", "b"]))]),
      ]
      try unlessRefused { try tx.update(id, in: "cars", edits) }
    case 4: try tx.update(id, in: "cars", [.replace(["b"], .map(["x": value(&random)]))])
    case 5: try tx.remove(id, in: "cars")
    case 6: try tx.evict(id, in: "cars")
    default:
      let collection = try tx.collection("cars")
      if let collection, let index = try tx.indexes(of: collection).first(where: { $0.state == .ready }) {
        try tx.forEachRow(in: index) { _ in !random.oneIn(5) }
      }
    }
  }

  private static let definitions: [IndexDefinition] = [
    .cars("a", "a"), .cars("ba", "-b", "a"), .cars("bx", "b.x"), .cars("c", "-c", "-a"),
  ]

  @Test(arguments: 1...10)
  func `after random transactions, merges, failures, collections, restarts and builds all rows are right`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let clock = DayClock()
    let here = try StoreFixture(seed: seed, clock: clock) { $0.writerSlice = .zero }
    let there = try StoreFixture(seed: seed + 1_000, clock: clock)
    for _ in 0..<40 {
      do {
        try (random.oneIn(3) ? there : here).store.write { tx in
          for _ in 0..<random.int(below: 12) { try Self.step(tx, &random) }
          if random.oneIn(5) { throw Stop() }
        }
      } catch is Stop {
      } catch let error as StoreError where error.code == .removedInTransaction {}
      if random.oneIn(4) {
        try here.store.pull(from: there.store)
        try there.store.pull(from: here.store)
      }
      if random.oneIn(6) {
        let definition = random.pick(Self.definitions)
        do { try here.store.createIndex(definition) } catch let error as StoreError
          where error.code == .indexExists
        { try here.store.dropIndex(definition.name, on: "cars") }
      }
      if random.oneIn(5) { try clock.pass(days: 4, here.store, there.store) }
      if random.oneIn(12) { try here.reopen() }
      if random.oneIn(12) { try here.store.compact() }
      try expectEqual(here.store.indexFindings(), [], "seed \(seed)")
    }
    for index in try here.store.indexes() {
      try expectEqual(here.store.count(in: "cars"), index.rowCount, "seed \(seed)")
    }
    // A copy has the same rows, also as a site of its own, and its own from then on.
    let path = here.directory.file("copy")
    try here.store.backup(to: path)
    let copy = try Store.open(at: path, options: StoreOptions(now: { clock.now }, log: { _, _ in }))
    defer { copy.close() }
    try copy.write { tx in
      for _ in 0..<20 {
        let (id, fields): (DocumentID, [TextKey: Value]) = (try Self.id(&random), ["a": Self.value(&random)])
        try Self.unlessRefused { try tx.upsert(fields, id: id, into: "cars") }
      }
    }
    try copy.pull(from: there.store)
    for store in [here.store, there.store, copy] {
      try expectEqual(store.indexFindings(), [], "seed \(seed)")
      try expectEqual(store.verify().damages, [], "seed \(seed)")
    }
  }

  @Test func `writers that share commits leave the rows right while indexes come and go`() async throws {
    let fixture = try StoreFixture { $0.writerSlice = .zero }
    let store = fixture.store
    try store.put("x", ["a": .int(1)])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<6 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(writer))
          for _ in 0..<60 {
            do {
              let fails = random.oneIn(6)
              let draws = random.split()
              try await store.write { tx in
                var random = draws
                for _ in 0..<5 { try Self.step(tx, &random) }
                if fails { throw Stop() }
              }
            } catch is Stop {
            } catch let error as StoreError where error.code == .removedInTransaction {}
          }
        }
      }
      for definition in Self.definitions {
        group.addTask {
          for _ in 0..<5 {
            try await store.createIndex(definition)
            try await store.dropIndex(definition.name, on: "cars")
          }
          try await store.createIndex(definition)
        }
      }
      try await group.waitForAll()
    }
    #expect(try store.indexFindings() == [])
    #expect(
      try store.indexes().map(\.rowCount) == Array(repeating: try store.count(in: "cars") ?? 0, count: 4))
    try fixture.reopen()
    #expect(try fixture.store.indexFindings() == [])
  }
}

extension Store {
  /// Merges every document of `other` into this store.
  fileprivate func pull(from other: Store) throws {
    let documents = try other.read { tx in
      var documents: [(DocumentID, [UInt8])] = []
      guard let collection = try tx.collection("cars") else { return documents }
      let tables = RecordTables(keys: collection.keys, sites: tx.sites)
      try tx.forEachRecord(in: collection) { id, _, record in
        var wire = ByteWriter()
        try WireDocument.append(record, lacking: VersionVector(), tables: tables, to: &wire)
        documents.append((try DocumentID(validating: id), wire.bytes))
        return true
      }
      return documents
    }
    try write { tx in
      for (id, wire) in documents { _ = try tx.merge(wire: wire.span.bytes, id: id, in: "cars") }
    }
  }
}
