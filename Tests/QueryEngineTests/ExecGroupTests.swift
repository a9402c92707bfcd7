import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecGroupTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  private static let a = Expression.path([.key("a")])
  private static let b = Expression.path([.key("b")])

  private static func call(
    _ aggregate: Aggregate, _ operand: Expression? = b, distinct: Bool = false
  ) -> Expression {
    .aggregate(aggregate, distinct: distinct, operand)
  }

  private func insert(_ documents: [[TextKey: Value]], into collection: String = "t") throws {
    _ = try store.write { transaction in
      for document in documents { try transaction.upsert(document, into: collection) }
    }
  }

  private func rows(
    _ columns: [(Expression, String)], groups: [Expression] = [], predicate: Expression? = nil,
    having: Expression? = nil, order: [SortKey] = [], distinct: Bool = false, limit: Int? = nil,
    context: StatementContext? = nil
  ) throws -> [Value] {
    let select = Select(
      from: Source("t"),
      projection: .columns(columns.map { Select.Column(expression: $0.0, name: $0.1) }), distinct: distinct,
      predicate: predicate, groups: groups, having: having, order: order,
      limit: limit.map { .literal(.int(Int64($0))) })
    return try engine.execute(.select(select), context: context).rows.map { .map(try $0.values()) }
  }

  private static let all: [(Expression, String)] = [
    (call(.count, nil), "rows"), (call(.count), "count"), (call(.sum), "sum"), (call(.avg), "avg"),
    (call(.min), "min"), (call(.max), "max"), (call(.median), "median"), (call(.mid), "mid"),
  ]

  @Test func `without rows COUNT is 0 and all other aggregates are missing`() throws {
    let nothing: [Value] = [.map(["rows": .int(0), "count": .int(0)])]
    #expect(try rows(Self.all) == nothing)
    try insert([["a": .int(1)]])
    #expect(try rows(Self.all, predicate: .literal(.bool(false))) == nothing)
    #expect(try rows(Self.all, groups: [Self.a], predicate: .literal(.bool(false))) == [])
  }

  @Test func `COUNT skips null, missing and false; sums and means skip what is no number`() throws {
    let values: [Value?] = [
      .int(1), .double(2.5), .counter(4), .null, nil, .bool(false), .bool(true), .string("x"), .int(1),
    ]
    try insert(values.map { value in value.map { ["b": $0] } ?? [:] })
    #expect(
      try rows(Self.all) == [
        .map([
          "rows": .int(9), "count": .int(6), "sum": .double(8.5), "avg": .double(2.125), "min": .bool(false),
          "max": .string("x"), "median": .int(1), "mid": .double(2.5),
        ])
      ])
    let distinct = [Aggregate.count, .sum, .avg].map { (Self.call($0, distinct: true), $0.rawValue) }
    #expect(
      try rows(distinct) == [.map(["count": .int(5), "sum": .double(7.5), "avg": .double(2.5)])])
  }

  @Test func `null, missing and each number by value are groups; HAVING and ORDER BY see aggregates`() throws
  {
    let keys: [Value?] = [.int(1), .double(1), .null, nil, nil, .string("1"), .counter(1)]
    try insert(
      keys.enumerated().map { index, key in
        var document: [TextKey: Value] = ["b": .int(Int64(index))]
        document["a"] = key
        return document
      })
    let columns = [(Self.a, "a"), (Self.call(.count, nil), "n")]
    let byCount = [
      SortKey(expression: Self.call(.count, nil), descending: true), SortKey(expression: Self.a),
    ]
    let all: [Value] = [
      .map(["a": .int(1), "n": .int(3)]), .map(["n": .int(2)]), .map(["a": .string("1"), "n": .int(1)]),
      .map(["a": .null, "n": .int(1)]),
    ]
    let found = try rows(columns, groups: [Self.a], order: byCount)
    expectRows(found, all, ordered: true, "groups")
    let many = Expression.binary(.greater, Self.call(.count, nil), .literal(.int(1)))
    expectRows(
      try rows(columns, groups: [Self.a], having: many, order: byCount), Array(all.prefix(2)), ordered: true,
      "having")
    #expect(try rows(columns, groups: [Self.a], order: byCount, limit: 1).count == 1)
    #expect(try rows([(Self.call(.count, nil), "n")], groups: [Self.a], distinct: true).count == 3)
    // Expressions of keys and aggregates are computed for the group.
    let sum = Expression.binary(.add, Self.call(.sum), Self.call(.count, nil))
    #expect(
      try rows([(sum, "x")], groups: [Self.a], having: .isMissing(Self.a, negated: false)) == [
        .map(["x": .int(9)])
      ])
  }

  @Test func `a column that is neither key nor aggregate is refused`() throws {
    let error = #expect(throws: QueryError.self) { try rows([(Self.b, "b")], groups: [Self.a]) }
    #expect(error?.message.contains("must depend only on group keys or aggregates") == true)
    #expect(throws: QueryError.self) { try rows([(Self.a, "a"), (Self.call(.sum), "s")]) }
    #expect(throws: QueryError.self) { try rows([(Self.call(.sum, Self.call(.sum)), "s")]) }
    #expect(throws: QueryError.self) {
      try rows([(Self.a, "a")], predicate: .isNull(Self.call(.sum), negated: false))
    }
  }

  @Test func `sums do not depend on the order, and one that does not fit is missing`() throws {
    try insert([
      ["b": .double(1e300)], ["b": .double(1)], ["b": .double(-1e300)], ["b": .double(1e-300)],
      ["b": .int(.max)], ["b": .double(-0x1p63)],
    ])
    #expect(try rows([(Self.call(.sum), "s")]) == [.map(["s": .double(1e-300)])])
    let large = Expression.isMissing(Self.b, negated: true)
    _ = try engine.execute("EVICT FROM t")
    try insert([["b": .int(.max)], ["b": .int(.max)], ["b": .int(2)]])
    #expect(try rows([(Self.call(.sum), "s")], predicate: large) == [.map([:])])
    #expect(try rows([(Self.call(.avg), "s")]).count == 1)
    _ = try engine.execute("EVICT FROM t")
    try insert([["b": .double(0.1)], ["b": .double(0.2)], ["b": .double(-0.3)], ["b": .double(0x1p-1074)]])
    let exact = 0.1 + 0.2 - 0.3
    let value = try rows([(Self.call(.sum), "s")])
    // The exact sum of the three is 2^-55 + 2^-54 - …: rounding in between gives twice as much.
    guard case .map(let row) = value[0], case .double(let sum)? = row["s"] else {
      Issue.record("no sum")
      return
    }
    #expect(sum == 0x1p-55 && exact == 0x1p-54)
  }

  @Test func `groups that take too much memory end the statement with the code limit`() throws {
    try insert((0..<500).map { ["a": .int($0), "b": .string("x")] })
    for columns in [[(Self.a, "a")], [(Self.call(.count), "n")]] {
      let context = StatementContext(.still, memoryBytes: 10_000)
      let error = #expect(throws: QueryError.self) {
        try rows(columns, groups: [Self.a], context: context)
      }
      expectEqual(error?.code, .limit)
    }
    let median = StatementContext(.still, memoryBytes: 1_000)
    #expect(throws: QueryError.self) { try rows([(Self.call(.median, Self.a), "m")], context: median) }
    #expect(throws: QueryError.self) {
      try rows([(Self.a, "a")], distinct: true, context: StatementContext(.still, memoryBytes: 1_000))
    }
    #expect(throws: Never.self) {
      try rows([(Self.call(.sum, Self.a), "m")], context: StatementContext(.still, memoryBytes: 1_000))
    }
  }

  @Test func `EXPLAIN shows the group between the filter and the projection`() throws {
    let select = Select(
      from: Source("t"),
      projection: .columns([Select.Column(expression: Self.call(.sum), name: "s")]),
      predicate: .binary(.equal, Self.a, .literal(.int(1))), groups: [Self.a])
    let row = try engine.execute(.explain(.select(select))).rows[0].values()
    guard case .array(let steps)? = row["plan"] else {
      Issue.record("no plan")
      return
    }
    let names = steps.compactMap { step -> Value? in
      guard case .map(let members) = step else { return nil }
      return members["operator"]
    }
    let expected = ["collectionScan", "filter", "group", "finalProjection"].map(Value.string)
    #expect(names == expected)
  }

  @Test(arguments: 0..<8) func `groups are those of a naive model`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pool: [Value?] = [
      nil, .null, .bool(false), .bool(true), .int(1), .double(1), .int(2), .double(2.5), .string("é"),
      .string("e\u{301}"), .array([.int(1)]), .array([.double(1)]), .map(["x": .null]), .double(.nan),
    ]
    var documents: [[TextKey: Value]] = []
    for _ in 0..<Int.random(in: 0...80, using: &random) {
      var document: [TextKey: Value] = [:]
      for field in ["a", "b", "c"] { document[field] = pool.randomElement(using: &random) ?? nil }
      documents.append(document)
    }
    try insert(documents)
    let fields = ["a", "b", "c"].shuffled(using: &random).prefix(Int.random(in: 0...2, using: &random))
    let found = try rows(
      fields.map { (.path([.key(TextKey($0))]), $0) } + [
        (Self.call(.count, nil), "rows"), (Self.call(.count, Self.b), "count"),
        (Self.call(.count, Self.b, distinct: true), "distinct"), (Self.call(.min, Self.b), "min"),
        (Self.call(.sum, .path([.key("c")])), "sum"),
      ], groups: fields.map { .path([.key(TextKey($0))]) })
    var groups: [(key: [Value?], members: [[TextKey: Value]])] = fields.isEmpty ? [([], [])] : []
    for document in documents {
      let key = fields.map { document[$0] }
      let place = groups.firstIndex { group in
        zip(group.key, key).allSatisfy { SortOrder.compare($0, $1) == 0 }
      }
      if let place { groups[place].members.append(document) } else { groups.append((key, [document])) }
    }
    let expected = groups.map { group -> Value in
      var row: [TextKey: Value] = ["rows": .int(Int64(group.members.count))]
      for (field, value) in zip(fields, group.key) { row[field] = value }
      let counted = group.members.compactMap { $0["b"] }.filter { $0 != .null && $0 != .bool(false) }
      row["count"] = .int(Int64(counted.count))
      var distinct: [Value] = []
      for value in counted where !distinct.contains(where: { SortOrder.compare($0, value) == 0 }) {
        distinct.append(value)
      }
      row["distinct"] = .int(Int64(distinct.count))
      row["min"] = group.members.compactMap { $0["b"] }.filter { $0 != .null }
        .min { SortOrder.compare($0, $1) < 0 }
      let numbers = group.members.compactMap { member -> Double? in
        switch member["c"] {
        case .int(let number): Double(number)
        case .double(let number): number
        default: nil
        }
      }
      let sum = numbers.reduce(0, +)
      row["sum"] = numbers.isEmpty || !sum.isFinite ? nil : .double(sum)
      return .map(row)
    }
    expectRows(found, expected, ordered: false, "seed \(seed)")
  }
}
