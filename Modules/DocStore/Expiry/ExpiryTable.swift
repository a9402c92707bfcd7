import CLMDB
import CRDTCore

/// A document whose tombstone or removed fields are to be forgotten in time.
struct ExpiryEntry {
  /// Wall time in milliseconds from which the lifetime counts.
  let since: UInt64
  /// The document's key.
  let path: [UInt8]
  /// The document's sequence at that time: as long as it is the same, everything in it is as old.
  let sequence: UInt64
}

/// The table of what is to be forgotten: each document by time, and its time by document.
struct ExpiryTable {
  let access: PageAccess
  let table: MDB_dbi

  static let byTime: UInt8 = 1
  static let byDocument: UInt8 = 2
  private static let pathOffset = 9

  private static func key(_ since: UInt64, _ path: [UInt8] = []) -> [UInt8] {
    var key = ByteWriter(capacity: pathOffset + path.count)
    key.write(byTime)
    key.writeFixed(since)
    key.write(path)
    return key.bytes
  }

  /// Enters a document unless it is there.
  func add(_ path: RawSpan, sequence: UInt64, now: UInt64) throws(StoreError) {
    var key = ByteWriter(capacity: 1 + path.byteCount)
    key.write(Self.byDocument)
    key.write(path)
    let known = try access.small(key.bytes, in: table, "expiry") { _ throws(CodecError) in true }
    guard known == nil else { return }
    let path = Array(key.bytes.dropFirst())
    try put(ExpiryEntry(since: now, path: path, sequence: sequence))
  }

  private func put(_ entry: ExpiryEntry) throws(StoreError) {
    var sequence = ByteWriter(capacity: 8)
    sequence.writeFixed(entry.sequence)
    try SmallRecord.put(sequence.bytes, at: Self.key(entry.since, entry.path), in: table, access)
    var since = ByteWriter(capacity: 8)
    since.writeFixed(entry.since)
    try SmallRecord.put(since.bytes, at: [Self.byDocument] + entry.path, in: table, access)
  }

  func remove(_ entry: ExpiryEntry) throws(StoreError) {
    try access.delete(table, Self.key(entry.since, entry.path).rawBytes)
    try access.delete(table, ([Self.byDocument] + entry.path).rawBytes)
  }

  /// Lets the lifetime of an entry begin anew.
  func renew(_ entry: ExpiryEntry, sequence: UInt64, now: UInt64) throws(StoreError) {
    try remove(entry)
    try put(ExpiryEntry(since: now, path: entry.path, sequence: sequence))
  }

  /// Entries from before `horizon`, oldest first, and such as a clock that was ahead dated after `now`.
  func due(before horizon: UInt64, now: UInt64, limit: Int) throws -> [ExpiryEntry] {
    var found: [ExpiryEntry] = []
    let cursor = try RowCursor(access, table)
    try cursor.scan(from: [Self.byTime], to: Self.key(horizon), reversed: false, limit, &found)
    if now < .max {
      try cursor.scan(
        from: Self.key(now + 1), to: [Self.byDocument], reversed: true, limit - found.count, &found)
    }
    return found
  }

  fileprivate static func entry(_ key: RawSpan, _ stored: RawSpan) throws -> ExpiryEntry {
    let value = try SmallRecord.open(stored, at: key, table: "expiry")
    do throws(CodecError) {
      var reader = ByteReader(key, offset: 1)
      let since: UInt64 = try reader.readFixed()
      let path = try reader.readBytes(reader.remaining)
      guard path.byteCount > DocumentPath.prefixBytes else { throw reader.failure(.malformed, "no document") }
      var sequence = ByteReader(value.rawBytes)
      return ExpiryEntry(
        since: since, path: unsafe path.withUnsafeBytes { unsafe Array($0) },
        sequence: try sequence.readFixed())
    } catch {
      throw SmallRecord.damaged("expiry")
    }
  }
}

extension RowCursor {
  fileprivate func scan(
    from: [UInt8], to: [UInt8], reversed: Bool, _ limit: Int, _ found: inout [ExpiryEntry]
  ) throws {
    guard limit > 0 else { return }
    var entries: [ExpiryEntry] = []
    try scan(from: from.rawBytes, to: to.rawBytes, reversed: reversed) { key, value in
      entries.append(try ExpiryTable.entry(key, value))
      return entries.count < limit
    }
    found += entries
  }
}
