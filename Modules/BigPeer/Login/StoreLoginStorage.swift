#if Server
  import DocStore
  package import Facade

  /// The tables of logins as side tables of an application's store.
  ///
  /// They are in its transactions and its backups, and are never synced.
  package struct StoreLoginStorage: LoginStorage {
    private let store: DunlinStore

    package init(_ store: DunlinStore) { self.store = store }

    package func write(_ body: @escaping @Sendable (any LoginTables) throws -> Void) async throws {
      try await store.commit(hint: "logins") { transaction in try body(WritingTables(transaction)) }
    }

    package func read(_ body: (any LoginTables) throws -> Void) throws {
      try store.read(hint: "logins") { transaction in try body(ReadingTables(transaction)) }
    }
  }

  extension LoginTable {
    fileprivate var side: SideTable { SideTable(rawValue) }
  }

  private struct WritingTables: LoginTables {
    let transaction: DunlinWriteTransaction

    init(_ transaction: DunlinWriteTransaction) { self.transaction = transaction }

    func value(_ table: LoginTable, _ key: [UInt8]) throws -> [UInt8]? {
      try transaction.sideValue(table.side, key: key)
    }

    func set(_ value: [UInt8]?, _ table: LoginTable, _ key: [UInt8]) throws {
      try transaction.setSideValue(value, table.side, key: key)
    }

    func forEach(
      _ table: LoginTable, from key: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
      _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
    ) throws {
      try transaction.forEachSideEntry(table.side, from: key, damaged: damaged, body)
    }
  }

  private struct ReadingTables: LoginTables {
    let transaction: DunlinReadTransaction

    init(_ transaction: DunlinReadTransaction) { self.transaction = transaction }

    func value(_ table: LoginTable, _ key: [UInt8]) throws -> [UInt8]? {
      try transaction.sideValue(table.side, key: key)
    }

    func set(_ value: [UInt8]?, _ table: LoginTable, _ key: [UInt8]) throws {
      throw BigPeerError("a table of logins was to be changed in a transaction that reads")
    }

    func forEach(
      _ table: LoginTable, from key: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
      _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
    ) throws {
      try transaction.forEachSideEntry(table.side, from: key, damaged: damaged, body)
    }
  }
#endif
