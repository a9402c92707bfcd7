public import CRDTCore

/// The columns of one result's rows, in the order of the projection; the rows share it.
final class RowShape: Sendable {
  let names: [TextKey]

  init(_ names: [TextKey]) { self.names = names }
}

/// One row of a result: a document, or what a projection makes of it.
///
/// A document is kept as its record and decoded when its values are read. The columns of a projection are
/// evaluated when the row is made.
public struct Row: Sendable {
  private enum Content: Sendable {
    case record(Record, KeyTable)
    /// One value for each column of the shape.
    case columns(RowShape, [Value?])
    case values([TextKey: Value])
  }

  /// What the row is about, which distinguishes it from other rows with the same values.
  enum Subject: Hashable, Sendable {
    case nothing
    case document(DocumentID)
    /// A group, given by its keys.
    case group([ValueKey])
  }

  let subject: Subject
  private let content: Content

  init(_ id: DocumentID, _ record: Record, _ keys: KeyTable) {
    subject = .document(id)
    content = .record(record, keys)
  }

  init(_ shape: RowShape, _ values: [Value?], id: DocumentID? = nil) {
    subject = id.map { .document($0) } ?? .nothing
    content = .columns(shape, values)
  }

  init(_ values: [TextKey: Value], id: DocumentID? = nil) {
    subject = id.map { .document($0) } ?? .nothing
    content = .values(values)
  }

  private init(_ subject: Subject, _ content: Content) {
    self.subject = subject
    self.content = content
  }

  /// The id of the row's document; `nil` for rows without a document, such as a count.
  public var id: DocumentID? {
    if case .document(let id) = subject { id } else { nil }
  }

  /// The same row, as the row of a group.
  func standing(for group: [ValueKey]) -> Row { Row(.group(group), content) }

  /// The same row, without its document.
  var withoutDocument: Row {
    get throws(QueryError) {
      switch content {
      case .columns(let shape, let values): Row(shape, values)
      case .record, .values: Row(try values())
      }
    }
  }

  /// The row's columns by name; a missing value has no column.
  ///
  /// - Throws: `runtime` when a stored record is damaged.
  /// - Complexity: O(*n*) in the document's size, each time.
  public func values() throws(QueryError) -> [TextKey: Value] {
    switch content {
    case .values(let values): return values.mapValues { $0.holdsDecimal ? $0.withoutDecimals : $0 }
    case .columns(let shape, let columns):
      var values: [TextKey: Value] = [:]
      values.reserveCapacity(columns.count)
      for (name, value) in zip(shape.names, columns) {
        values[name] = value.map { $0.holdsDecimal ? $0.withoutDecimals : $0 }
      }
      return values
    case .record(let record, let keys):
      guard let id else { return [:] }
      do {
        var fields = try record.withView { (view) throws(CodecError) in try view.fields(keys) }
        fields["_id"] = id.value
        return fields
      } catch {
        throw .unreadable(error)
      }
    }
  }

  /// Appends the row's JSON text, a document's straight from its record.
  ///
  /// - Parameters:
  ///   - bytes: The text so far; unchanged if this throws.
  ///   - options: The form of the text.
  ///   - namesDocument: Whether the `_id` of a document is a member.
  ///   - limit: The number of bytes after which it may stop, with a text that is longer and not whole.
  /// - Throws: `runtime` when a stored record is damaged.
  /// - Complexity: O(*n*) in the document's size.
  package func writeJSON(
    to bytes: inout [UInt8], options: JSON.WriteOptions, namesDocument: Bool = true, atMost limit: Int = .max
  ) throws(QueryError) {
    // A character of a text takes up to six bytes in JSON.
    guard case .record(let record, let keys) = content, let id, record.bytes.count <= limit / 8 else {
      var values = try values()
      if !namesDocument { values["_id"] = nil }
      _ = JSON.write(.map(values), to: &bytes, atMost: limit, options: options)
      return
    }
    do {
      try record.withView { (view) throws(CodecError) in
        try JSON.write(view, id: namesDocument ? id : nil, keys: keys, to: &bytes, options: options)
      }
    } catch {
      throw .unreadable(error)
    }
  }

  /// The values of the columns in the order of the projection; `nil` for rows that have other contents.
  var columns: [Value?]? {
    switch content {
    case .columns(_, let values): values
    case .record, .values: nil
    }
  }

  /// The document as it is stored; `nil` for rows that are not documents.
  private var record: Record? {
    switch content {
    case .record(let record, _): record
    case .columns, .values: nil
    }
  }

  /// About the bytes of memory that the row uses.
  package var memoryBytes: Int {
    switch content {
    case .record(let record, _): 96 + record.bytes.count
    case .columns(_, let values): values.reduce(96) { $0 + ($1?.memoryBytes ?? 16) }
    case .values(let values): Value.map(values).memoryBytes
    }
  }

  /// Whether both rows show the same values; rows that cannot be read differ.
  func showsSame(as other: Row) -> Bool {
    if let record, record == other.record { return true }
    do { return try values() == other.values() } catch { return false }
  }
}
