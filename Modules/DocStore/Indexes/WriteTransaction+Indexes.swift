import CRDTCore

extension WriteTransaction {
  /// Adds an index without rows; from now on every write maintains the part that is built.
  func createIndex(_ definition: IndexDefinition) throws -> UInt32 {
    try definition.check()
    let access = try pagesToWrite("createIndex")
    settleIndexes()
    return try withState { state in
      let collection = state.intern(definition.collection)
      let others = state.collections[collection].indexes.filter { $0.phase != .dropping }
      if others.contains(where: { $0.definition.name.isSame(as: definition.name) }) {
        throw StoreError(
          .indexExists,
          "The collection \(definition.collection) has an index called \(definition.name) already",
          operation: "createIndex")
      }
      guard others.count < IndexDefinition.maximumPerCollection else {
        throw StoreError(
          .limit, "A collection has at most \(IndexDefinition.maximumPerCollection) indexes",
          operation: "createIndex")
      }
      let number = try update { () throws(StoreError) in try state.drawIndexNumber(access, tables) }
      state.collections[collection].indexes.append(
        IndexState(number: number, definition: definition, phase: .building(next: .none)))
      return number
    }
  }

  /// Adds the rows of documents that have none yet, until `isTimeUp`.
  ///
  /// - Returns: The progress; `nil` if the index is complete.
  func extendIndex(_ number: UInt32, until isTimeUp: () -> Bool) throws -> IndexProgress? {
    let access = try pagesToWrite("createIndex")
    try flushRows(access)
    guard let (position, place) = withState({ $0.place(ofIndex: number) }) else {
      throw Self.droppedMeanwhile
    }
    repeat {
      let collection = withState { $0.collections[position] }
      guard case .building(let next) = collection.indexes[place].phase else {
        if collection.indexes[place].phase == .ready { return nil }
        throw Self.droppedMeanwhile
      }
      var piece = IndexPiece(collection.indexes[place], collection.collection)
      try piece.read(DocumentPages(access: access, tables: tables), from: next)
      try update { () throws(StoreError) in try piece.rows.flush(access, tables) }
      withState { state in
        state.collections[position].indexes[place].phase = piece.next.map { .building(next: $0) } ?? .ready
        state.collections[position].indexes[place].rowCount += piece.count
        state.collections[position].indexes[place].isDirty = true
        if piece.next == nil { state.noteIndexes(in: access.transactionNumber) }
      }
      if piece.next == nil { return nil }
    } while !isTimeUp()
    return withState { state in
      IndexProgress(
        indexed: Int(
          clamping: min(
            state.collections[position].indexes[place].rowCount, state.collections[position].aliveCount)),
        total: Int(clamping: state.collections[position].aliveCount))
    }
  }

  /// Drops an index for all transactions; ``removeRows(ofIndex:until:)`` removes its rows later.
  ///
  /// - Returns: Its number; `nil` if there is no such index.
  func dropIndex(_ matches: (IndexState) -> Bool, in collection: String) throws -> UInt32? {
    let access = try pagesToWrite("dropIndex")
    try flushRows(access)
    guard let position = index(of: collection) else { return nil }
    return withState { state in
      let indexes = state.collections[position].indexes
      guard let place = indexes.firstIndex(where: { $0.phase != .dropping && matches($0) }) else {
        return nil
      }
      state.collections[position].indexes[place].phase = .dropping
      if indexes[place].phase == .ready { state.noteIndexes(in: access.transactionNumber) }
      state.collections[position].indexes[place].isDirty = true
      return indexes[place].number
    }
  }

  /// Drops the ready indexes with matching numbers, and adds an equal one without rows for each.
  ///
  /// - Returns: The indexes that were dropped, and those that replace them.
  func replaceIndexes(
    numbered matches: (UInt32) -> Bool
  ) throws -> (dropped: [IndexState], made: [IndexState]) {
    let access = try pagesToWrite("createIndex")
    var (dropped, made): ([IndexState], [IndexState]) = ([], [])
    for position in withState({ $0.collections.indices }) {
      let damaged = withState { state in
        state.collections[position].indexes.filter { $0.phase == .ready && matches($0.number) }
      }
      for index in damaged {
        let fresh = try withState { state in
          let number = try update { () throws(StoreError) in try state.drawIndexNumber(access, tables) }
          let fresh = IndexState(number: number, definition: index.definition, phase: .building(next: .none))
          if let (_, place) = state.place(ofIndex: index.number) {
            state.collections[position].indexes[place].phase = .dropping
            state.collections[position].indexes[place].isDirty = true
          }
          state.collections[position].indexes.append(fresh)
          state.noteIndexes(in: access.transactionNumber)
          return fresh
        }
        dropped.append(index)
        made.append(fresh)
      }
    }
    return (dropped, made)
  }

