import CRDTCore

/// Makes the rows of a projection from the documents of one collection.
struct Projector: Sendable {
  /// One element of a projection that contains whole documents.
  private enum Part: Sendable {
    case document
    case without(FieldPath)
    case column(String, ScalarProgram)
  }

  private let keys: KeyTable
  private let context: StatementContext?
  /// Whether rows of columns have the ids of their documents.
  private let namesDocuments: Bool
  private let shape: RowShape?
  private var columns: [ScalarProgram] = []
  private var parts: [Part] = []

  /// - Parameters:
  ///   - projection: What the rows show; the projection of COUNT is made elsewhere.
  ///   - keys: The field names of the collection.
  ///   - context: The statement that makes the rows.
  ///   - namesDocuments: Whether rows of columns have the ids of their documents.
  init(
    _ projection: Select.Projection, _ keys: KeyTable, _ context: StatementContext? = nil,
    namesDocuments: Bool = true
  ) {
    self.keys = keys
    self.context = context
    self.namesDocuments = namesDocuments
    switch projection {
    case .all, .countAll: shape = nil
    case .columns(let columns):
      shape = RowShape(columns.map(\.$name))
      self.columns = columns.map { Self.resolved($0.expression, keys, context) }
    case .elements(let elements):
      shape = nil
      parts = elements.map { element in
        switch element {
        case .star: .document
        case .without(let path): .without(path)
        case .column(let column): .column(column.name, Self.resolved(column.expression, keys, context))
        }
      }
    }
  }

  private static func resolved(
    _ expression: Expression, _ keys: KeyTable, _ context: StatementContext?
  ) -> ScalarProgram {
    var expression = ScalarProgram(expression, context)
    expression.resolve(keys)
    return expression
  }

  /// The row of a document in the store's memory; the document is copied where the row shows all of it.
  func row(_ id: RawSpan, _ record: borrowing RecordView) throws(QueryError) -> Row {
    // Whatever of it the row shows is copied.
    if record.bytes.byteCount > StatementContext.largeRowBytes { try context?.beginLargeRow() }
    if let shape {
      return Row(shape, try values(id, record), id: namesDocuments ? DocumentID(copying: id) : nil)
    }
    if parts.isEmpty { return Row(DocumentID(copying: id), Record(copying: record), keys) }
    return Row(try members(id, record), id: DocumentID(copying: id))
  }

  /// The row of a document that is already copied.
  func row(_ id: DocumentID, _ record: Record) throws(QueryError) -> Row {
    if shape == nil, parts.isEmpty { return Row(id, record, keys) }
    return try record.withView { (view) throws(QueryError) in try row(id.bytes.span.bytes, view) }
  }

  /// The row of a document of a virtual collection.
  func row(_ fields: [TextKey: Value]) throws(QueryError) -> Row {
    guard let shape else {
      if parts.isEmpty { return Row(fields) }
      var row: [TextKey: Value] = [:]
      var bytes = Evaluator.producedBytes
      for part in parts {
        switch part {
        case .document: row.merge(fields) { $1 }
        case .without(let path): row.remove(path)
        case .column(let name, let column): row[name] = try column.evaluate(fields, within: &bytes)
        }
      }
      return Row(row)
    }
    var values: [Value?] = []
    values.reserveCapacity(columns.count)
    var bytes = Evaluator.producedBytes
    for column in columns { values.append(try column.evaluate(fields, within: &bytes)) }
    return Row(shape, values)
  }

  /// Appends the key that distinguishes the document's row from others.
  ///
  /// It returns `false` for rows that are more than columns.
  func appendKey(_ id: RawSpan, _ record: borrowing RecordView, to key: inout [UInt8]) throws(QueryError)
    -> Bool
  {
    guard shape != nil else { return false }
    let document = DocumentView(id, record)
    do throws(QueryError) {
      for column in columns {
        var scratch = ScalarScratch()
        let scalar = try column.scalar(0, document, &scratch)
        try column.appendKey(of: scalar, document, scratch, to: &key)
      }
    } catch {
      throw error.about(id)
    }
    return true
  }

  private func values(_ id: RawSpan, _ record: borrowing RecordView) throws(QueryError) -> [Value?] {
    var values: [Value?] = []
    values.reserveCapacity(columns.count)
    var bytes = Evaluator.producedBytes
    for column in columns { values.append(try column.evaluate(id, record, within: &bytes)) }
    return values
  }

  private func members(_ id: RawSpan, _ record: borrowing RecordView) throws(QueryError) -> [TextKey: Value] {
    var row: [TextKey: Value] = [:]
    var bytes = Evaluator.producedBytes
    for part in parts {
      switch part {
      case .document:
        do throws(CodecError) {
          row.merge(try record.fields(keys)) { $1 }
          row["_id"] = try DocumentID.decode(id)
        } catch {
          throw .unreadable(error)
        }
      case .without(let path): row.remove(path)
      case .column(let name, let column): row[name] = try column.evaluate(id, record, within: &bytes)
      }
    }
    return row
  }
}

extension Select.Projection {
  /// Whether the reader of a row can see its document: among columns alone, `_id` shows it.
  var namesDocuments: Bool {
    guard case .columns(let columns) = self else { return true }
    return columns.contains { $0.expression == .path([.key("_id")]) }
  }
}

extension [TextKey: Value] {
  /// Removes the value at a path of names, if there is one.
  mutating func remove(_ path: some Collection<PathComponent>) {
    guard case .key(let name)? = path.first else { return }
    let rest = path.dropFirst()
    guard !rest.isEmpty else {
      self[name] = nil
      return
    }
    guard case .map(var members)? = self[name] else { return }
    members.remove(rest)
    self[name] = .map(members)
  }
}
