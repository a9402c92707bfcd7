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
    guard findsRowsInTurn else { return try sortedRows(in: source, context).map(\.row) }
    var rows: [Row] = []
    try forEachRow(in: source, context) { row in
      try context.reserveGathered(row.memoryBytes)
      rows.append(row)
      return true
    }
    return rows
  }

  /// Calls `body` with each document that the filter accepts, until it returns `false`.
  ///
  /// Tombstones are left out.
  func forEachMatch(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ context: StatementContext, _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    if coversFilter, case .index(let scan) = access {
      return try forEachMatch(of: scan, in: source, collection, context, body)
    }
    let filter = try matcher(isSettledByIDs ? nil : filter, collection, context)
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

  /// The same for an index scan whose rows say that the filter accepts their documents.
  ///
  /// Only the documents of cut rows are compared with the filter.
  private func forEachMatch(
    of scan: IndexScan, in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ context: StatementContext, _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    // Made when it is needed, because that takes as long as reading some ten documents.
    var filterOfCutRows: RecordMatcher?
    var pace = try ScanPace(context)
    var meter = ScanMeter(context)
    try source.withIndex(scan.index, of: collection) { reader in
      try scan.forEachDocument(reader) { row, id, record in
        try pace.step()
        guard record.isAlive else { return true }
        if row.isCut {
          let filter = try filterOfCutRows ?? matcher(filter, collection, context)
          filterOfCutRows = filter
          guard try meter.accepts(filter, id, record) else { return true }
        } else {
          meter.count()
        }
        meter.pause()
        defer { meter.resume() }
        return try body(id, record)
      }
    }
    meter.finish()
  }

  private func matcher(
    _ filter: Expression?, _ collection: DocStore.Collection, _ context: StatementContext
  ) throws(QueryError) -> RecordMatcher {
    var matcher = try RecordMatcher(filter, context: context)
    matcher.resolve(collection.keys)
    return matcher
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
