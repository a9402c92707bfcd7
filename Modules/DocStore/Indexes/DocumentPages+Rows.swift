import CRDTCore

extension DocumentPages {
  /// Visits the rows of an index between two bounds until `body` returns `false`.
  func forEachRow(
    in index: IndexInfo, from: IndexBound?, to: IndexBound?, reversed: Bool,
    _ body: (borrowing IndexRow) throws -> Bool
  ) throws {
    let cursor = try RowCursor(access, tables.rows)
    let start = index.key(from, isEnd: false)
    let end = index.key(to, isEnd: true)
    try cursor.scan(from: start.rawBytes, to: end.rawBytes, reversed: reversed) { key, value in
      guard let row = IndexRow(key: key, value: value) else { throw Self.damagedRow(index.definition) }
      return try body(row)
    }
  }

  static func damagedRow(_ index: IndexDefinition) -> StoreError {
    StoreError(
      .corrupt,
      "A row of the index \(index.name) of the collection \(index.collection) is damaged; drop the index and "
        + "create it again", operation: "read")
  }
}
