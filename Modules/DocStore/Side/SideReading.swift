/// What can be read of side tables, in a snapshot or in a write transaction with what that wrote.
package protocol SideReading: ~Copyable {
  /// Looks up a key of a side table.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - key: The key.
  ///   - ignoringDamage: Whether a damaged entry counts as none, and is not thrown.
  /// - Returns: The value; `nil` for nothing.
  /// - Throws: `limit` for a key that is too long, `corrupt` for a damaged entry or page.
  borrowing func sideValue(
    _ table: SideTable, key: [UInt8], ignoringDamage: Bool
  ) throws(StoreError) -> [UInt8]?

  /// How many entries a side table has, damaged ones included.
  ///
  /// - Complexity: O(1) for a working table; else O(*n*).
  borrowing func sideEntryCount(_ table: SideTable) throws -> Int

  /// Visits entries of a side table in the order of their keys' bytes until `body`, which cannot write, returns `false`.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - from: The first key, included.
  ///   - damaged: Gets the keys of damaged entries, which then are passed over; else the first of them is thrown.
  ///   - body: Gets each key and value.
  /// - Throws: `limit`, `corrupt`; what `body` throws.
  borrowing func forEachSideEntry(
    _ table: SideTable, from: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws

  /// The same for the keys and the lengths of the values, which are not read; reversed from `from`, included, to the first key.
  borrowing func forEachSideKey(
    _ table: SideTable, from: [UInt8], reversed: Bool,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws

  /// The same for the keys and the first bytes of the values, which are not checked; fewer where a value has fewer.
  borrowing func forEachSideHead(
    _ table: SideTable, from: [UInt8], bytes: Int,
    _ body: (_ key: [UInt8], _ head: [UInt8]) throws -> Bool
  ) throws
}

extension SideReading where Self: ~Copyable {
  /// What stands at a key of a side table; `nil` for nothing.
  ///
  /// - Throws: `limit` for a key that is too long, `corrupt` for a damaged entry or page.
  package borrowing func sideValue(_ table: SideTable, key: [UInt8]) throws(StoreError) -> [UInt8]? {
    try sideValue(table, key: key, ignoringDamage: false)
  }

  /// Visits entries from the first one on, or from a key on, and throws the first damaged one.
  package borrowing func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try forEachSideEntry(table, from: from, damaged: nil, body)
  }

  /// Visits all entries, and hands over the keys of damaged ones apart.
  package borrowing func forEachSideEntry(
    _ table: SideTable, damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try forEachSideEntry(table, from: [], damaged: damaged, body)
  }

  /// Visits the keys from the first one on, or from a key on.
  package borrowing func forEachSideKey(
    _ table: SideTable, from: [UInt8] = [], _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws {
    try forEachSideKey(table, from: from, reversed: false, body)
  }
}

extension ReadTransaction: SideReading {
  package borrowing func sideValue(
    _ table: SideTable, key: [UInt8], ignoringDamage: Bool
  ) throws(StoreError) -> [UInt8]? {
    try pages.sideValue(table, key, ignoringDamage: ignoringDamage, "sideValue")
  }

  package borrowing func sideEntryCount(_ table: SideTable) throws -> Int {
    try pages.sideEntryCount(table)
  }

  package borrowing func forEachSideEntry(
    _ table: SideTable, from: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    let reader = slot
    try pages.forEachSideEntry(table, from: from, "forEachSideEntry", damaged: damaged) { key, value in
      try reader.check()
      return try body(key, value)
    }
  }

  package borrowing func forEachSideKey(
    _ table: SideTable, from: [UInt8], reversed: Bool,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws {
    let reader = slot
    try pages.forEachSideKey(table, from: from, reversed: reversed, "forEachSideKey") { key, valueBytes in
      try reader.check()
      return try body(key, valueBytes)
    }
  }

  package borrowing func forEachSideHead(
    _ table: SideTable, from: [UInt8], bytes: Int,
    _ body: (_ key: [UInt8], _ head: [UInt8]) throws -> Bool
  ) throws {
    let reader = slot
    try pages.forEachSideHead(table, from: from, bytes: bytes, "forEachSideHead") { key, head in
      try reader.check()
      return try body(key, head)
    }
  }
}

extension WriteTransaction: SideReading {
  package func sideValue(
    _ table: SideTable, key: [UInt8], ignoringDamage: Bool
  ) throws(StoreError) -> [UInt8]? {
    try pages().sideValue(table, key, ignoringDamage: ignoringDamage, "sideValue")
  }

  package func sideEntryCount(_ table: SideTable) throws -> Int { try pages().sideEntryCount(table) }

  package func forEachSideEntry(
    _ table: SideTable, from: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try reading { try $0.forEachSideEntry(table, from: from, "forEachSideEntry", damaged: damaged, body) }
  }

  package func forEachSideKey(
    _ table: SideTable, from: [UInt8], reversed: Bool,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws {
    try reading { try $0.forEachSideKey(table, from: from, reversed: reversed, "forEachSideKey", body) }
  }

  package func forEachSideHead(
    _ table: SideTable, from: [UInt8], bytes: Int,
    _ body: (_ key: [UInt8], _ head: [UInt8]) throws -> Bool
  ) throws {
    try reading { try $0.forEachSideHead(table, from: from, bytes: bytes, "forEachSideHead", body) }
  }
}
