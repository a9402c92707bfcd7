import CRDTCore
import DocStore
import QueryEngine
import TestKit
import Testing

/// Every plan gives exactly the rows that the evaluator accepts among all documents, in the requested order.
@Suite struct PlanPropertyTests {
  private let directory: TemporaryDirectory
  private let store: Store

  init() throws {
    directory = try TemporaryDirectory()
    var options = StoreOptions(mapBytes: 64 << 20, log: { _, _ in })
    options.statisticsMinimum = 1
    options.statisticsDelay = .zero
    store = try Store.open(at: directory.file("store"), options: options)
  }

  /// Strings that are too long for a key of an index and begin alike, among others.
  private func document(_ queries: inout RandomQueries) -> [TextKey: Value] {
    var document = queries.document()
    for field in RandomQueries.fields where queries.random.oneIn(6) {
      document[field] = .string(String(repeating: "l", count: 255) + "\(queries.random.int(below: 4))")
    }
    return document
  }

  private func write(_ transaction: WriteTransaction, _ queries: inout RandomQueries) throws {
    for number in 0..<70 where !queries.random.oneIn(3) {
      let id = try DocumentID("d\(number)")
      if queries.random.oneIn(6) {
        _ = try transaction.remove(id, in: "t")
      } else {
        try transaction.upsert(document(&queries), id: id, into: "t")
      }
    }
  }

  private func createIndexes(_ queries: inout RandomQueries) throws {
    for number in 0..<5 {
      var paths: [[TextKey]] = RandomQueries.fields.map { [TextKey($0)] } + [["a", "k"], ["b", "a"]]
      for place in paths.indices { paths.swapAt(place, queries.random.int(below: paths.count)) }
      var parts: [IndexField.Part] = [.value, .value, .value, .lowercase, .elements]
      let fields = paths.prefix(1 + queries.random.int(below: 3)).map { path in
        let part = queries.random.pick(parts)
        if part == .elements { parts.removeLast() }
        return IndexField(path, part: part, descending: queries.random.oneIn(2))
      }
      try store.createIndex(IndexDefinition(name: "i\(number)", collection: "t", fields: Array(fields)))
    }
  }

  private func select(_ queries: inout RandomQueries) -> Select {
    var select = Select(
      collection: "t", predicate: queries.random.oneIn(5) ? nil : queries.predicate(depth: 2))
    let limit = queries.random.int(below: 30)
    if queries.random.oneIn(2) { select.limit = .literal(.int(Int64(limit))) }
    if queries.random.oneIn(4) { select.offset = .literal(.int(3)) }
    for _ in 0..<queries.random.int(below: 3) {
      select.order.append(SortKey(expression: queries.path(), descending: queries.random.oneIn(2)))
    }
    // Of so few documents most are wanted, so that indexes are used where they are asked for.
    if !queries.random.oneIn(3) { select.source.hints.indexes = (0..<5).map { "i\($0)" } }
    select.source.hints.prefersOrder = queries.random.oneIn(3) ? true : nil
    return select
  }

