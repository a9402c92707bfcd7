#if Server
  import BigPeer
  import Synchronization

  /// Tables in memory, whose writes a test may have fail.
  final class MemoryLoginStorage: LoginStorage {
    struct Failure: Error {}

    fileprivate typealias Tables = [LoginTable: [[UInt8]: [UInt8]]]

    private let tables = Mutex(Tables())
    private let failing = Mutex(false)

    /// Whether writes fail.
    var fails: Bool {
      get { failing.withLock { $0 } }
      set { failing.withLock { $0 = newValue } }
    }

    func write(_ body: @escaping @Sendable (any LoginTables) throws -> Void) async throws {
      if fails { throw Failure() }
      try tables.withLock { tables in
        let transaction = MemoryTables(tables)
        try body(transaction)
        tables = transaction.tables
      }
    }

    func read(_ body: (any LoginTables) throws -> Void) throws {
      let tables = tables.withLock { $0 }
      try body(MemoryTables(tables))
    }

    /// Puts a value at a key, right or wrong.
    func set(_ value: [UInt8], _ table: LoginTable, _ key: [UInt8]) {
      tables.withLock { $0[table, default: [:]][key] = value }
    }

    /// All that stands in it, as text as far as it is some.
    var text: String {
      tables.withLock { tables in
        tables.values.flatMap(\.values).map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
      }
    }

    func count(_ table: LoginTable) -> Int { tables.withLock { $0[table]?.count ?? 0 } }
  }

  private final class MemoryTables: LoginTables {
    var tables: MemoryLoginStorage.Tables

    init(_ tables: MemoryLoginStorage.Tables) { self.tables = tables }

    func value(_ table: LoginTable, _ key: [UInt8]) -> [UInt8]? { tables[table]?[key] }

    func set(_ value: [UInt8]?, _ table: LoginTable, _ key: [UInt8]) {
      tables[table, default: [:]][key] = value
    }

    func forEach(
      _ table: LoginTable, from key: [UInt8], _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
    ) throws {
      let entries = (tables[table] ?? [:]).filter { !$0.key.lexicographicallyPrecedes(key) }
      for (key, value) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        guard try body(key, value) else { return }
      }
    }
  }
#endif
