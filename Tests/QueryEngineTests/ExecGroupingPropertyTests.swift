import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Groups and DISTINCT put together what the order of values finds equal, whatever the keys are.
@Suite struct ExecGroupingPropertyTests {
  private let store: Store
  private let engine: Engine
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  private func fill(_ queries: inout RandomQueries) throws -> [[TextKey: Value]] {
    let documents = (0..<60).map { number in
      queries.document().merging(["_id": .int(Int64(number))]) { $1 }
    }
    _ = try store.write { transaction in
      for document in documents { try transaction.upsert(document, into: "t") }
    }
    return documents
  }

  private func evaluate(_ expression: Expression, _ document: [TextKey: Value]) throws -> Value? {
    try Evaluator.evaluate(expression, row: { Value.map(document).value(at: $0) })
  }

  private static func areSame(_ left: [Value?], _ right: [Value?]) -> Bool {
    zip(left, right).allSatisfy { SortOrder.compare($0, $1) == 0 }
  }

  @Test(arguments: 0..<16) func `a group has the documents with equal keys`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    let documents = try fill(&queries)
    for _ in 0..<25 {
      let keys = (0...queries.random.int(below: 2)).map { _ in
        queries.random.oneIn(2) ? queries.path() : queries.expression(depth: 2)
      }
      // Equal keys would be one column, and columns of one expression name the first.
      guard Set(keys).count == keys.count else { continue }
      let operand = queries.random.oneIn(2) ? queries.path() : queries.expression(depth: 1)
      var expected:
        [(keys: [Value?], rows: Int64, count: Accumulator, sum: Accumulator, least: Accumulator)] = []
      for document in documents {
        var values: [Value?] = []
        for key in keys { values.append(try evaluate(key, document)) }
        var place = expected.firstIndex { Self.areSame($0.keys, values) } ?? expected.count
        if place == expected.count {
          expected.append((values, 0, Accumulator(.count), Accumulator(.sum), Accumulator(.min)))
          place = expected.count - 1
        }
        let value = try evaluate(operand, document)
        expected[place].rows += 1
        expected[place].count.add(value)
        expected[place].sum.add(value)
        expected[place].least.add(value)
      }
      var columns = keys.enumerated().map { Select.Column(expression: $1, name: "k\($0)") }
      columns += [
        Select.Column(expression: .aggregate(.count, distinct: false, nil), name: "rows"),
        Select.Column(expression: .aggregate(.count, distinct: false, operand), name: "count"),
        Select.Column(expression: .aggregate(.sum, distinct: false, operand), name: "sum"),
        Select.Column(expression: .aggregate(.min, distinct: false, operand), name: "least"),
      ]
      let select = Select(from: Source("t"), projection: .columns(columns), groups: keys)
      let rows = try engine.execute(.select(select)).rows.map { try $0.values() }
      expectEqual(rows.count, expected.count, "seed \(seed): \(keys)")
      for var group in expected {
        let row = rows.first { row in Self.areSame(keys.indices.map { row["k\($0)"] }, group.keys) }
        let shown = [row?["rows"], row?["count"], row?["sum"], row?["least"]]
        let wanted = [.int(group.rows), group.count.result(), group.sum.result(), group.least.result()]
        expect(Self.areSame(shown, wanted), "seed \(seed): \(keys) of \(operand): \(shown), not \(wanted)")
      }
      let distinct = Select(
        from: Source("t"),
        projection: .columns(keys.enumerated().map { Select.Column(expression: $1, name: "k\($0)") }),
        distinct: true)
      try expectEqual(engine.execute(.select(distinct)).rows.count, expected.count, "seed \(seed): \(keys)")
    }
  }
}
