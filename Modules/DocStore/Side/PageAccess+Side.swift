import CLMDB
import CRDTCore

extension PageAccess {
  /// Whether the engine knows the table of the side tables, as this transaction sees it.
  var knowsSide: Bool {
    var flags: UInt32 = 0
    // SAFETY: the call fills the local value, and refuses a handle that is not in use.
    return unsafe mdb_dbi_flags(handle, StoreTable.side.handle, &flags) == MDB_SUCCESS
  }

  /// Whether the file has that table; for a snapshot, and a transaction that has not changed it.
  var hasSide: Bool { unchanged(StoreTable.side.handle)?.roots[.side].isMissing == false }

  /// Opens the table of the side tables.
  ///
  /// - Parameter create: Whether it is made where there is none.
  /// - Throws: `io`, `full`.
  func openSide(create: Bool) throws(StoreError) {
    var table: MDB_dbi = 0
    // SAFETY: the name is read during the call only.
    let rc = unsafe mdb_dbi_open(handle, Tables.sideName, create ? UInt32(MDB_CREATE) : 0, &table)
    if rc == MDB_NOTFOUND, !create { return }
    try StoreError.check(rc, "mdb_dbi_open")
    // It is the last of the names, and the engine counts on from those before.
    guard table == StoreTable.side.handle else {
      throw StoreError(.io, "The engine numbers its tables in another way", operation: "mdb_dbi_open")
    }
  }
}

extension DocumentPages {
  /// What stands at a key of a side table.
  func sideValue(_ table: SideTable, _ key: [UInt8], _ operation: String) throws(StoreError) -> [UInt8]? {
    let stored = try table.stored(key, operation)
    guard isSideReadable else { return nil }
    do {
      return try access.withValue(tables.side, stored.rawBytes) { value in
        try SmallRecord.open(value, at: stored.rawBytes, table: "side")
      }
    } catch {
      throw (error as? StoreError) ?? SmallRecord.damaged("side")
    }
  }

  /// Visits entries of a side table in the order of their keys until `body` returns `false`.
  func forEachSideEntry(
    _ table: SideTable, from key: [UInt8], _ operation: String, damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    let start = try table.stored(key, operation)
    guard isSideReadable else { return }
    try access.scan(tables.side, from: start.rawBytes) { stored, value in
      guard let key = table.key(stored) else { return false }
      if let damaged, !SmallRecord.isIntact(value, at: stored) {
        damaged(key)
        return true
      }
      return try body(key, SmallRecord.open(value, at: stored, table: "side"))
    }
  }

  /// Visits the keys of a side table, whatever their values are, until `body` returns `false`: from `key` to the last one, or
  /// to the first one.
  func forEachSideKey(
    _ table: SideTable, from key: [UInt8], reversed: Bool, _ operation: String,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws {
    let start = try table.stored(key, operation)
    guard isSideReadable else { return }
    func visit(_ stored: RawSpan, _ value: RawSpan) throws -> Bool {
      guard let key = table.key(stored) else { return false }
      return try body(key, value.byteCount - SmallRecord.checkBytes)
    }
    guard reversed else { return try access.scan(tables.side, from: start.rawBytes, visit) }
    // The end is left out, and no key is between this one and the next greater text.
    let end = start + [0]
    try TablePlace(access, tables.side)
      .scan(from: table.prefix.rawBytes, to: end.rawBytes, reversed: true) { key, value, _ in
        try visit(key, value)
      }
  }

  /// A transaction that was to make the table and failed leaves none, and the next one may have the same commit below.
  private var isSideReadable: Bool { access.unchanged(tables.side) != nil || access.knowsSide }
}
