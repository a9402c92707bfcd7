import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Rows made of an index show what those made of documents do.
@Suite struct PlanCoveringTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let engine: Engine

  init() throws {
    directory = try TemporaryDirectory()
    var options = StoreOptions(mapBytes: 64 << 20, log: { _, _ in })
    options.statisticsMinimum = 1
    store = try Store.open(at: directory.file("store"), options: options)
    engine = Engine(store: store, parameters: SystemParameters(), environment: .still)
  }

  private func fill(_ queries: inout RandomQueries, count: Int = 120) throws {
    var documents: [[TextKey: Value]] = []
    for _ in 0..<count {
      var document: [TextKey: Value] = [:]
      for field in RandomQueries.fields where !queries.random.oneIn(5) {
        switch queries.random.int(below: 20) {
        case 0:
          document[field] = .string(String(repeating: "l", count: 255) + "\(queries.random.int(below: 3))")
        case 1, 2: document[field] = queries.value(depth: 1)
        default: document[field] = queries.value(depth: 0)
        }
      }
      documents.append(document)
    }
    _ = try store.write { transaction in
      for (number, document) in documents.enumerated() {
        try transaction.upsert(document, id: DocumentID(.int(Int64(number))), into: "t")
      }
    }
  }

  private func createIndexes(_ queries: inout RandomQueries) throws {
    for number in 0..<4 {
      var fields = RandomQueries.fields
      for place in fields.indices { fields.swapAt(place, queries.random.int(below: fields.count)) }
      let chosen = fields.prefix(1 + queries.random.int(below: 3)).map {
        IndexField([TextKey($0)], descending: queries.random.oneIn(2))
      }
      try store.createIndex(IndexDefinition(name: "i\(number)", collection: "t", fields: Array(chosen)))
    }
  }

  private func rows(_ select: Select, byIndex: Bool) throws -> [[TextKey: Value]] {
    var select = select
    if !byIndex { select.source.hints.indexes = [] }
    return try engine.execute(Statement.select(select)).rows.map { try $0.values() }
  }

  /// Numbers that are equal are one value to DISTINCT and GROUP BY, which show any of them.
  private static func levelled(_ value: Value) -> Value {
    switch value {
    case .int(let number), .counter(let number): .double(Double(number))
    case .double(let number): .double(number == 0 ? 0 : number)
    case .map(let members): .map(members.mapValues { levelled($0) })
    case .array(let elements): .array(elements.map { levelled($0) })
    default: value
    }
  }

  private static func counted(_ rows: [[TextKey: Value]], levelled: Bool) -> [Value: Int] {
    rows.reduce(into: [:]) { $0[levelled ? Self.levelled(.map($1)) : .map($1), default: 0] += 1 }
  }

  private func isCovering(_ select: Select) throws -> Bool {
    try store.read {
      try Planner.plan(select, arguments: [:], catalogue: QueryCatalogue(["t"], in: $0)).isCovering
    }
  }

  @Test(arguments: 0..<4) func `columns of any plan are those of a scan`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    try fill(&queries)
    try createIndexes(&queries)
    var covered = 0
    for _ in 0..<80 {
      var select = Select(
        collection: "t", predicate: queries.random.oneIn(3) ? nil : queries.predicate(depth: 1))
      let fields = RandomQueries.fields.filter { _ in queries.random.oneIn(2) }
      let columns = (fields.isEmpty ? ["a"] : fields).map { field in
        Select.Column(
          expression: .path([.key(TextKey(field))] + (queries.random.oneIn(6) ? [.key("k")] : [])),
          name: field)
      }
      select.projection = .columns(columns)
      select.distinct = queries.random.oneIn(3)
      for column in columns where queries.random.oneIn(3) {
        select.order.append(SortKey(expression: column.expression, descending: queries.random.oneIn(2)))
      }
      if try isCovering(select) { covered += 1 }
      let comment = Comment(rawValue: "seed \(seed): \(Statement.select(select))")
      let (found, expected) = (try rows(select, byIndex: true), try rows(select, byIndex: false))
      let distinct = select.distinct
      expectEqual(
        Self.counted(found, levelled: distinct), Self.counted(expected, levelled: distinct), comment)
      let areInOrder = zip(found, expected).allSatisfy { left, right in
        columns.filter { column in select.order.contains { $0.expression == column.expression } }
          .allSatisfy { SortOrder.compare(left[$0.name], right[$0.name]) == 0 }
      }
      expect(areInOrder, comment)
      select.limit = .literal(.int(Int64(queries.random.int(below: 20))))
      select.offset = .literal(.int(Int64(queries.random.int(below: 5))))
      let part = try rows(select, byIndex: true)
      expectEqual(part.count, (try rows(select, byIndex: false).count), comment)
      expect(
        Set(part.map { Self.levelled(.map($0)) }).isSubset(of: found.map { Self.levelled(.map($0)) }), comment
      )
    }
    #expect(covered > 0)
  }

  @Test(arguments: 0..<8) func `groups and aggregates of any plan are those of a scan`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    try fill(&queries)
    try createIndexes(&queries)
    for _ in 0..<30 {
      let (key, field) = (
        queries.random.pick(RandomQueries.fields), queries.random.pick(RandomQueries.fields)
      )
      let filter = queries.random.oneIn(2) ? nil : queries.predicate(depth: 1)
      let aggregates = "COUNT(*) AS n, COUNT(\(field)) AS c, MIN(\(field)) AS lo, MAX(\(field)) AS hi"
      for text in [
        "SELECT \(key) AS k, \(aggregates) FROM t GROUP BY \(key)",
        "SELECT \(aggregates) FROM t",
        "SELECT MIN(\(field)) AS lo, MAX(\(field)) AS hi FROM t", "SELECT MAX(\(field)) AS hi FROM t",
        "SELECT DISTINCT \(key) AS k FROM t",
        "SELECT DISTINCT \(key) AS k, \(field) AS f FROM t ORDER BY \(key)",
      ] {
        guard case .select(var select) = try DQL.parse(text) else { return }
        select.predicate = filter
        let (found, expected) = (try rows(select, byIndex: true), try rows(select, byIndex: false))
        let isExact = select.groups.isEmpty && !select.distinct
        expectEqual(
          Self.counted(found, levelled: !isExact), Self.counted(expected, levelled: !isExact),
          "seed \(seed): \(text)")
      }
    }
  }

  @Test func `EXPLAIN says where documents are not fetched`() throws {
    var queries = RandomQueries(seed: 1)
    try fill(&queries)
    try store.createIndex(
      IndexDefinition(name: "ab", collection: "t", fields: [IndexField(["a"]), IndexField(["b"])]))
    func operators(_ text: String) throws -> [String] {
      let row = try engine.execute("EXPLAIN " + text).rows[0].values()
      guard case .array(let steps) = row["plan"] else { return [] }
      return steps.compactMap { step in
        guard case .string(let name) = step.value(at: [.key("operator")]) else { return nil }
        return step.value(at: [.key("covering")]) == .bool(true) ? name + " covering" : name
      }
    }
    #expect(
      try operators("SELECT b FROM t WHERE a = 1") == ["indexScan covering", "filter", "finalProjection"])
    #expect(
      try operators("SELECT a || b AS x FROM t WHERE a > 1 AND b != 2 ORDER BY a, b LIMIT 3")
        == ["indexScan covering", "filter", "limit", "finalProjection"])
    #expect(
      try operators("SELECT DISTINCT a FROM t") == ["indexScan covering", "distinct", "finalProjection"])
    #expect(
      try operators("SELECT a, COUNT(*) FROM t GROUP BY a") == [
        "indexScan covering", "group", "finalProjection",
      ])
    #expect(try operators("SELECT MIN(a) FROM t") == ["indexScan covering", "group", "finalProjection"])
    #expect(
      try operators("SELECT COUNT(*) FROM t WHERE a > 1 AND b = 2")
        == ["indexScan covering", "filter", "group", "finalProjection"])
    for text in [
      "SELECT * FROM t WHERE a = 1", "SELECT _id FROM t WHERE a = 1", "SELECT c FROM t WHERE a = 1",
    ] {
      try expectEqual(operators(text), ["indexScan", "fetch", "filter", "finalProjection"])
    }
    #expect(try operators("SELECT a FROM t") == ["collectionScan", "finalProjection"])
  }

  @Test func `rows of columns name a document where one of them is its id`() throws {
    _ = try engine.execute("INSERT INTO t DOCUMENTS ({'_id': 'x', 'a': 1})")
    func id(_ columns: String) throws -> DocumentID? {
      try engine.execute("SELECT \(columns) FROM t WHERE a = 1").rows.first?.id
    }
    for _ in 0..<2 {
      try expectEqual(id("*"), DocumentID("x"))
      try expectEqual(id("a, _id"), DocumentID("x"))
      try expect(id("a") == nil)
      if try store.read({ try $0.indexes(of: #require(try $0.collection("t"))) }).isEmpty {
        try store.createIndex(IndexDefinition(name: "a", collection: "t", fields: [IndexField(["a"])]))
      }
    }
  }
}
