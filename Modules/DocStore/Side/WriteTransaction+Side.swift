extension WriteTransaction {
  /// Sets the value of a key in a side table, or replaces it; `nil` removes the entry.
  ///
  /// A transaction that does nothing else makes no commit in the log, and calls no listener. The value is
  /// durable once the transaction has returned.
  /// - Throws: `limit`, before any change, for a key or a value that is too long, and for an empty key of a
  ///   working table; `full`, `io`.
  package func setSideValue(_ value: [UInt8]?, _ table: SideTable, key: [UInt8]) throws(StoreError) {
    let access = try pagesToWrite("setSideValue")
    let stored = try table.stored(key, "setSideValue")
    guard !stored.isEmpty else {
      throw StoreError(
        .limit, "A key of the side table \(table) is empty, and needs a byte", operation: "setSideValue")
    }
    let engineTable = table.engineTable.handle
    guard let value else {
      guard table.isWorking || access.knowsSide else { return }
      makesRoom = true
      _ = try update { () throws(StoreError) in try access.delete(engineTable, stored.rawBytes) }
      return
    }
    guard value.count <= SideTable.valueBytes else {
      throw StoreError(
        .limit,
        "A value of the side table \(table) has \(value.count) bytes, and \(SideTable.valueBytes) are allowed",
        operation: "setSideValue")
    }
    try update { () throws(StoreError) in
      if !table.isWorking, !access.knowsSide { try access.openSide(create: true) }
      try SmallRecord.put(value, at: stored, in: engineTable, access)
    }
  }

  /// Removes the entries of a side table from one key to another, both included.
  ///
  /// - Throws: `limit`; `corrupt` for a damaged page; `io`.
  package func removeSideEntries(
    _ table: SideTable, from first: [UInt8], through last: [UInt8]
  ) throws {
    _ = try table.stored(last, "removeSideEntries")
    var keys: [[UInt8]] = []
    try forEachSideKey(table, from: first) { key, _ in
      guard !last.lexicographicallyPrecedes(key) else { return false }
      keys.append(key)
      return true
    }
    for key in keys { try setSideValue(nil, table, key: key) }
  }

  /// Returns the store's own time (``LivedTime``) in milliseconds, and saves it with this transaction.
  package func lastingTime() throws(StoreError) -> UInt64 {
    _ = try pages()
    keepsTime = true
    return livedTime()
  }

  /// Returns whether a working table has room for `byteCount` more bytes.
  ///
  /// Its pages may use ``workingLimit``, and a tenth of the disk space that would be free without them.
  package func hasRoom(for byteCount: Int, in table: SideTable) throws(StoreError) -> Bool {
    precondition(table.isWorking, "the pages of \(table) are not counted by themselves")
    let access = try pages().access
    let taken = try access.pageCount(table.engineTable.handle) * access.pageBytes
    return taken + byteCount <= workingLimit && taken + byteCount <= (freeDiskBytes + taken) / 10
  }

  /// The approximate number of bytes that the pages of a working table may use.
  package var workingLimit: Int { settings.options.workingBytes }
}
