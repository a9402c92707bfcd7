extension ReadTransaction {
  /// What stands at a key of a side table; `nil` for nothing.
  ///
  /// - Throws: `limit` for a key that is too long, `corrupt` for a damaged entry.
  package borrowing func sideValue(_ table: SideTable, key: [UInt8]) throws(StoreError) -> [UInt8]? {
    try pages.sideValue(table, key, "sideValue")
  }

  /// Visits entries of a side table in the order of their keys' bytes until `body` returns `false`.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - from: The first key, included; by default the first there is.
  ///   - damaged: Gets the keys of damaged entries, which then are passed over; else the first of them is thrown.
  ///   - body: Gets each key and value.
  /// - Throws: `limit`, `corrupt`; what `body` throws.
  package borrowing func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], damaged: ((_ key: [UInt8]) -> Void)? = nil,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    let reader = slot
    try pages.forEachSideEntry(table, from: from, "forEachSideEntry", damaged: damaged) { key, value in
      try reader.check()
      return try body(key, value)
    }
  }

  /// The same for the keys and the lengths of the values, which are not read; reversed from `from`, included, to the first key.
  package borrowing func forEachSideKey(
    _ table: SideTable, from: [UInt8] = [], reversed: Bool = false,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws {
    let reader = slot
    try pages.forEachSideKey(table, from: from, reversed: reversed, "forEachSideKey") { key, valueBytes in
      try reader.check()
      return try body(key, valueBytes)
    }
  }
}

extension WriteTransaction {
  /// What stands at a key of a side table, with what this transaction wrote; `nil` for nothing.
  ///
  /// - Throws: `limit` for a key that is too long, `corrupt` for a damaged entry.
  package func sideValue(_ table: SideTable, key: [UInt8]) throws(StoreError) -> [UInt8]? {
    try pages().sideValue(table, key, "sideValue")
  }

  /// Visits entries of a side table in the order of their keys' bytes until `body`, which cannot write, returns `false`.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - from: The first key, included; by default the first there is.
  ///   - damaged: Gets the keys of damaged entries, which then are passed over; else the first of them is thrown.
  ///   - body: Gets each key and value.
  /// - Throws: `limit`, `corrupt`; what `body` throws.
  package func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], damaged: ((_ key: [UInt8]) -> Void)? = nil,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try reading { try $0.forEachSideEntry(table, from: from, "forEachSideEntry", damaged: damaged, body) }
  }

  /// The same for the keys and the lengths of the values, which are not read; reversed from `from`, included, to the first key.
  package func forEachSideKey(
    _ table: SideTable, from: [UInt8] = [], reversed: Bool = false,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws {
    try reading { try $0.forEachSideKey(table, from: from, reversed: reversed, "forEachSideKey", body) }
  }

  /// Writes a value at a key of a side table, in place of what may stand there; `nil` removes it.
  ///
  /// That alone makes the transaction no commit of the log's, and no listener hears of it. It is durable all the same once the
  /// transaction has returned.
  /// - Throws: `limit` for a key or a value that is too long, with nothing done; `full`, `io`.
  package func setSideValue(_ value: [UInt8]?, _ table: SideTable, key: [UInt8]) throws(StoreError) {
    let access = try pagesToWrite("setSideValue")
    let stored = try table.stored(key, "setSideValue")
    guard let value else {
      guard access.knowsSide else { return }
      makesRoom = true
      _ = try update { () throws(StoreError) in try access.delete(tables.side, stored.rawBytes) }
      return
    }
    guard value.count <= SideTable.valueBytes else {
      throw StoreError(
        .limit,
        "A value of the side table \(table) has \(value.count) bytes, and \(SideTable.valueBytes) are allowed",
        operation: "setSideValue")
    }
    try update { () throws(StoreError) in
      if !access.knowsSide { try access.openSide(create: true) }
      try SmallRecord.put(value, at: stored, in: tables.side, access)
    }
  }
}