  private func expectRight(
    _ select: Select, in source: borrowing some RecordSource & ~Copyable, _ seed: UInt64
  ) throws -> AccessPath {
    let catalogue = try QueryCatalogue(["t"], in: source)
    let plan = try Planner.plan(select, arguments: [:], catalogue: catalogue)
    var all: [DocumentID: [TextKey: Value]] = [:]
    guard let collection = try source.collection("t") else { return plan.access }
    try source.forEachRecord(in: collection, from: nil, to: nil, verify: true) { id, _, record in
      if record.isAlive { all[try DocumentID(validating: id)] = try record.fields(collection.keys) }
      return true
    }
    func value(_ path: FieldPath, _ id: DocumentID) -> Value? {
      path.first == .key("_id")
        ? id.value.value(at: path.dropFirst()) : Value.map(all[id] ?? [:]).value(at: path)
    }
    let accepted = try all.keys.filter { id in
      guard let predicate = select.predicate else { return true }
      return try Evaluator.matches(predicate) { value($0, id) }
    }
    func keys(_ id: DocumentID) -> [Value?] {
      select.order.map { key in
        if case .path(let path) = key.expression { value(path, id) } else { nil }
      }
    }
    func isBefore(_ left: [Value?], _ right: [Value?]) -> Bool {
      for (place, key) in select.order.enumerated() {
        let order = SortOrder.compare(left[place], right[place])
        if order != 0 { return (order < 0) != key.descending }
      }
      return false
    }
    let found = try plan.ids(in: source)
    let sorted = accepted.map(keys).sorted(by: isBefore).dropFirst(plan.offset).prefix(plan.limit ?? .max)
    let comment = Comment(rawValue: "seed \(seed): \(Statement.select(select)) by \(plan.access)")
    expectEqual(found.count, sorted.count, comment)
    expect(Set(found).count == found.count && Set(found).isSubset(of: accepted), comment)
    let isInOrder = zip(found.map(keys), sorted).allSatisfy { !isBefore($0, $1) && !isBefore($1, $0) }
    expect(isInOrder, comment)
    if plan.limit == nil, plan.offset == 0 { expectEqual(Set(found), Set(accepted), comment) }
    var counting = select
    (counting.projection, counting.order, counting.limit, counting.offset) = (
      .countAll(alias: "n"), [], nil, nil
    )
    let counted = try Planner.plan(counting, arguments: [:], catalogue: catalogue)
    let count = try counted.count(in: source)
    expectEqual(count, accepted.count, comment)
    return plan.access
  }

  @Test(arguments: 0..<12) func `every plan finds what a scan and the evaluator find`(seed: UInt64) throws {
    var queries = RandomQueries(seed: seed)
    _ = try store.write { try write($0, &queries) }
    try createIndexes(&queries)
    var kinds: Set<String> = []
    func run(_ source: borrowing some RecordSource & ~Copyable) throws {
      for _ in 0..<60 {
        let access = try expectRight(select(&queries), in: source, seed)
        kinds.insert(String("\(access)".prefix { $0 != "(" }))
      }
    }
    try store.read { try run($0) }
    // What was true of the rows is not any more, or not yet again.
    _ = try store.write { try write($0, &queries) }
    try store.read { try run($0) }
    _ = try store.write { transaction in
      try write(transaction, &queries)
      try run(transaction)
    }
    #expect(kinds.isSuperset(of: ["index"]))
  }

  @Test func `plans follow indexes as they are built, dropped and made anew`() throws {
    var queries = RandomQueries(seed: 7)
    _ = try store.write { try write($0, &queries) }
    let select = Select(collection: "t", predicate: try DQL.parseExpression("a > 0"))
    func access() throws -> AccessPath { try store.read { try expectRight(select, in: $0, 7) } }
    func index() throws -> IndexInfo? {
      if case .index(let scan) = try access() { scan.index } else { nil }
    }
    #expect(try index() == nil)
    let definition = IndexDefinition(name: "i", collection: "t", fields: [IndexField(["a"])])
    try store.createIndex(definition) { _ in
      // While it is built, nobody uses it.
      let used = try index()
      #expect(used == nil)
    }
    let first = try #require(try index())
    try store.read { snapshot in
      try store.dropIndex("i", on: "t")
      try store.createIndex(
        IndexDefinition(name: "i", collection: "t", fields: [IndexField(["a"], descending: true)]))
      guard case .index(let old) = try expectRight(select, in: snapshot, 7) else {
        Issue.record("the snapshot lost its index")
        return
      }
      #expect(old.index.number == first.number)
    }
    let second = try #require(try index())
    #expect(second.number != first.number && second.definition.fields[0].isDescending)
    _ = try store.write { transaction in
      try write(transaction, &queries)
      _ = try expectRight(select, in: transaction, 7)
    }
  }
}
