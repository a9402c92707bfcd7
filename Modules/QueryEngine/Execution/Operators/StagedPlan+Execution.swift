import CRDTCore
import DocStore

extension StagedPlan {
  /// The rows of the query, in order and within its bounds.
  func rows(
    in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts, _ context: StatementContext
  ) throws -> [Row] {
    guard limit != 0 else { return [] }
    var sink = FrameSink(self, context)
    let condition = filter.map { FrameExpression($0, context) }
    if let grouping, var records = try RecordGrouping(self, grouping, context) {
      var groups = GroupTable(grouping, context)
      let accepted = try records.fill(&groups, in: source, context)
      return try sink.rows(of: &groups, accepted)
    }
    var joiner = try Joiner(self, in: source, facts, context)
    var accepted = 0
    guard let grouping else {
      try joiner.forEachFrame(slotCount, in: source) { frame in
        guard try condition?.accepts(frame) ?? true else { return true }
        accepted += 1
        return try sink.add(copy frame)
      }
      context.profile?.note { $0.frames = accepted }
      return try sink.finished()
    }
    var groups = GroupTable(grouping, context)
    if let ends = try groupOfEnds(grouping, in: source, context) {
      groups = ends
    } else {
      try joiner.forEachFrame(slotCount, in: source) { frame in
        guard try condition?.accepts(frame) ?? true else { return true }
        accepted += 1
        try groups.add(frame)
        return true
      }
    }
    return try sink.rows(of: &groups, accepted)
  }
}

/// Makes rows of frames, keeps them in order, and applies DISTINCT, LIMIT and OFFSET.
struct FrameSink {
  private let projection: FrameProjector
  private let order: [FrameExpression]
  private let rowOrder: RowOrder
  private let isDistinct: Bool
  private let offset: Int
  private let limit: Int?
  private let context: StatementContext
  private var rows: [SortedRow] = []
  private var distinct = DistinctRows()

  init(_ plan: StagedPlan, _ context: StatementContext) {
    projection = FrameProjector(plan.projection, context)
    order = plan.order.map { FrameExpression($0.expression, context) }
    rowOrder = RowOrder(plan.order, context)
    isDistinct = plan.distinct
    offset = plan.offset
    limit = plan.limit
    self.context = context
  }

  /// - Returns: Whether more rows are wanted.
  mutating func add(_ frame: Frame) throws(QueryError) -> Bool {
    var keys: [Value?] = []
    for key in order { keys.append(try key.evaluate(frame)) }
    let row = SortedRow(keys: keys, row: try projection.row(frame), position: rows.count)
    if isDistinct {
      try distinct.insert(row, context)
    } else {
      try context.reserve(row.row.memoryBytes)
      rows.append(row)
    }
    guard order.isEmpty, let limit else { return true }
    return (isDistinct ? distinct.rows.count : rows.count) - offset < limit
  }

  /// The rows of groups, to which `accepted` rows were added.
  mutating func rows(of groups: inout GroupTable, _ accepted: Int) throws(QueryError) -> [Row] {
    let frames = try groups.frames()
    context.profile?.note { section in
      section.frames = accepted
      section.groups = (groups.count, frames.count)
    }
    for frame in frames {
      guard try add(frame) else { break }
    }
    return try finished()
  }

  func finished() throws(QueryError) -> [Row] {
    let kept = isDistinct ? distinct.rows : rows
    let sorted = order.isEmpty ? kept : rowOrder.sorted(kept)
    return sorted.dropFirst(offset).prefix(limit ?? .max).map(\.row)
  }
}

/// Makes the rows of a projection from frames.
struct FrameProjector {
  private enum Part {
    case document(slot: Int)
    case without(FieldPath)
    case column(String, FrameExpression)
  }

  private let documents: [StagedPlan.NamedSlot]
  private let shape: RowShape?
  private let columns: [FrameExpression]
  private let parts: [Part]

  init(_ projection: StagedPlan.FrameProjection, _ context: StatementContext) {
    switch projection {
    case .documents(let documents):
      self.documents = documents
      (shape, columns, parts) = (nil, [], [])
    case .columns(let columns):
      shape = RowShape(columns.map(\.$name))
      self.columns = columns.map { FrameExpression($0.expression, context) }
      (documents, parts) = ([], [])
    case .elements(let elements):
      (documents, shape, columns) = ([], nil, [])
      parts = elements.map { element in
        switch element {
        case .document(let slot): .document(slot: slot)
        case .without(let path): .without(path)
        case .column(let column): .column(column.name, FrameExpression(column.expression, context))
        }
      }
    }
  }

  func row(_ frame: Frame) throws(QueryError) -> Row {
    if let shape {
      var values: [Value?] = []
      values.reserveCapacity(columns.count)
      var bytes = Evaluator.producedBytes
      for column in columns { values.append(try column.evaluate(frame, within: &bytes)) }
      return Row(shape, values)
    }
    var row: [TextKey: Value] = [:]
    var bytes = Evaluator.producedBytes
    for document in documents { row[document.name] = frame[document.slot] }
    for part in parts {
      switch part {
      case .document(let slot): if case .map(let members) = frame[slot] { row.merge(members) { $1 } }
      case .without(let path): row.remove(path)
      case .column(let name, let column): row[name] = try column.evaluate(frame, within: &bytes)
      }
    }
    return Row(row)
  }
}
