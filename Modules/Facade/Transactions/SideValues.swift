package import DocStore

/// Side tables, which a module above keeps beside the documents, read in the same snapshot.
extension DunlinReadTransaction {
  /// The value at a key of a side table; `nil` if there is none.
  ///
  /// - Throws: `limit`, `corrupt`, `deadline`, `closed`.
  package func sideValue(_ table: SideTable, key: [UInt8]) throws -> [UInt8]? {
    try snapshot.read { try $0.sideValue(table, key: key) }
  }

  /// Visits entries of a side table in the order of their keys' bytes until `body` returns `false`.
  ///
  /// Damaged entries are skipped if `damaged` is given, which gets their keys.
  /// - Throws: `limit`, `corrupt`, `deadline`, `closed`; what `body` throws, as public errors.
  package func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], damaged: ((_ key: [UInt8]) -> Void)? = nil,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try snapshot.read { try $0.forEachSideEntry(table, from: from, damaged: damaged, body) }
  }
}

/// Side tables, which a module above keeps beside the documents, read and written in the same transaction.
extension DunlinWriteTransaction {
  /// The value at a key of a side table, with what the transaction wrote; `nil` if there is none.
  ///
  /// - Throws: `limit`, `corrupt`, `closed`.
  package func sideValue(_ table: SideTable, key: [UInt8]) throws -> [UInt8]? {
    try translatingErrors { try transaction.sideValue(table, key: key) }
  }

  /// Sets the value of a key in a side table, and replaces an earlier one; `nil` removes the entry.
  ///
  /// - Throws: `limit`, and then nothing is changed; `full`, `io`, `closed`.
  package func setSideValue(_ value: [UInt8]?, _ table: SideTable, key: [UInt8]) throws {
    try translatingErrors { try transaction.setSideValue(value, table, key: key) }
  }

  /// Visits entries of a side table in the order of their keys' bytes until `body` returns `false`.
  ///
  /// `body` cannot write. Damaged entries are skipped if `damaged` is given, which gets their keys.
  /// - Throws: `limit`, `corrupt`, `closed`; what `body` throws, as public errors.
  package func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], damaged: ((_ key: [UInt8]) -> Void)? = nil,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try translatingErrors { try transaction.forEachSideEntry(table, from: from, damaged: damaged, body) }
  }
}
