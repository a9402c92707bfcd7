public import CRDTCore

/// One row of a result: a document, or what a projection makes of it.
///
/// The document's record is decoded when it is asked for, not before.
public struct Row: Sendable {
  private enum Content: Sendable {
    case record(Record, RowDecoder)
    case values([String: Value])
  }

  /// The document that the row stands for; `nil` for rows that stand for none, such as a count.
  public let id: DocumentID?
  private let content: Content

  init(_ id: DocumentID, _ record: Record, _ decoder: RowDecoder) {
    self.id = id
    content = .record(record, decoder)
  }

  /// Copies a document out of the store's memory.
  init(copying id: RawSpan, _ record: borrowing RecordView, _ decoder: RowDecoder) {
    self.init(
      DocumentID(copying: id), Record(copying: record), decoder)
  }

  init(_ values: [String: Value], id: DocumentID? = nil) {
    self.id = id
    content = .values(values)
  }

  /// The row's columns by name; a missing value has none.
  ///
  /// - Throws: `runtime` when a stored record is damaged or a column fails on it.
  /// - Complexity: O(*n*) in the document's size, each time.
  public func values() throws(QueryError) -> [String: Value] {
    switch content {
    case .values(let values): return values
    case .record(let record, let decoder):
      guard let id else { return [:] }
      return try decoder.values(id, record)
    }
  }

  /// The document as it is stored; `nil` for rows that are not documents.
  package var record: Record? {
    switch content {
    case .record(let record, _): record
    case .values: nil
    }
  }

  /// Whether both rows show the same values; rows that cannot be read differ.
  func showsSame(as other: Row) -> Bool {
    if let record, record == other.record { return true }
    do { return try values() == other.values() } catch { return false }
  }
}

/// What turns the records of one collection into a query's rows; rows share it.
final class RowDecoder: Sendable {
  private let keys: KeyTable
  private let columns: [ProjectedColumn]?

  init(_ projection: Select.Projection, _ keys: KeyTable) {
    self.keys = keys
    columns = ProjectedColumn.columns(of: projection)?.map { $0.resolved(keys) }
  }

  func values(_ id: DocumentID, _ record: Record) throws(QueryError) -> [String: Value] {
    try record.withView { (view) throws(QueryError) in try values(id, view) }
  }

  private func values(_ id: DocumentID, _ view: borrowing RecordView) throws(QueryError) -> [String: Value] {
    guard let columns else { return try document(id, view) }
    var values: [String: Value] = [:]
    for column in columns {
      let value = try column.expression.evaluate(id.bytes.span.bytes, view, keys)
      if let value { values[column.name] = value }
    }
    return values
  }

  private func document(_ id: DocumentID, _ view: borrowing RecordView) throws(QueryError) -> [String: Value]
  {
    do {
      var fields = try view.fields(keys)
      fields["_id"] = id.value
      return fields
    } catch {
      throw .unreadable(error)
    }
  }
}

/// A column of a projection, ready to be evaluated.
struct ProjectedColumn: Sendable {
  let name: String
  private(set) var expression: RecordExpression

  /// The columns of a projection; `nil` for whole documents and for counts.
  static func columns(of projection: Select.Projection) -> [ProjectedColumn]? {
    guard case .columns(let columns) = projection else { return nil }
    return columns.map { ProjectedColumn(name: $0.name, expression: RecordExpression($0.expression)) }
  }

  func resolved(_ keys: KeyTable) -> ProjectedColumn {
    var copy = self
    copy.expression.resolve(keys)
    return copy
  }
}

extension DocumentID {
  /// Copies an id out of the store's memory, where only canonical ones are.
  init(copying bytes: RawSpan) { self.init(trusted: unsafe bytes.withUnsafeBytes { unsafe Array($0) }) }
}
