import CRDTCore
import DocStore

/// What RETURNING answers of the documents that a statement writes.
struct Returning: Sendable {
  private let projection: Select.Projection
  private let context: StatementContext

  /// - Returns: `nil` for a statement without RETURNING.
  /// - Throws: `argument` for a parameter without a value; `unsupported` for what needs more than one document.
  init?(
    _ projection: Select.Projection?, _ arguments: [String: Value], _ context: StatementContext
  ) throws(QueryError) {
    guard let projection else { return nil }
    if case .countAll = projection { throw .unsupported("COUNT(*) in RETURNING") }
    self.context = context
    self.projection = try projection.binding(arguments)
  }

  /// The rows of documents as they are now; of those that are not here, none.
  func rows(
    of ids: [DocumentID], in name: String, _ transaction: WriteTransaction
  ) throws -> [(id: DocumentID, row: Row)] {
    guard let collection = try transaction.collection(name) else { return [] }
    let projector = Projector(projection, collection.keys, context)
    return try ids.compactMap { id in
      let row = try transaction.withRecord(collection, id) { record, _ in
        record.isAlive ? try projector.row(id.bytes.span.bytes, record) : nil
      }
      return row.flatMap { $0 }.map { (id, $0) }
    }
  }

  /// The rows of documents that the statement has written.
  ///
  /// A transaction in which this fails cannot go on, since its last statement must not take effect in part.
  func rows(ofWritten ids: [DocumentID], in name: String, _ transaction: WriteTransaction) throws -> [Row] {
    do {
      return try rows(of: ids, in: name, transaction).map(\.row)
    } catch {
      transaction.giveUp("RETURNING failed after the statement had written")
      throw error
    }
  }
}

extension Select.Projection {
  /// The projection with every parameter replaced by its argument.
  func binding(_ arguments: [String: Value]) throws(QueryError) -> Select.Projection {
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
