import CRDTCore

/// Makes the rows of a projection from the documents of one collection.
struct Projector: Sendable {
  private let keys: KeyTable
  private let shape: RowShape?
  private var columns: [RecordExpression] = []

  /// - Parameters:
  ///   - projection: What the rows show; counts are made elsewhere.
  ///   - keys: The field names of the collection.
  init(_ projection: Select.Projection, _ keys: KeyTable) {
    self.keys = keys
    guard case .columns(let columns) = projection else {
      shape = nil
      return
    }
    shape = RowShape(columns.map(\.name))
    for column in columns {
      var expression = RecordExpression(column.expression)
      expression.resolve(keys)
      self.columns.append(expression)
    }
  }

  /// The row of a document in the store's memory, which is copied where the row shows it whole.
  func row(_ id: RawSpan, _ record: borrowing RecordView) throws(QueryError) -> Row {
    guard let shape else { return Row(DocumentID(copying: id), Record(copying: record), keys) }
    return Row(shape, try values(id, record), id: DocumentID(copying: id))
  }

  /// The row of a document that is copied already.
  func row(_ id: DocumentID, _ record: Record) throws(QueryError) -> Row {
    guard let shape else { return Row(id, record, keys) }
    return Row(
      shape,
      try record.withView { (view) throws(QueryError) in try values(id.bytes.span.bytes, view) }, id: id)
  }

  /// The row of a document of a virtual collection.
  func row(_ fields: [String: Value]) throws(QueryError) -> Row {
    guard let shape else { return Row(fields) }
    var values: [Value?] = []
    values.reserveCapacity(columns.count)
    for column in columns { values.append(try column.evaluate(fields)) }
    return Row(shape, values)
  }

  private func values(_ id: RawSpan, _ record: borrowing RecordView) throws(QueryError) -> [Value?] {
    var values: [Value?] = []
    values.reserveCapacity(columns.count)
    for column in columns { values.append(try column.evaluate(id, record, keys)) }
    return values
  }
}
