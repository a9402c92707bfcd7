package import CRDTCore
import DocStore

extension Plan {
  /// The rows of a SELECT.
  ///
  /// - Throws: What reading the store throws; a `QueryError` when an expression fails on a document, or when
  ///   the statement has exceeded its bounds.
  func rows(
    in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts, _ context: StatementContext
  ) throws -> [Row] {
    if case .countAll(let alias) = projection {
      let total = try count(in: source, facts, context)
      return Array([Row([alias: .int(Int64(total))])].dropFirst(offset).prefix(limit ?? 1))
    }
    if case .virtual(let virtual) = access {
      return try rows(of: virtual.documents(in: source, facts, context), context)
    }
    return try sortedRows(in: source, context).map(\.row)
  }

  /// Calls `body` with each document that the filter accepts, until it returns `false`.
  ///
  /// Tombstones are left out.
  func forEachMatch(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ context: StatementContext, _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    var matcher = try RecordMatcher(isSettledByIDs ? nil : filter, context: context)
    matcher.resolve(collection.keys)
    let filter = matcher
    var pace = try ScanPace(context)
    var meter = ScanMeter(context)
    try access.forEachRecord(in: source, collection, context) { id, record in
      try pace.step()
      guard record.isAlive, try meter.accepts(filter, id, record) else { return true }
      meter.pause()
      defer { meter.resume() }
      return try body(id, record)
    }
    meter.finish()
  }

  /// Whether the ids that find the documents are the whole filter.
  private var isSettledByIDs: Bool {
    if case .ids = access { coversFilter } else { false }
  }

  /// The ids of the documents that DELETE, EVICT and UPDATE change, in the statement's order.
  package func ids(
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext = StatementContext()
  ) throws -> [DocumentID] {
    var plan = self
    // Only the id of each document is copied.
    plan.projection = .columns([])
    return try plan.sortedRows(in: source, context, namingDocuments: true).compactMap(\.row.id)
  }

  private func count(
    in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts, _ context: StatementContext
  ) throws -> Int {
    if case .virtual(let virtual) = access {
      return try matches(in: virtual.documents(in: source, facts, context), context).count
    }
    return try count(in: source, context)
  }

  /// The number of documents of an ordinary collection that the filter accepts.
  package func count(
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext = StatementContext()
  ) throws -> Int {
    guard let collection = try source.collection(self.collection) else { return 0 }
    if countsAll { return try source.documentCount(of: collection) }
    if let countedScan { return try count(countedScan, in: source, collection, context) }
    var count = 0
    if isCovering {
      try forEachCovered(in: source, collection, context) { _, _ in
        count += 1
        return true
      }
      return count
    }
    try forEachMatch(in: source, collection, context) { _, _ in
      count += 1
      return true
    }
    return count
  }
}
