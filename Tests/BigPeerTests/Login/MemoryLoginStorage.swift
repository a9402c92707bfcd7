#if Server
  import BigPeer
  import Synchronization

  /// Tables in memory, whose writes a test may have fail, and whose entries it may damage.
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

    private let damages = Mutex<[LoginTable: Set<[UInt8]>]>([:])
    private let visits = Mutex(0)

    /// How many entries readers have visited.
    var visitCount: Int { visits.withLock { $0 } }

    /// Has reading an entry fail until it is written again.
    func damage(_ table: LoginTable, _ key: [UInt8]) {
      _ = damages.withLock { $0[table, default: []].insert(key) }
    }

    func write(_ body: @escaping @Sendable (any LoginTables) throws -> Void) async throws {
      if fails { throw Failure() }
      try tables.withLock { tables in
        let transaction = MemoryTables(tables, damages.withLock { $0 })
        try body(transaction)
        tables = transaction.tables
        damages.withLock { $0 = transaction.damages }
      }
    }

    func read(_ body: (any LoginTables) throws -> Void) throws {
      let tables = tables.withLock { $0 }
      let transaction = MemoryTables(tables, damages.withLock { $0 })
      defer { visits.withLock { $0 += transaction.visitCount } }
      try body(transaction)
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
    var damages: [LoginTable: Set<[UInt8]>]
    private(set) var visitCount = 0

    init(_ tables: MemoryLoginStorage.Tables, _ damages: [LoginTable: Set<[UInt8]>]) {
      (self.tables, self.damages) = (tables, damages)
    }

    private func isDamaged(_ table: LoginTable, _ key: [UInt8]) -> Bool {
      damages[table]?.contains(key) == true
    }

    func value(_ table: LoginTable, _ key: [UInt8]) throws -> [UInt8]? {
      if isDamaged(table, key) { throw MemoryLoginStorage.Failure() }
      return tables[table]?[key]
    }

    func set(_ value: [UInt8]?, _ table: LoginTable, _ key: [UInt8]) {
      damages[table]?.remove(key)
      tables[table, default: [:]][key] = value
    }

    func forEach(
      _ table: LoginTable, from key: [UInt8], damaged: ((_ key: [UInt8]) -> Void)?,
      _ body: (_ key: [UInt8], _ value: [UInt8]) throws -> Bool
    ) throws {
      let entries = (tables[table] ?? [:]).filter { !$0.key.lexicographicallyPrecedes(key) }
      for (key, value) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
        visitCount += 1
        if isDamaged(table, key) {
          guard let damaged else { throw MemoryLoginStorage.Failure() }
          damaged(key)
          continue
        }
        guard try body(key, value) else { return }
      }
    }
  }
#endif
