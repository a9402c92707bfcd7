/// Reads side tables, in a snapshot, or in a write transaction including what that wrote.
package protocol SideReading: ~Copyable {
  /// Looks up a key of a side table.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - key: The key.
  ///   - ignoringDamage: Whether to treat a damaged entry as missing instead of throwing.
  /// - Returns: The value; `nil` if there is none.
  /// - Throws: `limit` for a key that is too long, `corrupt` for a damaged entry or page.
  borrowing func sideValue(
    _ table: SideTable, key: [UInt8], ignoringDamage: Bool
  ) throws(StoreError) -> [UInt8]?

  /// The number of entries in a side table, including damaged ones.
  ///
  /// - Complexity: O(1) for a working table; otherwise O(*n*).
  borrowing func sideEntryCount(_ table: SideTable) throws -> Int

  /// Visits entries of a side table in the order of their keys' bytes until `body` returns `false`.
  ///
  /// `body` cannot write.
  ///
  /// - Parameters:
  ///   - table: The table.
  ///   - from: The first key, included.
  ///   - damaged: Is called with the keys of damaged entries, which are then skipped; without it, the first
  ///     damaged entry is thrown.
  ///   - body: Is called with each key and value.
  /// - Throws: `limit`, `corrupt`; what `body` throws.
  borrowing func forEachSideEntry(
    _ table: SideTable, from: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws

  /// The same for the keys and the lengths of the values; the values are not read.
  ///
  /// If `reversed`, it goes from `from`, included, to the first key.
  borrowing func forEachSideKey(
    _ table: SideTable, from: [UInt8], reversed: Bool,
    _ body: (_ key: [UInt8], _ valueBytes: Int) throws -> Bool
  ) throws

  /// The same for the keys and the first bytes of the values; a shorter value is passed whole.
  ///
  /// The values are not verified.
  borrowing func forEachSideHead(
    _ table: SideTable, from: [UInt8], bytes: Int,
    _ body: (_ key: [UInt8], _ head: [UInt8]) throws -> Bool
  ) throws
}

extension SideReading where Self: ~Copyable {
  /// The value of a key in a side table; `nil` if there is none.
  ///
  /// - Throws: `limit` for a key that is too long, `corrupt` for a damaged entry or page.
  package borrowing func sideValue(_ table: SideTable, key: [UInt8]) throws(StoreError) -> [UInt8]? {
    try sideValue(table, key: key, ignoringDamage: false)
  }

  /// Visits entries from the first one, or from a key, and throws on the first damaged one.
  package borrowing func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try forEachSideEntry(table, from: from, damaged: nil, body)
  }

  /// Visits all entries, and calls `damaged` with the keys of damaged ones.
  package borrowing func forEachSideEntry(
    _ table: SideTable, damaged: ((_ key: [UInt8]) -> Void)?,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try forEachSideEntry(table, from: [], damaged: damaged, body)
  }

  /// Visits the keys from the first one, or from a key.
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
