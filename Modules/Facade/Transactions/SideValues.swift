package import DocStore

/// What a module above keeps beside the documents, read in the same snapshot.
extension DunlinReadTransaction {
  /// What stands at a key of a side table; `nil` for nothing.
  ///
  /// - Throws: `limit`, `corrupt`, `deadline`, `closed`.
  package func sideValue(_ table: SideTable, key: [UInt8]) throws -> [UInt8]? {
    try snapshot.read { try $0.sideValue(table, key: key) }
  }

  /// Visits entries of a side table in the order of their keys' bytes until `body` returns `false`.
  ///
  /// Damaged entries are passed over where somebody takes their keys.
  /// - Throws: `limit`, `corrupt`, `deadline`, `closed`; what `body` throws, by its public name.
  package func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], damaged: ((_ key: [UInt8]) -> Void)? = nil,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try snapshot.read { try $0.forEachSideEntry(table, from: from, damaged: damaged, body) }
  }
}

/// What a module above keeps beside the documents, read and written in the same transaction.
extension DunlinWriteTransaction {
  /// What stands at a key of a side table, with what the transaction wrote; `nil` for nothing.
  ///
  /// - Throws: `limit`, `corrupt`, `closed`.
  package func sideValue(_ table: SideTable, key: [UInt8]) throws -> [UInt8]? {
    try translatingErrors { try transaction.sideValue(table, key: key) }
  }

  /// Sets the value of a key in a side table, and replaces an earlier one; `nil` removes the entry.
  ///
  /// - Throws: `limit` with nothing done; `full`, `io`, `closed`.
  package func setSideValue(_ value: [UInt8]?, _ table: SideTable, key: [UInt8]) throws {
    try translatingErrors { try transaction.setSideValue(value, table, key: key) }
  }

  /// Visits entries of a side table in the order of their keys' bytes until `body`, which cannot write, returns `false`.
  ///
  /// Damaged entries are passed over where somebody takes their keys.
  /// - Throws: `limit`, `corrupt`, `closed`; what `body` throws, by its public name.
  package func forEachSideEntry(
    _ table: SideTable, from: [UInt8] = [], damaged: ((_ key: [UInt8]) -> Void)? = nil,
    _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
  ) throws {
    try translatingErrors { try transaction.forEachSideEntry(table, from: from, damaged: damaged, body) }
  }
}

/// The same for a transaction whose calls are awaited.
extension DunlinTransaction {
  /// What stands at a key of a side table, with what the transaction wrote; `nil` for nothing.
  ///
  /// - Throws: `limit`, `corrupt`, `deadline`, `closed`, `cancelled`.
  package func sideValue(_ table: SideTable, key: [UInt8]) async throws -> [UInt8]? {
    do {
      return switch access {
      case .writing(let writer): try await writer.run { try $0.sideValue(table, key: key) }
      case .reading(let snapshot): try await snapshot.read { try $0.sideValue(table, key: key) }
      }
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// Sets the value of a key in a side table, and replaces an earlier one; `nil` removes the entry.
  ///
  /// - Throws: `readOnlyTransaction`, `limit`, `full`, `io`, `deadline`, `closed`, `cancelled`.
  package func setSideValue(_ value: [UInt8]?, _ table: SideTable, key: [UInt8]) async throws {
    guard case .writing(let writer) = access else {
      throw DunlinError.readOnlyTransaction("setSideValue writes", hint)
    }
    do {
      try await writer.run { try $0.setSideValue(value, table, key: key) }
    } catch {
      throw DunlinError.translating(error)
    }
  }
}
