import CRDTCore
import DocStore
import Failpoints

/// Reads the fields of an index from its rows.
///
/// Where a row does not have all of them, it reads the document.
struct IndexCover {
  private let fields: [IndexField]
  private let resolved: [ResolvedField]
  private let keys: KeyTable
  private let filter: FrameExpression?
  /// Whether the filter accepts the documents of all rows except cut ones.
  private let isExact: Bool
  /// The values of the row that was read last.
  private(set) var values: Frame

  init(_ index: IndexInfo, _ plan: Plan, _ keys: KeyTable, _ context: StatementContext) {
    fields = index.definition.fields
    self.keys = keys
    resolved = fields.map { field in
      var resolved = ResolvedField(field.path.map(PathComponent.key))
      resolved.resolve(keys)
      return resolved
    }
    filter = plan.filter.map { FrameExpression($0.onRows(of: index.definition), context) }
    isExact = plan.coversFilter
    values = Frame(repeating: nil, count: fields.count)
  }

  /// Reads a row.
  ///
  /// - Returns: Whether the filter accepts its document.
  mutating func read(_ row: borrowing IndexRow, _ reader: borrowing IndexReader) throws -> Bool {
    if row.read(fields, into: &values) {
      return try isExact || QueryDefect.coveringUnfiltered.isPlanted || filter?.accepts(values) ?? true
    }
    var found = values
    let isAlive = try reader.records.withRecord(numbered: row.document) { id, record in
      guard record.isAlive else { return false }
      for place in resolved.indices { found[place] = try resolved[place].value(id, record, keys) }
      return true
    }
    values = found
    guard isAlive == true else { return false }
    return try filter?.accepts(values) ?? true
  }

  /// The value at a path of the documents.
  func value(at place: (field: Int, rest: FieldPath)) -> Value? {
    place.rest.isEmpty ? values[place.field] : values[place.field]?.value(at: place.rest)
  }
}

extension Plan {
  /// Calls `body` with the fields of the index, until it returns `false`.
  ///
  /// There is one call for each document that the filter accepts.
  func forEachCovered(
    in source: borrowing some RecordSource & ~Copyable, place: Int = 0, _ collection: DocStore.Collection,
    _ context: StatementContext,
    _ body: (_ cover: borrowing IndexCover, _ isCut: Bool) throws -> Bool
  ) throws {
    guard case .index(let scan) = access else { return }
    var pace = try ScanPace(context)
    var cover = IndexCover(scan.index, self, collection.keys, context)
    var meter = ScanMeter(context, source: place)
    defer { meter.finish() }
    try source.withIndex(scan.index, of: collection) { reader in
      try scan.forEachRow(reader) { row in
        try pace.step()
        let isAccepted = try cover.read(row, reader)
        meter.count(isAccepted: isAccepted)
        guard isAccepted else { return true }
        meter.pause()
        defer { meter.resume() }
        return try body(cover, row.isCut)
      }
    }
  }
}
