import CRDTCore
import DocStore

/// A live query with DISTINCT rows of the documents of a collection.
///
/// Each row is kept with the number of documents that show it. Rows that are equal in ORDER BY are ordered by
/// their values.
struct LiveDistinct: LiveContent {
  private struct Entry {
    var documentCount: Int
    let place: LiveRows.Place
  }

  private let select: Select
  private let arguments: [TextKey: Value]
  let plan: Plan
  private var entries: [[ValueKey]: Entry] = [:]
  private var sorted: LiveRows
  private var order: RowOrder
  private var matcher: RecordMatcher
  private var keys = KeyTable()
  private var projector: Projector

  /// - Parameters:
  ///   - select: A query whose order follows from the values of its rows; see ``Select/isOrderedByRows``.
  ///   - arguments: The values of its parameters.
  /// - Throws: What planning throws.
  init(_ select: Select, _ arguments: [TextKey: Value]) throws(QueryError) {
    self.select = select
    self.arguments = arguments
    plan = try Planner.plan(select, arguments: arguments)
    order = RowOrder(plan.order)
    var width = 1
    if case .columns(let columns) = plan.projection { width = columns.count }
    sorted = LiveRows(
      order.isDescending + Array(repeating: false, count: width), offset: plan.offset, limit: plan.limit,
      holdsAll: true)
    matcher = try RecordMatcher(plan.filter)
    projector = Projector(plan.projection, KeyTable())
  }

  var rows: RowList<Row> { sorted.shown }

  private mutating func resolve(_ keys: KeyTable) {
    guard keys.count != self.keys.count else { return }
    self.keys = keys
    order.resolve(keys)
    matcher.resolve(keys)
    projector = Projector(plan.projection, keys)
  }

  mutating func fill(from transaction: borrowing ReadTransaction, _ engine: Engine) throws {
    entries = [:]
    var rows: [[ValueKey]: Row] = [:]
    if let collection = try transaction.collection(plan.collection) {
      resolve(collection.keys)
      var all = select
      (all.limit, all.offset, all.order) = (nil, nil, [])
      let catalogue = try QueryCatalogue([plan.collection], in: transaction)
      let found = try Planner.plan(all, arguments: arguments, catalogue: catalogue)
      try found.forEachMatch(in: transaction, collection, StatementContext(engine.environment)) {
        id, record in
        let row = try projector.row(id, record)
        let key = try row.key
        if entries[key] == nil { rows[key] = try row.withoutDocument }
        try add(key, id, record)
        return true
      }
    }
    let ordered = entries.values.sorted { sorted.precedes($0.place, $1.place) }
    sorted.fill(
      ordered.compactMap { entry in rows[key(at: entry.place)].map { (entry.place.keys, $0) } }, isAll: true)
  }

  /// The values of the row at a place; they are the end of the place's keys.
  private func key(at place: LiveRows.Place) -> [ValueKey] {
    place.keys.dropFirst(order.isDescending.count).map { ValueKey($0) }
  }

  /// - Returns: Whether the row is new: no other document shows it.
  @discardableResult
  private mutating func add(
    _ key: [ValueKey], _ id: RawSpan, _ record: borrowing RecordView
  ) throws(QueryError) -> Bool {
    if entries[key] != nil {
      entries[key]?.documentCount += 1
      return false
    }
    var values: [Value?] = []
    try order.read(id, record, keys, into: &values)
    entries[key] = Entry(documentCount: 1, place: LiveRows.Place(keys: values + key.map(\.value)))
    return true
  }

  mutating func follow(_ commit: Commit) throws -> LiveProgress {
    let touched = TouchedDocuments(commit, in: plan.collection)
    guard let keys = touched.keys else { return .untouched }
    resolve(keys)
    /// The rows that are new or gone, with their places before the commit.
    var changed: [[ValueKey]: (before: LiveRows.Place?, row: Row)] = [:]
    for document in touched.documents {
      let old = try document.before.flatMap { try row(of: $0, document.id) }
      let new = try document.after.flatMap { try row(of: $0, document.id) }
      let (oldKey, newKey) = (try old?.key, try new?.key)
      guard oldKey != newKey else { continue }
      if let old, let oldKey, let entry = entries[oldKey] {
        if changed[oldKey] == nil { changed[oldKey] = (entry.place, old) }
        entries[oldKey] =
          entry.documentCount > 1 ? Entry(documentCount: entry.documentCount - 1, place: entry.place) : nil
      }
      if let new, let newKey {
        if changed[newKey] == nil { changed[newKey] = (entries[newKey]?.place, new) }
        try document.after?.withView { (view) throws(QueryError) in
          _ = try add(newKey, document.id.bytes.span.bytes, view)
        }
      }
    }
    var removed: [LiveRows.Place] = []
    var inserted: [(place: LiveRows.Place, row: Row)] = []
    for (key, (before, row)) in changed {
      switch (before, entries[key]?.place) {
      case (let place?, nil): removed.append(place)
      case (nil, let place?): inserted.append((place, try row.withoutDocument))
      case (nil, nil), (.some, .some): break
      }
    }
    guard !removed.isEmpty || !inserted.isEmpty else { return .untouched }
    return sorted.edit(removing: removed, inserting: inserted)
  }

  /// The row of a document; `nil` when it does not match.
  private func row(of record: Record, _ id: DocumentID) throws(QueryError) -> Row? {
    try record.withView { (view) throws(QueryError) -> Row? in
      let bytes = id.bytes.span.bytes
      guard view.isAlive, matcher.matches(bytes, view) else { return nil }
      return try projector.row(bytes, view)
    }
  }
}

extension Select {
  /// Whether rows with the same values have the same place, whatever their documents are.
  var isOrderedByRows: Bool {
    switch projection {
    case .all: true
    case .columns(let columns):
      order.allSatisfy { key in columns.contains { $0.expression == key.expression } }
    case .countAll, .elements: order.isEmpty
    }
  }
}
