import CLMDB

/// The named tables of a store; `Documentation/FileFormat.md` has their keys and values.
struct Tables: Sendable {
  let meta: MDB_dbi
  let collections: MDB_dbi
  let keys: MDB_dbi
  let sites: MDB_dbi
  let siteRuns: MDB_dbi
  let ids: MDB_dbi
  let recent: MDB_dbi
  let documents: MDB_dbi
  let log: MDB_dbi
  let oversize: MDB_dbi
  let indexes: MDB_dbi
  let rows: MDB_dbi
  let expiry: MDB_dbi
  let certificates: MDB_dbi
  /// The table of higher modules, apart from working tables; the engine has it only after a first write.
  let side: MDB_dbi

  /// The most tables in a file, with room for those of later releases.
  static let maximumCount: UInt32 = 32

  /// The names; a table precedes those that refer to it, and side tables precede the last one.
  static let names = [
    "meta", "collections", "keys", "sites", "siteRuns", "ids", "recent", "documents", "log", "oversize",
    "indexes", "rows", "expiry", "certificates", "cursors", "staging", "leaving", sideName,
  ]

  /// The only table that a store may lack.
  static let sideName = "side"

  /// Opens the tables.
  ///
  /// - Parameters:
  ///   - access: The transaction.
  ///   - create: Whether to create the tables.
  ///   - withSide: Whether to create the table `side` as well.
  /// - Throws: `corrupt` if a table is missing; `io`.
  init(_ access: PageAccess, create: Bool, withSide: Bool = false) throws(StoreError) {
    func open(_ name: String) throws(StoreError) -> MDB_dbi {
      let handle = try access.open(name, create: create)
      guard handle == StoreTable(named: name)?.handle else { throw Self.numberedOtherwise }
      return handle
    }
    meta = try open("meta")
    collections = try open("collections")
    keys = try open("keys")
    sites = try open("sites")
    siteRuns = try open("siteRuns")
    ids = try open("ids")
    recent = try open("recent")
    documents = try open("documents")
    log = try open("log")
    oversize = try open("oversize")
    indexes = try open("indexes")
    rows = try open("rows")
    expiry = try open("expiry")
    certificates = try open("certificates")
    for table in StoreTable.working { _ = try open(table.name) }
    side = StoreTable.side.handle
    if !create || withSide { try access.openSide(create: create) }
  }

  /// The error for a table whose handle does not follow from the order of the names.
  static var numberedOtherwise: StoreError {
    StoreError(.io, "The engine numbers its tables in another way", operation: "mdb_dbi_open")
  }

  /// All tables by name, in the order in which copies are written; includes `side` even if it is missing.
  var all: [(name: String, table: MDB_dbi)] { StoreTable.named.map { ($0.name, $0.handle) } }

  /// The number of pages in use: those of all tables, of the list of tables and of the free list.
  func pageCount(_ access: PageAccess) throws(StoreError) -> Int {
    if let snapshot = access.reading { return snapshot.roots.usedPages }
    let former = access.writing
    var count = former?.roots.usedPages ?? 0
    for table in StoreTable.all where former?.preparation?.isChanged(table) ?? true {
      count += try access.pageCount(table.handle) - (former?.roots[table].pages ?? 0)
    }
    return count
  }
}
