import CRDTCore
import DocStore
import Failpoints

/// A live query whose rows are groups of one collection's documents, or aggregates over all of them.
///
/// Each group keeps what its aggregates need so that documents can be removed. Groups that are equal in ORDER
/// BY are ordered by their keys.
struct LiveGroups: LiveContent {
  private struct Group {
    /// The keys as its first document has them.
    let keys: [Value?]
    var accumulators: [Accumulator]
    var documentCount = 0
    /// The place of its row; `nil` if it has none.
    var place: LiveRows.Place?
  }

  private let select: Select
  private let arguments: [TextKey: Value]
  private let input: StagedPlan.Input
  private let slotCount: Int
  private let filter: FrameExpression?
  private let calls: [Grouping.Call]
  private let groupKeys: [FrameExpression]
  private let operands: [FrameExpression?]
  private let condition: FrameExpression?
  private let projector: FrameProjector
  private let order: [FrameExpression]
  private var matcher: RecordMatcher
  private var reader: SlotReader
  private var keyCount = -1
  private var groups: [[ValueKey]: Group] = [:]
  private var sorted: LiveRows

  init(_ select: Select, _ arguments: [TextKey: Value]) throws(QueryError) {
    self.select = select
    self.arguments = arguments
    let plan = try Stager.plan(select, arguments, .empty)
    guard let grouping = plan.grouping, let input = plan.inputs.first else {
      preconditionFailure("only groups of one collection are kept like this")
    }
    self.input = input
    // Nothing in it depends on the time.
    let context = StatementContext()
    slotCount = plan.slotCount
    filter = plan.filter.map { FrameExpression($0, context) }
    calls = grouping.calls
    groupKeys = grouping.keys.map { FrameExpression($0, context) }
    operands = calls.map { $0.operand.map { FrameExpression($0, context) } }
    condition = grouping.condition.map { FrameExpression($0, context) }
    projector = FrameProjector(plan.projection, context)
    order = plan.order.map { FrameExpression($0.expression, context) }
    matcher = try RecordMatcher(input.plan.filter)
    reader = SlotReader(input, KeyTable())
    sorted = LiveRows(
      plan.order.map(\.descending) + groupKeys.map { _ in false }, offset: plan.offset, limit: plan.limit,
      holdsAll: true)
  }

  var rows: RowList<Row> { sorted.shown }

  private mutating func resolve(_ keys: KeyTable) {
    guard keyCount != keys.count else { return }
    keyCount = keys.count
    matcher.resolve(keys)
    reader = SlotReader(input, keys)
  }

  // MARK: - Reading

  mutating func fill(from transaction: borrowing ReadTransaction, _ engine: Engine) throws {
    groups = [:]
    if groupKeys.isEmpty { groups[[]] = Group(keys: [], accumulators: accumulators) }
    let name = input.plan.collection
    if let collection = try transaction.collection(name) {
      resolve(collection.keys)
      let catalogue = try QueryCatalogue([name], in: transaction)
      let found = try Stager.plan(select, arguments, catalogue).inputs.first?.plan ?? input.plan
      var frame = Frame(repeating: nil, count: slotCount)
      try found.forEachMatch(in: transaction, collection, StatementContext(engine.environment)) {
        id, record in
        try reader.read(id, record, into: &frame)
        if try filter?.accepts(frame) ?? true { _ = try change(frame, by: 1) }
        return true
      }
    }
    var rows: [(place: LiveRows.Place, row: Row)] = []
    for key in groups.keys {
      if let row = try row(of: key) { rows.append(row) }
    }
    rows.sort { sorted.precedes($0.place, $1.place) }
    sorted.fill(rows.map { ($0.place.keys, $0.row) }, isAll: true)
  }

  private var accumulators: [Accumulator] {
    calls.map { Accumulator($0.aggregate, distinct: $0.distinct, subtractable: true) }
  }

  // MARK: - Following commits

  mutating func follow(_ commit: Commit) throws -> LiveProgress {
    let touched = TouchedDocuments(commit, in: input.plan.collection)
    guard let keys = touched.keys else { return .untouched }
    resolve(keys)
    var changed: Set<[ValueKey]> = []
    for document in touched.documents {
      let old = try document.before.flatMap { try frame(of: $0, document.id) }
      let new = try document.after.flatMap { try frame(of: $0, document.id) }
      guard old != new else { continue }
      if let old, !QueryDefect.liveGroupKeepsLeaver.isPlanted { changed.insert(try change(old, by: -1)) }
      if let new { changed.insert(try change(new, by: 1)) }
    }
    guard !changed.isEmpty else { return .untouched }
    var removed: [LiveRows.Place] = []
    var inserted: [(place: LiveRows.Place, row: Row)] = []
    for key in changed {
      if let place = groups[key]?.place { removed.append(place) }
      if groups[key]?.documentCount == 0, !groupKeys.isEmpty {
        groups[key] = nil
      } else if let row = try row(of: key) {
        inserted.append(row)
      }
    }
    return sorted.edit(removing: removed, inserting: inserted)
  }

  /// The frame of a document; `nil` when it does not match.
  private func frame(of record: Record, _ id: DocumentID) throws(QueryError) -> Frame? {
    try record.withView { (view) throws(QueryError) -> Frame? in
      let bytes = id.bytes.span.bytes
      guard view.isAlive, matcher.matches(bytes, view) else { return nil }
      var frame = Frame(repeating: nil, count: slotCount)
      try reader.read(bytes, view, into: &frame)
      return try filter?.accepts(frame) ?? true ? frame : nil
    }
  }

  /// Adds a document to its group, or removes it.
  ///
  /// - Returns: The group.
  private mutating func change(_ frame: Frame, by sign: Int) throws(QueryError) -> [ValueKey] {
    var values: [Value?] = []
    for key in groupKeys { values.append(try key.evaluate(frame)?.withoutCounter) }
    let key = values.map { ValueKey($0) }
    if groups[key] == nil { groups[key] = Group(keys: values, accumulators: accumulators) }
    groups[key]?.documentCount += sign
    for index in operands.indices {
      guard let operand = operands[index] else { continue }
      let value = try operand.evaluate(frame)
      if sign > 0 {
        groups[key]?.accumulators[index].add(value)
      } else {
        groups[key]?.accumulators[index].remove(value)
      }
    }
    return key
  }

  /// The row of a group, whose place it records; `nil` where HAVING rejects it.
  private mutating func row(of key: [ValueKey]) throws(QueryError) -> (place: LiveRows.Place, row: Row)? {
    groups[key]?.place = nil
    guard var frame = groups[key]?.keys else { return nil }
    for index in calls.indices {
      frame.append(
        calls[index].operand == nil
          ? .int(Int64(groups[key]?.documentCount ?? 0)) : groups[key]?.accumulators[index].result())
    }
    guard try condition?.accepts(frame) ?? true else { return nil }
    var keys: [Value?] = []
    for key in order { keys.append(try key.evaluate(frame)) }
    let place = LiveRows.Place(keys: keys + key.map(\.value))
    groups[key]?.place = place
    return (place, try projector.row(frame).standing(for: key))
  }
}
