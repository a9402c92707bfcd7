import CRDTCore
import DocStore
import Failpoints

/// A live query on documents of one collection.
///
/// Its rows are the documents, a projection of each, or their number. Rows that are equal in ORDER BY are
/// ordered by id, so that the order is total.
struct LiveDocuments: LiveContent {
  private let select: Select
  private let arguments: [TextKey: Value]
  let plan: Plan
  private var sorted: LiveRows
  /// The number of matching documents, where only their number is shown.
  private var total = 0
  private var order: RowOrder
  private var matcher: RecordMatcher
  /// The field names of the collection, as of the last commit that touched it.
  private var keys = KeyTable()
  private var projector: Projector

  init(_ select: Select, _ arguments: [TextKey: Value]) throws(QueryError) {
    self.select = select
    self.arguments = arguments
    plan = try Planner.plan(select, arguments: arguments, totalOrder: true)
    order = RowOrder(plan.order)
    sorted = LiveRows(order.isDescending, offset: plan.offset, limit: plan.limit, holdsAll: false)
    matcher = try RecordMatcher(plan.filter)
    projector = Projector(plan.projection, KeyTable())
  }

  private var countAlias: TextKey? {
    if case .countAll(let alias) = plan.projection { alias } else { nil }
  }

  var rows: RowList<Row> {
    guard let countAlias else { return sorted.shown }
    let row = Row([countAlias: .int(Int64(total))]).standing(for: [])
    return RowList([row].dropFirst(plan.offset).prefix(plan.limit ?? 1))
  }

  private mutating func resolve(_ keys: KeyTable) {
    guard keys.count != self.keys.count else { return }
    self.keys = keys
    order.resolve(keys)
    matcher.resolve(keys)
    projector = Projector(plan.projection, keys)
  }

  // MARK: - Reading

  mutating func fill(from transaction: borrowing ReadTransaction, _ engine: Engine) throws {
    if let collection = try transaction.collection(plan.collection) { resolve(collection.keys) }
    var wanted = select
    wanted.offset = nil
    wanted.limit = sorted.capacity.map { .literal(.int(Int64($0))) }
    let catalogue = try QueryCatalogue([plan.collection], in: transaction)
    let found = try Planner.plan(wanted, arguments: arguments, catalogue: catalogue)
    let context = StatementContext(engine.environment)
    guard countAlias == nil else {
      total = try found.count(in: transaction, context)
      return
    }
    guard plan.limit != 0 else { return }
    switch found.access {
    case .index(let scan) where found.isOrdered && sorted.capacity != nil:
      try fill(inOrderOf: scan, from: transaction, context)
    case .index, .union, .intersection: try fill(by: found, from: transaction, context)
    case .collectionScan, .ids, .idRange, .virtual:
      var plan = plan
      plan.offset = 0
      plan.limit = sorted.capacity
      let rows = try plan.sortedRows(in: transaction, context, namingDocuments: true)
      sorted.fill(rows.map { ($0.keys, $0.row) }, isAll: rows.count < sorted.capacity ?? .max)
    }
  }

  /// Reads the documents that an access path finds, in any order.
  private mutating func fill(
    by found: Plan, from transaction: borrowing ReadTransaction, _ context: StatementContext
  ) throws {
    guard let collection = try transaction.collection(plan.collection) else { return }
    var rows: [(place: LiveRows.Place, row: Row)] = []
    try found.forEachMatch(in: transaction, collection, context) { id, record in
      rows.append(try row(id, record, context))
      return true
    }
    fill(with: rows, isAll: true)
  }

  /// Reads the first rows from an index in the right order, and all that are equal to the last of them.
  private mutating func fill(
    inOrderOf scan: IndexScan, from transaction: borrowing ReadTransaction, _ context: StatementContext
  ) throws {
    guard let collection = try transaction.collection(plan.collection) else { return }
    var rows: [(place: LiveRows.Place, row: Row)] = []
    let capacity = sorted.capacity ?? .max
    // Once there are enough rows, no rows after these keys are needed.
    var bound: [Value?]?
    var isAll = true
    var pace = try ScanPace(context)
    try transaction.withIndex(scan.index, of: collection) { reader in
      try scan.forEachDocument(reader) { indexRow, id, record in
        try pace.step()
        guard record.isAlive, try matcher.accepts(id, record) else { return true }
        let row = try row(id, record, context)
        // Rows with a cut key are in any order among themselves.
        if let bound, !indexRow.isCut, sorted.compare(row.place.keys, bound) > 0 {
          isAll = false
          return false
        }
        rows.append(row)
        if rows.count == capacity {
          bound = rows.map(\.place.keys).max { sorted.compare($0, $1) < 0 }
        }
        return true
      }
    }
    fill(with: rows, isAll: isAll)
  }

  private func row(
    _ id: RawSpan, _ record: borrowing RecordView, _ context: StatementContext
  ) throws -> (place: LiveRows.Place, row: Row) {
    var values: [Value?] = []
    try order.read(id, record, keys, into: &values)
    let row = try projector.row(id, record)
    try context.reserve(row.memoryBytes)
    return (LiveRows.Place(keys: values, id: row.id), row)
  }

  private mutating func fill(with rows: [(place: LiveRows.Place, row: Row)], isAll: Bool) {
    let ordered = rows.sorted { sorted.precedes($0.place, $1.place) }
    let kept = ordered.prefix(sorted.capacity ?? .max)
    sorted.fill(kept.map { ($0.place.keys, $0.row) }, isAll: isAll && kept.count == ordered.count)
  }

  // MARK: - Following commits

  mutating func follow(_ commit: Commit) throws -> LiveProgress {
    let touched = TouchedDocuments(commit, in: plan.collection)
    guard let keys = touched.keys else { return .untouched }
    resolve(keys)
    var removed: [LiveRows.Place] = []
    var inserted: [(place: LiveRows.Place, row: Row)] = []
    for document in touched.documents {
      let old = document.before.flatMap { place(of: $0, document.id) }
      let new = document.after.flatMap { place(of: $0, document.id) }
      if let old { removed.append(old) }
      if let new, let after = document.after, old != nil || !QueryDefect.liveMissesInsertion.isPlanted {
        inserted.append((new, countAlias == nil ? try projector.row(document.id, after) : Row([:])))
      }
    }
    guard !removed.isEmpty || !inserted.isEmpty else { return .untouched }
    if countAlias != nil {
      total += inserted.count - removed.count
      return .followed()
    }
    return sorted.edit(removing: removed, inserting: inserted)
  }

  /// The place of a document; `nil` when it does not match.
  private func place(of record: Record, _ id: DocumentID) -> LiveRows.Place? {
    record.withView { view in
      let bytes = id.bytes.span.bytes
      guard view.isAlive, matcher.matches(bytes, view) else { return nil }
      var values: [Value?] = []
      do { try order.read(bytes, view, keys, into: &values) } catch { return nil }
      return LiveRows.Place(keys: values, id: id)
    }
  }
}
