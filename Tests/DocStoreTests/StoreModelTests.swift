import CRDTCore
import DocStore
import TestKit
import Testing

@Suite struct StoreModelTests {
  private struct Stop: Error {}

  /// What the store should hold: per collection the living documents.
  private typealias Model = [String: [Int: [TextKey: Value]]]

  @Test(arguments: 1...30)
  func `counts and contents stay exact under random transactions, failures and restarts`(seed: UInt64) throws
  {
    var random = SeededGenerator(seed: seed)
    let fixture = try StoreFixture(seed: seed) { $0.recentIDs = Int(seed % 6) }
    var model: Model = [:]
    // With many steps documents of one transaction stand on several pages, which part and go.
    let steps = seed % 3 == 0 ? 60 : 8
    for _ in 0..<60 {
      var draft = model
      let fails = random.oneIn(4)
      do {
        try fixture.store.write { tx in
          for _ in 0..<random.int(below: steps) { try Self.step(tx, &draft, &random, documents: steps) }
          if fails { throw Stop() }
        }
        model = draft
      } catch is Stop {
      } catch let error as StoreError where error.code == .removedInTransaction {}
      if random.oneIn(15) { try fixture.reopen() }
      if random.oneIn(4) { try Self.compare(fixture.store, model, seed) }
    }
    try fixture.reopen()
    try Self.compare(fixture.store, model, seed)
  }

  private static func step(
    _ tx: WriteTransaction, _ model: inout Model, _ random: inout SeededGenerator, documents: Int
  ) throws {
    let collection = random.pick(["cars", "boats", "planes"])
    let number = random.int(below: documents)
    let id = try DocumentID(.int(Int64(number)))
    let key = random.pick(["a", "b", "c"])
    let value: Value =
      random.oneIn(3)
      ? .string(String(repeating: "x", count: random.int(below: 3_000)))
      : .int(Int64(random.int(below: 100)))
    switch random.int(below: 5) {
    case 0, 1:
      try tx.upsert([TextKey(key): value], id: id, into: collection)
      model[collection, default: [:]][number, default: [:]][key] = value
    case 2:
      let isChanged = try tx.update(id, in: collection, [.set([TextKey(key)], value)])
      expectEqual(isChanged, model[collection]?[number] != nil)
      if isChanged { model[collection]?[number]?[key] = value }
    case 3:
      let isRemoved = try tx.remove(id, in: collection)
      expectEqual(isRemoved, model[collection]?[number] != nil)
      model[collection]?[number] = nil
    default:
      try tx.evict(id, in: collection)
      model[collection]?[number] = nil
    }
  }

  private static func compare(_ store: Store, _ model: Model, _ seed: UInt64) throws {
    try store.read { tx in
      let infos = try tx.collections()
      for info in infos {
        expectEqual(info.documentCount, model[info.name]?.count ?? 0, "seed \(seed)")
        let collection = try #require(try tx.collection(info.name))
        var found: [Int: [TextKey: Value]] = [:]
        try tx.forEachRecord(in: collection, verify: true) { id, _, record in
          guard record.isAlive, case .int(let number) = try DocumentID(validating: id).value else {
            return true
          }
          found[Int(number)] = try record.fields(collection.keys)
          return true
        }
        expectEqual(found, model[info.name] ?? [:], "seed \(seed)")
      }
      for name in model.keys where model[name]?.isEmpty == false {
        expect(infos.contains { $0.name == name }, "seed \(seed)")
      }
    }
  }
}
