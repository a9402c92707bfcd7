import CLMDB
import CRDTCore

extension PageAccess {
  /// Whether the engine has opened the table `side`, in this transaction's view.
  var knowsSide: Bool {
    var flags: UInt32 = 0
    // SAFETY: the call fills the local value, and rejects a handle that is not in use.
    return unsafe mdb_dbi_flags(handle, StoreTable.side.handle, &flags) == MDB_SUCCESS
  }

  /// Whether the file has that table; for a snapshot, or a transaction that has not changed the table.
  var hasSide: Bool { unchanged(StoreTable.side.handle)?.roots[.side].isMissing == false }

  /// Opens the table `side`, which holds the side tables.
  ///
  /// - Parameter create: Whether to create it if there is none.
  /// - Throws: `io`, `full`.
  func openSide(create: Bool) throws(StoreError) {
    var table: MDB_dbi = 0
    // SAFETY: the name is read during the call only.
    let rc = unsafe mdb_dbi_open(handle, Tables.sideName, create ? UInt32(MDB_CREATE) : 0, &table)
    if rc == MDB_NOTFOUND, !create { return }
    try StoreError.check(rc, "mdb_dbi_open")
    // Its name is the last one, and the engine numbers tables in the order of opening.
    guard table == StoreTable.side.handle else { throw Tables.numberedOtherwise }
  }
}

extension DocumentPages {
  /// The value of a key in a side table.
  func sideValue(
    _ table: SideTable, _ key: [UInt8], ignoringDamage: Bool, _ operation: String
  ) throws(StoreError) -> [UInt8]? {
    let stored = try table.stored(key, operation)
    // The engine does not allow an empty key.
    guard !stored.isEmpty, isReadable(table) else { return nil }
    do {
      return try access.withValue(table.engineTable.handle, stored.rawBytes) { value in
        if ignoringDamage, !SmallRecord.isIntact(value, at: stored.rawBytes) { return nil }
        return try SmallRecord.open(value, at: stored.rawBytes, table: table.engineTable.name)
      } ?? nil
    } catch {
      throw (error as? StoreError) ?? SmallRecord.damaged(table.engineTable.name)
    }
  }

  /// The number of entries in a side table.
  func sideEntryCount(_ table: SideTable) throws -> Int {
    if table.isWorking { return try access.entryCount(table.engineTable.handle) }
    var count = 0
    try forEachSideKey(table, from: [], reversed: false, "sideEntryCount") { _, _ in
      count += 1
      return true
    }
    return count
  }

  /// Visits entries of a side table in the order of their keys until `body` returns `false`.
  func forEachSideEntry(
    _ table: SideTable, from key: [UInt8], _ operation: String, damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try scan(table, from: key, operation) { key, stored, value in
      if let damaged, !SmallRecord.isIntact(value, at: stored) {
        damaged(key)
        return true
      }
      return try body(key, SmallRecord.open(value, at: stored, table: table.engineTable.name))
    }
  }

  /// Visits the keys of a side table, with any values, until `body` returns `false`.
  ///
  /// The visit goes from `key` to the last key, or, if `reversed`, to the first one.
  func forEachSideKey(
    _ table: SideTable, from key: [UInt8], reversed: Bool, _ operation: String,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws {
    try scan(table, from: key, reversed: reversed, operation) { key, _, value in
      try body(key, value.byteCount - SmallRecord.checkBytes)
    }
  }

  /// The same with the first bytes of the values, which are not verified.
  func forEachSideHead(
    _ table: SideTable, from key: [UInt8], bytes: Int, _ operation: String,
    _ body: (_ key: [UInt8], _ head: [UInt8]) throws -> Bool
  ) throws {
    try scan(table, from: key, operation) { key, _, value in
      let count = min(bytes, max(value.byteCount - SmallRecord.checkBytes, 0))
      return try body(key, value.extracting(0..<count).copied)
    }
  }

  private func scan(
    _ table: SideTable, from key: [UInt8], reversed: Bool = false, _ operation: String,
    _ body: (_ key: [UInt8], _ stored: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    let start = try table.stored(key, operation)
    guard isReadable(table) else { return }
    func visit(_ stored: RawSpan, _ value: RawSpan) throws -> Bool {
      guard let key = table.key(stored) else { return false }
      return try body(key, stored, value)
    }
    let engineTable = table.engineTable.handle
    guard reversed else { return try access.scan(engineTable, from: start.rawBytes, visit) }
    // The end is excluded; no key is between this one and the same bytes with a zero behind them.
    let end = start + [0]
    try TablePlace(access, engineTable)
      .scan(from: table.prefix.rawBytes, to: end.rawBytes, reversed: true) { key, value, _ in
        try visit(key, value)
      }
  }

  /// Whether the table of a side table can be read in this transaction.
  ///
  /// A failed transaction that created the table `side` leaves none. The next transaction may build on the
  /// same commit.
  private func isReadable(_ table: SideTable) -> Bool {
    table.isWorking || access.unchanged(tables.side) != nil || access.knowsSide
  }
}
