import CLMDB
import CRDTCore
import Platform

/// Writes a snapshot as a new data file without free pages, entry by entry.
///
/// The engine's own copy function refuses files in which it has lost track of pages.
struct StoreCopy {
  let source: PageAccess
  let tables: Tables

  /// The copy is committed after this many bytes, so that it needs little memory.
  private static let batchBytes = 16 << 20

  /// Writes the copy and syncs it; if this throws, there is no copy.
  ///
  /// - Parameters:
  ///   - path: A file that nothing depends on.
  ///   - mapBytes: The size that documents may fill.
  ///   - identity: The copy's identity, if it differs from the source's.
  ///   - progress: Called with the entries done; if it throws, the work ends.
  /// - Throws: `full`, `io`, `corrupt`; what `progress` throws.
  func write(
    to path: String, mapBytes: Int, identity: StoreIdentity? = nil,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws {
    Self.remove(path)
    do {
      try fill(path, mapBytes, identity, progress)
      try StoreFiles.sync(path)
      _ = unsafe unlink(path + "-lock")
    } catch {
      Self.remove(path)
      throw error
    }
  }

  static func remove(_ path: String) {
    _ = unsafe unlink(path)
    _ = unsafe unlink(path + "-lock")
  }

  private func fill(
    _ path: String, _ mapBytes: Int, _ identity: StoreIdentity?,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws {
    let listOfTables: MDB_dbi = 1
    let hasSide = source.hasSide
    let all = hasSide ? tables.all : Array(tables.all.dropLast())
    guard try source.entryCount(listOfTables) == all.count else {
      throw StoreError(.unsupportedVersion, "The store has tables of another release", operation: "copy")
    }
    let total = try all.reduce(0) { try $0 + source.entryCount($1.table) }
    var meter = ProgressMeter(total: total, progress)
    // Not synced until it is complete: after a crash before that, the draft is of no use.
    let contents = try tables.pageCount(source) * source.pageBytes
    let engine = try unsafe Environment.openEngine(
      path, upTo: max(mapBytes, 1), contents: contents, flags: MDB_NOSYNC)
    defer { unsafe mdb_env_close(engine.handle) }
    let first = try unsafe LMDBTransaction(draft: engine.handle)
    let targets = try Tables(first.access, create: true, withSide: hasSide)
    try first.commit()
    let live = try liveIndexes()
    for (table, target) in zip(all, targets.all) {
      try unsafe copy(table.table, to: target.table, engine.handle, &meter) { (failure) throws(StoreError) in
        guard table.table == tables.rows, let page = failure.damaged,
          !live.contains(where: DamagedIndexes.range(from: page.from, to: page.to).contains)
        else { throw failure }
        return true
      }
    }
    if let identity {
      let last = try unsafe LMDBTransaction(draft: engine.handle)
      try identity.write(last.access, targets)
      try last.commit()
    }
    try StoreError.check(unsafe mdb_env_sync(engine.handle, 1), "mdb_env_sync")
    try meter.finish()
  }

  /// The numbers of indexes that are not dropped; rows of other indexes may be missing from the copy.
  private func liveIndexes() throws -> [UInt32] {
    let names = try DocumentPages(access: source, tables: tables).collections().sorted { $0.id < $1.id }
    return try source.indexes(tables, names: names.map(\.name)).map(\.index)
      .filter { $0.phase != .dropping }.map(\.number)
  }

  /// Copies one table, one transaction per batch; continues behind a damaged page if `missed` allows it.
  private func copy(
    _ table: MDB_dbi, to target: MDB_dbi, _ engine: OpaquePointer, _ meter: inout ProgressMeter,
    missed: EntryCursor.Missed
  ) throws {
    var next: [UInt8]? = []
    while let start = next {
      next = nil
      var bytes = 0
      let transaction = try unsafe LMDBTransaction(draft: engine)
      let access = transaction.access
      try source.scan(table, from: start.rawBytes, missed: missed) { key, value in
        if bytes > Self.batchBytes {
          next = unsafe key.withUnsafeBytes { unsafe Array($0) }
          return false
        }
        try access.append(target, key, value)
        bytes += key.byteCount + value.byteCount
        try meter.advance()
        return true
      }
      try transaction.commit()
    }
  }
}
