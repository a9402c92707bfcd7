import CRDTCore

extension ReadTransaction {
  /// The indexes of a collection in the snapshot, oldest first.
  public borrowing func indexes(of collection: Collection) throws -> [IndexInfo] {
    try pages.indexes(of: collection.id)
  }

  /// The indexes of a collection that answer queries, oldest first, without those known to be damaged.
  ///
  /// Nothing is read from pages unless an index changed after the snapshot. The row counts may be stale.
  public borrowing func readyIndexes(of collection: Collection) throws -> [IndexInfo] {
    let ready =
      knowsIndexes
      ? catalogue.readyIndexes(of: collection.id)
      : try indexes(of: collection).filter { $0.state == .ready }
    return damagedIndexes.isEmpty ? ready : ready.filter { !damagedIndexes.includes($0.number) }
  }

  /// The version of the collections, field names and ready indexes that the snapshot uses.
  ///
  /// - Returns: Equal versions for snapshots that use the same ones. `nil` for a snapshot older than the
  ///   newest indexes, and while damage keeps an index from answering queries.
  package var catalogueVersion: UInt64? {
    guard knowsIndexes, damagedIndexes.isEmpty || !catalogue.hasIndex(in: damagedIndexes) else { return nil }
    return catalogue.version
  }

  private var knowsIndexes: Bool { catalogue.knowsIndexes(of: number) }

  /// The number of documents in a collection that are neither removed nor evicted.
  public borrowing func documentCount(of collection: Collection) throws -> Int {
    try pages.documentCount(of: collection.id)
  }

  /// Passes `body` a reader for an index and its documents, valid until `body` returns.
  ///
  /// - Throws: `indexNotReady`; what `body` throws.
  public borrowing func withIndex<R>(
    _ index: IndexInfo, of collection: Collection, _ body: (borrowing IndexReader) throws -> R
  ) throws -> R {
    try index.checkReady()
    return try body(IndexReader(pages, index, collection, slot))
  }

  /// Passes `body` a reader for documents by their numbers, valid until `body` returns.
  public borrowing func withRecords<R>(
    of collection: Collection, _ body: (borrowing RecordReader) throws -> R
  ) throws -> R {
    try body(RecordReader(pages, collection, slot))
  }

  /// Visits the rows of an index in its order, then by ascending number, until `body` returns `false`.
  ///
  /// Every living document of the collection has one row, even if it lacks the fields: these count as
  /// MISSING. If values are too long for a key, see ``IndexRow/isCut``.
  /// - Parameters:
  ///   - index: A ready index that this transaction returned.
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

  /// Counts the rows of a range up to `limit`, to find out how narrow the range is.
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
  /// The indexes of a collection that answer queries, oldest first; the row counts may be stale.
  public func readyIndexes(of collection: Collection) throws -> [IndexInfo] {
    _ = try pages()
    let ready = withState { state in
      state.collections.first { $0.id == collection.id }?.readyIndexes ?? []
    }
    let damaged = settings.damagedIndexes
    return damaged.isEmpty ? ready : ready.filter { !damaged.includes($0.number) }
  }

  /// Always `nil`: the catalogue of a write transaction may change at any time, so it has no version.
  package var catalogueVersion: UInt64? { nil }

  /// The number of documents that are neither removed nor evicted, including own writes.
  public func documentCount(of collection: Collection) throws -> Int {
    _ = try pages()
    return withState { state in
      Int(clamping: state.collections.first { $0.id == collection.id }?.aliveCount ?? 0)
    }
  }

  /// Passes `body` a reader for an index and its documents, including own writes; `body` cannot write.
  ///
  /// - Throws: `indexNotReady`; what `body` throws.
  public func withIndex<R>(
    _ index: IndexInfo, of collection: Collection, _ body: (borrowing IndexReader) throws -> R
  ) throws -> R {
    try index.checkReady()
    return try reading { pages in try body(IndexReader(pages, index, collection, nil)) }
  }

  /// Passes `body` a reader for documents by number, including own writes; `body` cannot write.
  public func withRecords<R>(
    of collection: Collection, _ body: (borrowing RecordReader) throws -> R
  ) throws -> R {
    try reading { pages in try body(RecordReader(pages, collection, nil)) }
  }

  /// Counts the rows of a range up to `limit`, including own writes.
  public func countRows(
    in index: IndexInfo, from: IndexBound? = nil, to: IndexBound? = nil, limit: Int
  ) throws -> Int {
    try index.checkReady()
    return try reading { pages in
      var count = 0
      guard limit > 0 else { return 0 }
      try pages.forEachRow(in: index, from: from, to: to, reversed: false) { _ in
        count += 1
        return count < limit
      }
      return count
    }
  }

  /// The indexes of a collection, oldest first.
  public func indexes(of collection: Collection) throws -> [IndexInfo] {
    _ = try pages()
    settleIndexes()
    return withState { state in
      state.collections.first { $0.id == collection.id }?.indexes.compactMap(\.info) ?? []
    }
  }

  /// Visits the rows of an index, including own writes, until `body` returns `false`.
  ///
  /// `body` cannot write.
  /// - Parameters:
  ///   - index: A ready index.
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
  /// The number of a collection's living documents.
  func documentCount(of collection: UInt32) throws(StoreError) -> Int {
    var key = ByteWriter(capacity: 4)
    key.writeFixed(collection)
    let count = try access.small(key.bytes, in: tables.collections, "collections") {
      reader throws(CodecError) in
      try reader.readFixed(as: UInt64.self)
    }
    return Int(clamping: count ?? 0)
  }

  /// The indexes of a collection on these pages.
  func indexes(of collection: UInt32) throws(StoreError) -> [IndexInfo] {
    if try access.entryCount(tables.indexes) == 0 { return [] }
    let names = try collections().sorted { $0.id < $1.id }.map(\.name)
    return try access.indexes(tables, names: names)
      .compactMap { $0.collection + 1 == Int(collection) ? $0.index.info : nil }
  }
}
