import CRDTCore
import DocStore

/// The rows of RETURNING for the documents that a statement writes.
///
/// There is one row for each document, or one row of aggregates.
struct Returning: Sendable {
  /// What is read of each document: the columns, or the operands of the aggregates.
  private let projection: Select.Projection
  private let summary: Summary?
  private let context: StatementContext

  /// The one row of aggregates over all documents.
  ///
  /// Each document is a frame of the aggregates' operands.
  private struct Summary: Sendable {
    let grouping: Grouping
    let columns: [Select.Column]
  }

  /// - Returns: `nil` for a statement without RETURNING.
  /// - Throws: `argument` for a parameter without a value; `syntax` for a field beside aggregates.
  init?(
    _ projection: Select.Projection?, _ arguments: [TextKey: Value], _ context: StatementContext
  ) throws(QueryError) {
    guard let projection else { return nil }
    self.context = context
    guard Select(collection: "", projection: projection).isGrouped else {
      self.projection = try projection.binding(arguments)
      summary = nil
      return
    }
    guard case .columns(var columns) = projection else { throw Grouper.ungrouped("*") }
    var grouper = Grouper(keys: [])
    for index in columns.indices {
      columns[index].expression = try grouper.grouped(columns[index].expression).binding(arguments)
    }
    var grouping = try grouper.grouping(arguments)
    self.projection = .columns(
      grouping.calls.enumerated().map { index, call in
        Select.Column(expression: call.operand ?? .literal(.null), name: "\(index)")
      })
    for index in grouping.calls.indices where grouping.calls[index].operand != nil {
      grouping.calls[index].operand = .path([.index(index)])
    }
    summary = Summary(grouping: grouping, columns: columns)
  }

  /// The rows of documents as they are now; a document that does not exist has none.
  func rows(
    of ids: [DocumentID], in name: String, _ transaction: WriteTransaction
  ) throws -> [(id: DocumentID, row: Row)] {
    guard let collection = try transaction.collection(name) else { return [] }
    let projector = Projector(projection, collection.keys, context)
    return try ids.compactMap { id in
      let row = try transaction.withRecord(collection, id) { record, _ in
        record.isAlive ? try projector.row(id.bytes.span.bytes, record) : nil
      }
      guard let row = row.flatMap({ $0 }) else { return nil }
      try context.reserveGathered(row.memoryBytes)
      return (id, row)
    }
  }

  /// The result of the statement, made from the rows of its documents.
  func answer(_ rows: [Row]) throws -> [Row] {
    guard let summary else { return rows }
    var groups = GroupTable(summary.grouping, context)
    for row in rows {
      let values = try row.values()
      try groups.add(summary.grouping.calls.indices.map { values["\($0)"] })
    }
    return try groups.frames().map { frame in
      var values: [Value?] = []
      for column in summary.columns {
        values.append(try FrameExpression(column.expression, context).evaluate(frame))
      }
      return Row(RowShape(summary.columns.map(\.$name)), values)
    }
  }

  /// The rows of RETURNING for the documents that the statement has written.
  ///
  /// A transaction in which this fails cannot go on, since its last statement must not take effect in part.
  func rows(ofWritten ids: [DocumentID], in name: String, _ transaction: WriteTransaction) throws -> [Row] {
    do {
      return try answer(rows(of: ids, in: name, transaction).map(\.row))
    } catch {
      transaction.giveUp("RETURNING failed after the statement had written")
      throw error
    }
  }
}

extension Select.Projection {
  /// The projection with every parameter replaced by its argument.
  func binding(_ arguments: [TextKey: Value]) throws(QueryError) -> Select.Projection {
    try mapColumns { (expression) throws(QueryError) in try expression.binding(arguments) }
  }
}

extension Select.Projection {
  /// The columns that have names of their own.
  var columns: [Select.Column] {
    switch self {
    case .all, .countAll: []
    case .columns(let columns): columns
    case .elements(let elements):
      elements.compactMap { if case .column(let column) = $0 { column } else { nil } }
    }
  }
}
