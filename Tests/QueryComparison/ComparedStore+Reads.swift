import CRDTCore
import DocStore
import QueryEngine
import TestKit

extension ComparedStore {
  /// Compares a query on one collection.
  func compareQuery() throws {
    let select = draws.select(from: Self.collection, indexes)
    try store.read { try compare(select, in: $0) }
  }

  private func compare(_ select: Select, in transaction: borrowing ReadTransaction) throws {
    let rows = try engine.execute(Statement.select(select), in: transaction).rows.map { try $0.values() }
    try expect(ExpectedRows(select, reference).fault(of: rows), "\(Statement.select(select))")
  }

  /// Compares a query inside of a transaction that has written.
  func compareQuery(in transaction: WriteTransaction) throws {
    let select = draws.select(from: Self.collection, indexes)
    let rows = try engine.execute(Statement.select(select), in: transaction).rows.map { try $0.values() }
    try expect(
      ExpectedRows(select, reference).fault(of: rows), "\(Statement.select(select)) in a transaction")
  }

  // MARK: Joins

  /// Compares a join whose partners an index finds.
  func compareJoin() throws {
    let paths = (row: draws.path(), partner: [PathComponent.key(draws.random.pick(["a", "s"]))])
    let keepsUnmatched = draws.random.oneIn(3)
    let select = Select(
      from: Source(Self.collection),
      joins: [
        Join(
          keepsUnmatched ? .left : .inner,
          Source(Self.partners, hints: Hints(indexes: draws.random.oneIn(4) ? [] : nil)),
          on: .binary(.equal, .field(source: 1, paths.partner), .field(source: 0, paths.row)))
      ],
      projection: .columns([
        Select.Column(expression: .field(source: 0, [.key("_id")]), name: "row"),
        Select.Column(expression: .field(source: 1, [.key("_id")]), name: "partner"),
      ]))
    let statement = Statement.select(select)
    let rows: [[TextKey: Value]]
    do {
      rows = try store.read { try engine.execute(statement, in: $0).rows.map { try $0.values() } }
    } catch let error as QueryError where error.code == .unsupported {
      // Without an index on the field a join is refused.
      return
    }
    var expected: [[TextKey: Value]] = []
    for id in reference.documents.keys {
      let value = reference.value(paths.row, id)
      let found = partners.documents.keys.filter { partner in
        TruthValue.compare(partners.value(paths.partner, partner), value) { $0 == 0 } == .bool(true)
      }
      expected += found.map { ["row": id.value, "partner": $0.value] }
      if found.isEmpty, keepsUnmatched { expected.append(["row": id.value]) }
    }
    let (left, right) = (Self.counted(rows), Self.counted(expected))
    try expect(left == right ? nil : "\(rows.count) pairs in place of \(expected.count)", "\(statement)")
  }

  private static func counted(_ rows: [[TextKey: Value]]) -> [Value: Int] {
    rows.reduce(into: [:]) { $0[.map($1), default: 0] += 1 }
  }

  // MARK: Subscriptions

  /// Compares the documents that a peer would be sent, also by a predicate that came over the wire.
  func compareSubscription() throws {
    let predicate = draws.predicate(depth: 3)
    let compiled: CompiledPredicate
    do throws(QueryError) {
      compiled = try CompiledPredicate(predicate)
    } catch {
      // Too large to be sent, or nothing that a peer is asked.
      return
    }
    var writer = ByteWriter()
    compiled.encode(to: &writer)
    var reader = ByteReader(writer.bytes.span.bytes)
    let received: CompiledPredicate
    do throws(CodecError) {
      received = try CompiledPredicate(from: &reader)
    } catch {
      // A peer refuses what is nested too deeply.
      if error.code == .limit { return }
      return try expect("a peer refuses it: \(error)", "the subscription \(predicate)")
    }
    let expected = Set(try reference.accepted(predicate))
    let found = try store.read { transaction -> Set<DocumentID> in
      var matcher = received.matcher
      guard let collection = try transaction.collection(Self.collection) else { return [] }
      matcher.resolve(collection.keys)
      var found: Set<DocumentID> = []
      try transaction.forEachRecord(in: collection, from: nil, to: nil, verify: false) { id, _, record in
        if record.isAlive, matcher.matches(id, record) { found.insert(try DocumentID(validating: id)) }
        return true
      }
      return found
    }
    let wrong = found.symmetricDifference(expected).first
    try expect(
      wrong.map { "\(reference.row($0)) is \(found.contains($0) ? "sent" : "not sent")" },
      "the subscription \(predicate)")
  }
}
