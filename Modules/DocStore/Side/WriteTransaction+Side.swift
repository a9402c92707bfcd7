extension WriteTransaction {
  /// Writes a value at a key of a side table, in place of what may stand there; `nil` removes it.
  ///
  /// That alone makes the transaction no commit of the log's, and no listener hears of it. It is durable all the same once the
  /// transaction has returned.
  /// - Throws: `limit` for a key or a value that is too long, and for an empty key of a working table, with nothing done;
  ///   `full`, `io`.
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

  /// The time that the store has lived through, in milliseconds; it lasts with this transaction, for entries that bear it.
  package func lastingTime() throws(StoreError) -> UInt64 {
    _ = try pages()
    keepsTime = true
    return livedTime()
  }

  /// Whether a working table may take so many bytes more.
  ///
  /// Its pages may come to ``workingLimit``, and to a tenth of what would be free on the disk without them.
  package func hasRoom(for byteCount: Int, in table: SideTable) throws(StoreError) -> Bool {
    precondition(table.isWorking, "the pages of \(table) are not counted by themselves")
    let taken = try pages().access.pageCount(table.engineTable.handle) * Environment.pageBytes
    return taken + byteCount <= workingLimit && taken + byteCount <= (freeDiskBytes + taken) / 10
  }

  /// Bytes that the pages of a working table may take, about.
  package var workingLimit: Int { settings.options.workingBytes }
}
