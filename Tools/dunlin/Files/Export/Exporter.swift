import CRDTCore
import DocStore

/// Writes the documents of a collection, as one snapshot has them, without holding more than some of them.
struct Exporter {
  let format: FileFormat
  /// In place of the format's own.
  var delimiter: UInt8?
  /// Whether values that JSON has no type for lose it.
  var isPlain = false

  /// What an export came to.
  struct Outcome {
    var documents = 0
    /// Values that lost their type in plain JSON.
    var lostTypes = 0
    /// Values that were left out, since columns have nothing for null.
    var nulls = 0
    /// The types of the columns, to read the file with.
    var types: ColumnTypes?
  }

  private static let pieceBytes = 256 << 10

  /// Writes the documents of a collection.
  ///
  /// - Parameters:
  ///   - name: The collection, which must be there.
  ///   - store: The store.
  ///   - sink: Where to; it is not closed.
  ///   - progress: Called with how many are written, and how many there are.
  /// - Returns: What it came to.
  /// - Throws: What the store or the sink reports; a `ToolError` for documents that the format cannot hold.
  func write(
    _ name: String, of store: Store, to sink: ByteSink, progress: (Int, Int) -> Void
  ) throws -> Outcome {
    try store.read { transaction in
      guard let collection = try transaction.collection(name) else {
        throw ToolError("there is no collection \(name)")
      }
      let total =
        try transaction.collections().first { $0.name.isSame(as: name) }.map { Int($0.documentCount) } ?? 0
      var (outcome, plainer) = (Outcome(), PlainJSON())
      var layout = SeparatedLayout()
      func shown(_ fields: [TextKey: Value]) -> [TextKey: Value] {
        guard isPlain, case .map(let plain) = plainer.plain(.map(fields)) else { return fields }
        return plain
      }
      var writer: any DocumentWriter
      switch format {
      case .jsonl: writer = JSONLinesWriter(isLossless: !isPlain)
      case .json: writer = JSONArrayWriter(isLossless: !isPlain)
      case .csv, .tsv:
        try Self.forEachDocument(of: collection, in: transaction) { try layout.note(shown($0)) }
        plainer = PlainJSON()
        (outcome.nulls, outcome.types) = (layout.nullCount, layout.types)
        writer = SeparatedWriter(
          layout, delimiter: delimiter ?? format.delimiter ?? UInt8(ascii: ","), isLossless: !isPlain)
      }
      var out: [UInt8] = []
      writer.begin(&out)
      func passOn() throws {
        outcome.documents += 1
        guard out.count > Self.pieceBytes else { return }
        try sink.write(out)
        out.removeAll(keepingCapacity: true)
        progress(outcome.documents, total)
      }
      if !isPlain, var json = writer as? any JSONDocumentWriter {
        var object: [UInt8] = []
        try Self.forEachRecord(of: collection, in: transaction) { id, record in
          object.removeAll(keepingCapacity: true)
          try JSON.write(record, id: id, keys: collection.keys, to: &object, options: json.options)
          json.write(to: &out) { bytes, _ in bytes += object }
          try passOn()
        }
        writer = json
      } else {
        try Self.forEachDocument(of: collection, in: transaction) { fields in
          writer.write(shown(fields), to: &out)
          try passOn()
        }
      }
      writer.end(&out)
      try sink.write(out)
      outcome.lostTypes = plainer.lostCount
      return outcome
    }
  }

  private static func forEachDocument(
    of collection: Collection, in transaction: borrowing ReadTransaction,
    _ body: ([TextKey: Value]) throws -> Void
  ) throws {
    try forEachRecord(of: collection, in: transaction) { id, record in
      var fields = try record.fields(collection.keys)
      fields["_id"] = id.value
      try body(fields)
    }
  }

  private static func forEachRecord(
    of collection: Collection, in transaction: borrowing ReadTransaction,
    _ body: (DocumentID, borrowing RecordView) throws -> Void
  ) throws {
    try transaction.forEachRecord(in: collection) { id, _, record in
      guard record.isAlive else { return true }
      try body(try DocumentID(validating: id), record)
      return true
    }
  }
}
