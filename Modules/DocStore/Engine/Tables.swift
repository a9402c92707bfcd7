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
  /// What modules above keep, except in working tables; the engine knows it once something was written there.
  let side: MDB_dbi

  /// Room for tables of later releases beside the ones there are.
  static let maximumCount: UInt32 = 32

  /// The names, those first that entries of others refer to; of side tables those before the last.
  static let names = [
    "meta", "collections", "keys", "sites", "siteRuns", "ids", "recent", "documents", "log", "oversize",
    "indexes", "rows", "expiry", "certificates", "cursors", "staging", "leaving", sideName,
  ]

  /// The one table that a store may lack.
  static let sideName = "side"

  /// Opens the tables.
  ///
  /// - Parameters:
  ///   - access: The transaction.
  ///   - create: Whether they are made.
  ///   - withSide: Whether the table `side` is made as well.
  /// - Throws: `corrupt` for a table that is not there, `io`.
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

  /// All handles are those that the order of the names makes them.
  static var numberedOtherwise: StoreError {
    StoreError(.io, "The engine numbers its tables in another way", operation: "mdb_dbi_open")
  }

  /// All of them by name, in the order in which copies are written; `side` as well, where there is none.
  var all: [(name: String, table: MDB_dbi)] { StoreTable.named.map { ($0.name, $0.handle) } }

  /// Pages that hold something: those of all tables, of the list of tables and of the free list.
  func pageCount(_ access: PageAccess) throws(StoreError) -> Int {
    let freeList: MDB_dbi = 0
    let listOfTables: MDB_dbi = 1
    var count = try access.pageCount(freeList) + access.pageCount(listOfTables)
    for table in StoreTable.named { count += try access.pageCount(table.handle) }
    return count
  }
}
