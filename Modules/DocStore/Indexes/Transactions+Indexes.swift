import CRDTCore

extension ReadTransaction {
  /// The indexes of a collection as the snapshot has them, oldest first.
  public borrowing func indexes(of collection: Collection) throws -> [IndexInfo] {
    try pages.indexes(of: collection.id)
  }

  /// The indexes of a collection that answer queries, oldest first: not those of which damage was met.
  ///
  /// Nothing is read for it but where one changed after the snapshot; the counts of rows may be old ones.
  public borrowing func readyIndexes(of collection: Collection) throws -> [IndexInfo] {
    let ready =
      knowsIndexes
      ? catalogue.readyIndexes(of: collection.id)
      : try indexes(of: collection).filter { $0.state == .ready }
    return damagedIndexes.isEmpty ? ready : ready.filter { !damagedIndexes.includes($0.number) }
  }

  /// What names the collections, field names and ready indexes that the snapshot goes by.
  ///
  /// - Returns: The same for snapshots that go by the same; `nil` for one that is older than the newest, and while
  ///   damage keeps an index from answering.
  package var catalogueVersion: UInt64? {
    guard knowsIndexes, damagedIndexes.isEmpty || !catalogue.hasIndex(in: damagedIndexes) else { return nil }
    return catalogue.version
  }

  private var knowsIndexes: Bool { catalogue.knowsIndexes(of: number) }

  /// Documents of a collection that are neither removed nor evicted.
  public borrowing func documentCount(of collection: Collection) throws -> Int {
    try pages.documentCount(of: collection.id)
  }

  /// Hands `body` what reads an index and its documents, for as long as it runs.
  ///
  /// - Throws: `indexNotReady`; what `body` throws.
  public borrowing func withIndex<R>(
    _ index: IndexInfo, of collection: Collection, _ body: (borrowing IndexReader) throws -> R
  ) throws -> R {
    try index.checkReady()
    return try body(IndexReader(pages, index, collection, slot))
  }

  /// Hands `body` what reads documents by their numbers, for as long as it runs.
  public borrowing func withRecords<R>(
    of collection: Collection, _ body: (borrowing RecordReader) throws -> R
  ) throws -> R {
    try body(RecordReader(pages, collection, slot))
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
  /// The indexes of a collection that answer queries, oldest first; the counts of rows may be old ones.
  public func readyIndexes(of collection: Collection) throws -> [IndexInfo] {
    _ = try pages()
    let ready = withState { state in
      state.collections.first { $0.id == collection.id }?.readyIndexes ?? []
    }
    let damaged = settings.damagedIndexes
    return damaged.isEmpty ? ready : ready.filter { !damaged.includes($0.number) }
  }

  /// What a transaction that writes goes by may change at any time, so it has no version.
  package var catalogueVersion: UInt64? { nil }

  /// Documents of a collection that are neither removed nor evicted, own writes included.
  public func documentCount(of collection: Collection) throws -> Int {
    _ = try pages()
    return withState { state in
      Int(clamping: state.collections.first { $0.id == collection.id }?.aliveCount ?? 0)
    }
  }

  /// Hands `body`, which cannot write, what reads an index and its documents, own writes included.
  ///
  /// - Throws: `indexNotReady`; what `body` throws.
  public func withIndex<R>(
    _ index: IndexInfo, of collection: Collection, _ body: (borrowing IndexReader) throws -> R
  ) throws -> R {
    try index.checkReady()
    return try reading { pages in try body(IndexReader(pages, index, collection, nil)) }
  }

  /// Hands `body`, which cannot write, what reads documents by their numbers, own writes included.
  public func withRecords<R>(
    of collection: Collection, _ body: (borrowing RecordReader) throws -> R
  ) throws -> R {
    try reading { pages in try body(RecordReader(pages, collection, nil)) }
  }

  /// Counts the rows of a range, own writes included, but not further than `limit`.
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
  /// The count of a collection's living documents.
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
