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
  let cursors: MDB_dbi
  let staging: MDB_dbi
  let leaving: MDB_dbi
  /// What modules above keep; the engine knows it once something was written there.
  let side: MDB_dbi

  /// Room for tables of later releases beside the ones there are.
  static let maximumCount: UInt32 = 32

  /// The names, those first that entries of others refer to.
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
    meta = try access.open("meta", create: create)
    collections = try access.open("collections", create: create)
    keys = try access.open("keys", create: create)
    sites = try access.open("sites", create: create)
    siteRuns = try access.open("siteRuns", create: create)
    ids = try access.open("ids", create: create)
    recent = try access.open("recent", create: create)
    documents = try access.open("documents", create: create)
    log = try access.open("log", create: create)
    oversize = try access.open("oversize", create: create)
    indexes = try access.open("indexes", create: create)
    rows = try access.open("rows", create: create)
    expiry = try access.open("expiry", create: create)
    certificates = try access.open("certificates", create: create)
    cursors = try access.open("cursors", create: create)
    staging = try access.open("staging", create: create)
    leaving = try access.open("leaving", create: create)
    side = StoreTable.side.handle
    if !create || withSide { try access.openSide(create: create) }
  }

  /// All of them by name, in the order in which copies are written; `side` as well, where there is none.
  ///
  /// They are not kept: a value that holds nothing to be counted is copied for each document at no cost.
  var all: [(name: String, table: MDB_dbi)] {
    let handles = handles
    return handles.indices.map { (Self.names[$0], handles[$0]) }
  }

  /// The same without their names.
  private var handles: [MDB_dbi] {
    [
      meta, collections, keys, sites, siteRuns, ids, recent, documents, log, oversize, indexes, rows,
      expiry, certificates, cursors, staging, leaving, side,
    ]
  }

  /// Pages that hold something: those of all tables, of the list of tables and of the free list.
  func pageCount(_ access: PageAccess) throws(StoreError) -> Int {
    let freeList: MDB_dbi = 0
    let listOfTables: MDB_dbi = 1
    var count = try access.pageCount(freeList) + access.pageCount(listOfTables)
    let handles = handles
    for index in handles.indices { count += try access.pageCount(handles[index]) }
    return count
  }
}
