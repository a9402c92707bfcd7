import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

@Suite struct ExecJoinTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    store = try Store.open(
      at: directory.file("store"), options: StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  private func insert(_ documents: [[TextKey: Value]], into collection: String) throws {
    _ = try store.write { transaction in
      for document in documents { try transaction.upsert(document, into: collection) }
    }
  }

  private static func field(_ source: Int, _ name: String) -> Expression {
    .field(source: source, [.key(TextKey(name))])
  }

  private static func equal(_ left: Expression, _ right: Expression) -> Expression {
    .binary(.equal, left, right)
  }

  private static let anyScan = Hints(indexes: [])

  private func run(_ select: Select) throws -> [Value] {
    try engine.execute(.select(select)).rows.map { .map(try $0.values()) }
  }

  private func orders(
    _ kind: Join.Kind, hints: Hints = Hints(), on condition: Expression, projection: Select.Projection = .all,
    predicate: Expression? = nil
  ) -> Select {
    Select(
      from: Source("orders", alias: "o", hints: hints),
      joins: [Join(kind, Source("people", alias: "p", hints: hints), on: condition)], projection: projection,
      predicate: predicate)
  }

  private func load() throws {
    try insert(
      [
        ["_id": .int(1), "by": .int(7), "n": .int(1)], ["_id": .int(2), "by": .double(7)],
        ["_id": .int(3), "by": .null], ["_id": .int(4)], ["_id": .int(5), "by": .int(9)],
      ], into: "orders")
    try insert(
      [["_id": .int(7), "name": .string("Ann")], ["_id": .int(8), "name": .string("Bo")]], into: "people")
  }

  private static let names = Select.Projection.columns([
    Select.Column(expression: field(0, "_id"), name: "o"),
    Select.Column(expression: field(1, "name"), name: "p"),
  ])
  private static let byID = equal(field(1, "_id"), field(0, "by"))

  private static func pair(_ order: Int64?, _ name: String?) -> Value {
    var row: [TextKey: Value] = [:]
    row["o"] = order.map(Value.int)
    row["p"] = name.map(Value.string)
    return .map(row)
  }

  @Test func `INNER, LEFT and RIGHT keep what their names say`() throws {
    try load()
    let inner = [Self.pair(1, "Ann"), Self.pair(2, "Ann")]
    expectRows(
      try run(orders(.inner, on: Self.byID, projection: Self.names)), inner, ordered: false, "inner")
    let left = inner + [Self.pair(3, nil), Self.pair(4, nil), Self.pair(5, nil)]
    expectRows(try run(orders(.left, on: Self.byID, projection: Self.names)), left, ordered: false, "left")
    let right = inner + [Self.pair(nil, "Bo")]
    expectRows(
      try run(orders(.right, hints: Self.anyScan, on: Self.byID, projection: Self.names)), right,
      ordered: false, "right")
    // What WHERE asks of a partner that may lack is asked after the join.
    let missing = Expression.isMissing(Self.field(1, "_id"), negated: false)
    expectRows(
      try run(orders(.left, on: Self.byID, projection: Self.names, predicate: missing)),
      Array(left.dropFirst(2)), ordered: false, "missing")
  }

  @Test func `SELECT * gives an object for each source`() throws {
    try load()
    let select = orders(
      .left, on: Self.byID,
      predicate: .in(Self.field(0, "_id"), .literal(.array([.int(1), .int(4)])), negated: false))
    let rows = try run(select)
    let first = #"{"o":{"_id":1,"by":7,"n":1},"p":{"_id":7,"name":"Ann"}}"#
    #expect(Set(rows.map { JSON.text(of: $0) }) == [first, #"{"o":{"_id":4}}"#])
    var star = select
    star.projection = .elements([
      .star(source: 0), .column(Select.Column(expression: Self.field(1, "name"), name: "name")),
      .without([.key("by")]),
    ])
    #expect(
      Set(try run(star).map { JSON.text(of: $0) }) == [#"{"_id":1,"n":1,"name":"Ann"}"#, #"{"_id":4}"#])
  }

  @Test func `a partner is found by id, by index or by trying all, and only if that is said`() throws {
    try load()
    let condition = Self.equal(Self.field(1, "by"), Self.field(0, "_id"))
    func select(_ hints: Hints = Hints()) -> Select {
      Select(
        from: Source("people", alias: "p"),
        joins: [Join(.inner, Source("orders", alias: "o", hints: hints), on: condition)],
        projection: .columns([Select.Column(expression: Self.field(1, "_id"), name: "o")]))
    }
    let refused = #expect(throws: QueryError.self) { try run(select()) }
    #expect(refused?.message.contains("disallowed without appropriate index support") == true)
    let expected: [Value] = [.map(["o": .int(1)]), .map(["o": .int(2)])]
    expectRows(try run(select(Self.anyScan)), expected, ordered: false, "hash")
    #expect(try operators(select(Self.anyScan)) == ["collectionScan", "hashJoin", "finalProjection"])
    try store.createIndex(IndexDefinition(name: "by", collection: "orders", fields: [IndexField(["by"])]))
    expectRows(try run(select()), expected, ordered: false, "index")
    #expect(try operators(select()) == ["collectionScan", "nlJoin", "finalProjection"])
  }

  private func operators(_ select: Select) throws -> [String] {
    let row = try engine.execute(.explain(.select(select))).rows[0].values()
    guard case .array(let steps)? = row["plan"] else { return [] }
    return steps.compactMap { step in
      guard case .map(let members) = step, case .string(let name)? = members["operator"] else { return nil }
      return name
    }
  }

  @Test func `a later RIGHT JOIN, an eleventh join and unqualified names are refused`() throws {
    let join = Join(.inner, Source("people", alias: "p", hints: Self.anyScan), on: .literal(.bool(true)))
    var select = Select(from: Source("orders"), joins: [join, Join(.right, join.source, on: join.condition)])
    let right = #expect(throws: QueryError.self) { try run(select) }
    #expect(right?.message.contains("RIGHT OUTER join that isn't the first join is not supported") == true)
    select.joins = Array(repeating: join, count: 11)
    #expect(#expect(throws: QueryError.self) { try run(select) }?.code == .limit)
    select.joins = [join]
    select.predicate = .path([.key("name")])
    let ambiguous = #expect(throws: QueryError.self) { try run(select) }
    #expect(ambiguous?.message.contains("Ambiguous reference to field: name") == true)
  }

  @Test func `a join that keeps too much in memory ends with the code limit`() throws {
    try insert((0..<300).map { ["n": .int($0)] }, into: "orders")
    let select = orders(
      .inner, hints: Self.anyScan, on: Self.equal(Self.field(0, "n"), Self.field(1, "n")))
    try insert((0..<300).map { ["n": .int($0)] }, into: "people")
    let error = #expect(throws: QueryError.self) {
      try engine.execute(.select(select), context: StatementContext(.still, memoryBytes: 5_000))
    }
    #expect(error?.code == .limit)
    #expect(try run(select).count == 300)
    let cancelled = StatementContext()
    cancelled.cancel()
    #expect(throws: QueryError.self) { try engine.execute(.select(select), context: cancelled) }
  }

  @Test(arguments: 0..<12) func `joins give the rows of the naive product`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pool: [Value?] = [
      nil, .null, .int(1), .double(1), .int(2), .double(2.5), .string("x"), .array([.int(1)]),
      .array([.double(1)]), .double(.nan), .bool(true),
    ]
    var collections: [[[TextKey: Value]]] = []
    for source in 0..<3 {
      var documents: [[TextKey: Value]] = []
      for id in 0..<Int.random(in: 0...7, using: &random) {
        var document: [TextKey: Value] = ["_id": .int(Int64(id))]
        for field in ["a", "b"] { document[field] = pool.randomElement(using: &random) ?? nil }
        documents.append(document)
      }
      collections.append(documents)
      try insert(documents, into: "c\(source)")
    }
    let indexed = Bool.random(using: &random)
    for source in 0..<3 where indexed && !collections[source].isEmpty {
      try store.createIndex(
        IndexDefinition(name: "a", collection: "c\(source)", fields: [IndexField(["a"])]))
    }
    func hints(_ source: Int) -> Hints {
      indexed && !collections[source].isEmpty ? Hints() : Self.anyScan
    }
    let kinds: [Join.Kind] = [.inner, .left, .right]
    let first = kinds.randomElement(using: &random) ?? .inner
    let second = kinds.prefix(2).randomElement(using: &random) ?? .inner
    let inner = first == .right ? 0 : 1
    let outer = ["a", "b", "_id"].randomElement(using: &random) ?? "a"
    let key = Bool.random(using: &random) ? "a" : "_id"
    let one = Self.equal(Self.field(inner, key), Self.field(1 - inner, outer))
    let two = Expression.and([
      Self.equal(Self.field(Int.random(in: 0...1, using: &random), outer), Self.field(2, key)),
      Expression.isMissing(Self.field(2, "b"), negated: true),
    ])
    let predicates: [Expression?] = [
      nil, .isMissing(Self.field(1, "b"), negated: Bool.random(using: &random)),
      .and([.isMissing(Self.field(0, "a"), negated: true), .isNull(Self.field(2, "a"), negated: true)]),
    ]
    let predicate = predicates.randomElement(using: &random) ?? nil
    let columns = (0..<3).map { Select.Column(expression: Self.field($0, "_id"), name: "s\($0)") }
    let select = Select(
      from: Source("c0", alias: "s0", hints: hints(0)),
      joins: [
        Join(first, Source("c1", alias: "s1", hints: hints(1)), on: one),
        Join(second, Source("c2", alias: "s2", hints: hints(2)), on: two),
      ], projection: .columns(columns), predicate: predicate)
    var rows = product(first, collections, one)
    rows = rows.flatMap { row -> [[[TextKey: Value]?]] in
      let partners = collections[2].map { row + [$0] }.filter { holds(two, $0) }
      return partners.isEmpty && second == .left ? [row + [nil]] : partners
    }
    let expected = rows.filter { row in predicate.map { holds($0, row) } ?? true }.map { row -> Value in
      var values: [TextKey: Value] = [:]
      for (source, document) in row.enumerated() { values["s\(source)"] = document?["_id"] }
      return .map(values)
    }
    expectRows(try run(select), expected, ordered: false, "seed \(seed)")
  }

  /// The first two sources, joined one by one.
  private func product(
    _ kind: Join.Kind, _ collections: [[[TextKey: Value]]], _ condition: Expression
  ) -> [[[TextKey: Value]?]] {
    let isRight = kind == .right
    let (outer, inner) = isRight ? (collections[1], collections[0]) : (collections[0], collections[1])
    return outer.flatMap { document -> [[[TextKey: Value]?]] in
      let partners = inner.map { isRight ? [$0, document] : [document, $0] }.filter { holds(condition, $0) }
      if !partners.isEmpty || kind == .inner { return partners }
      return [isRight ? [nil, document] : [document, nil]]
    }
  }

  private func holds(_ condition: Expression, _ row: [[TextKey: Value]?]) -> Bool {
    let plain = condition.rewritten { (node) throws(Never) -> Expression in
      guard case .field(let source, let path) = node else { return node }
      return .path([.key("\(source)")] + path)
    }
    let fields = Value.map(
      Dictionary(
        uniqueKeysWithValues: row.enumerated().compactMap { index, document in
          document.map { ("\(index)", Value.map($0)) }
        }))
    return (try? Evaluator.matches(plain, row: { fields.value(at: $0) })) ?? false
  }
}