  /// Removes rows of a dropped index, until `isTimeUp`.
  ///
  /// - Returns: Whether nothing is left of the index.
  func removeRows(ofIndex number: UInt32, until isTimeUp: () -> Bool) throws -> Bool {
    let access = try pagesToWrite("dropIndex")
    try flushRows(access)
    guard let (position, place) = withState({ $0.place(ofIndex: number) }) else { return true }
    var untilClock = 0
    let key = RowValue.prefix(number)
    return try update { () throws(StoreError) in
      let cursor = try RowCursor(access, tables.rows)
      let isEmpty = try cursor.removeAll(beginningWith: key.rawBytes) {
        untilClock += 1
        return untilClock % 64 != 0 || !isTimeUp()
      }
      guard isEmpty else { return false }
      try access.delete(tables.indexes, IndexState.key(number).rawBytes)
      try access.delete(tables.indexes, IndexStatistics.key(number).rawBytes)
      withState { state in _ = state.collections[position].indexes.remove(at: place) }
      return true
    }
  }

  // MARK: - In step with the documents

  /// Adds the row changes of a document that was just stored to the rows to be written.
  func note(_ maintainer: IndexMaintainer?, _ access: PageAccess) throws(StoreError) {
    guard let maintainer else { return }
    maintainer.apply(to: &rows)
    guard rows.isFull else { return }
    try update { () throws(StoreError) in try rows.flush(access, tables) }
  }

  /// Removes the rows of a document that is about to be removed; `path` is its key.
  func removeRows(of number: DocumentNumber, _ path: RawSpan, at index: Int, _ access: PageAccess) throws {
    guard let maintainer = maintainer(at: index) else { return }
    let pages = DocumentPages(access: access, tables: tables)
    var isReadable = false
    try withTables(of: index) { recordTables in
      _ = try pages.visitRow(path) { row in
        guard row.verify(for: path) else { return }
        let isAlive = RecordView(row.record).isAlive
        try maintainer.readOld(isAlive ? row.record : nil, number, recordTables.keys)
        isReadable = true
      }
    }
    if isReadable {
      try maintainer.readNew(nil, number, KeyTable())
      return try note(maintainer, access)
    }
    try update { () throws(StoreError) in try rows.flush(access, tables) }
    try maintainer.removeRows(of: number, access, tables)
  }

  private static var droppedMeanwhile: StoreError {
    StoreError(.indexNotFound, "The index was dropped while it was being built", operation: "createIndex")
  }
}

/// Consecutive documents whose index rows are computed before any row is written.
private struct IndexPiece {
  private let index: IndexState
  private let collection: Collection
  private var paths: [ResolvedPath]
  private var found = DocumentRows()
  var rows = IndexWriteBuffer()
  var count: UInt64 = 0
  /// The first document that is left; `nil` at the end of the collection.
  var next: DocumentNumber?

  /// The number of documents read before rows are written and the clock is checked.
  private static let documents = 500
  /// The same limit in bytes of records, because large documents take long to verify.
  private static let recordBytes = 4 << 20

  init(_ index: IndexState, _ collection: Collection) {
    self.index = index
    self.collection = collection
    paths = index.definition.fields.map { field in
      var path = ResolvedPath(field.path.map(PathComponent.key))
      path.resolve(in: collection.keys)
      return path
    }
  }

  mutating func read(_ pages: DocumentPages, from: DocumentNumber) throws {
    var documents = 0
    var recordBytes = 0
    try pages.forEachRow(collection, from: from, verify: true) { row in
      let record = RecordView(row.record)
      if documents == Self.documents || recordBytes > Self.recordBytes {
        next = row.number
        return false
      }
      documents += 1
      recordBytes += record.byteCount
      guard record.isAlive else { return true }
      found.removeAll()
      try found.append(index, paths, record, row.number, collection.keys)
      for row in 0..<found.count {
        found.withKey(row) { rows.append($0, found.values[row], isRemoval: false) }
      }
      count += UInt64(found.count)
      recordBytes += found.keyBytes
      return true
    }
  }
}
