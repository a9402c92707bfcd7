import CRDTCore

extension ReadTransaction {
  /// The indexes of a collection as the snapshot has them, oldest first.
  public borrowing func indexes(of collection: Collection) throws -> [IndexInfo] {
    try pages.indexes(of: collection.id)
  }

  /// Visits the rows of an index, in its order and then by ascending number, until `body` returns `false`.
  ///
  /// Every living document of the collection has one row, also one without the fields, which counts as
  /// MISSING. Where values are too long for a key, see ``IndexRow/isCut``.
  /// - Parameters:
  ///   - index: A ready one, as this transaction gave it.
  ///   - from: Where to begin; `nil` for the first row.
  ///   - to: Where to end; `nil` for the last row.
  ///   - reversed: Whether to go from the end to the beginning.
  ///   - body: Gets each row in place.
  /// - Throws: `indexNotReady`, `corrupt` for a damaged row; what `body` throws.
  /// - Complexity: O(log *n*) to find the range, O(1) for each row.
  public borrowing func forEachRow(
    in index: IndexInfo, from: IndexBound? = nil, to: IndexBound? = nil, reversed: Bool = false,
    _ body: (borrowing IndexRow) throws -> Bool
  ) throws {
    try index.checkReady()
    try pages.forEachRow(in: index, from: from, to: to, reversed: reversed, body)
  }

  /// Counts the rows of a range, but not further than `limit`: how narrow the range is.
  public borrowing func countRows(
    in index: IndexInfo, from: IndexBound? = nil, to: IndexBound? = nil, limit: Int
  ) throws -> Int {
    var count = 0
    guard limit > 0 else { return 0 }
    try forEachRow(in: index, from: from, to: to) { _ in
      count += 1
      return count < limit
    }
    return count
  }
}

extension WriteTransaction {
  /// The indexes of a collection, oldest first.
  public func indexes(of collection: Collection) throws -> [IndexInfo] {
    _ = try pages()
    settleIndexes()
    return withState { state in
      state.collections.first { $0.id == collection.id }?.indexes.compactMap(\.info) ?? []
    }
  }

  /// Visits the rows of an index, own writes included, until `body`, which cannot write, returns `false`.
  ///
  /// - Parameters:
  ///   - index: A ready one.
  ///   - from: Where to begin; `nil` for the first row.
  ///   - to: Where to end; `nil` for the last row.
  ///   - reversed: Whether to go from the end to the beginning.
  ///   - body: Gets each row in place.
  /// - Throws: `indexNotReady`, `corrupt` for a damaged row; what `body` throws.
  public func forEachRow(
    in index: IndexInfo, from: IndexBound? = nil, to: IndexBound? = nil, reversed: Bool = false,
    _ body: (borrowing IndexRow) throws -> Bool
  ) throws {
    try index.checkReady()
    try reading { pages in
      try pages.forEachRow(in: index, from: from, to: to, reversed: reversed, body)
    }
  }
}

extension IndexInfo {
  fileprivate func checkReady() throws(StoreError) {
    guard state == .ready else {
      throw StoreError(.indexNotReady, "The index \(definition.name) is still being built", operation: "read")
    }
  }
}

extension DocumentPages {
  /// The indexes of a collection on these pages.
  func indexes(of collection: UInt32) throws(StoreError) -> [IndexInfo] {
    if try access.entryCount(tables.indexes) == 0 { return [] }
    let names = try collections().sorted { $0.id < $1.id }.map(\.name)
    return try access.indexes(tables, names: names)
      .compactMap { $0.collection + 1 == Int(collection) ? $0.index.info : nil }
  }
}
