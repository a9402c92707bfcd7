import CLMDB
import CRDTCore

/// A document whose tombstone or removed fields will be forgotten when their lifetime has expired.
struct ExpiryEntry {
  /// The lived time from which the lifetime counts.
  let since: UInt64
  /// The document's key.
  let path: [UInt8]
  /// The document's version at that time.
  let mark: Mark

  /// Shows which parts of a document are as old as its entry.
  struct Mark: Hashable, Sendable {
    /// The document's sequence: while it is unchanged, the whole document is as old as the entry.
    var sequence: UInt64 = 0
    /// The latest timestamp in the document: anything with a later stamp is younger.
    var latest = ClockReading.zero
  }
}

/// The table of what will be forgotten: each document by time, and its time by document.
struct ExpiryTable {
  let access: PageAccess
  let table: MDB_dbi

  static let byTime: UInt8 = 1
  static let byDocument: UInt8 = 2

  private static func key(_ since: UInt64, _ path: [UInt8] = []) -> [UInt8] {
    var key = ByteWriter(capacity: 9 + path.count)
    key.write(byTime)
    key.writeFixed(since)
    key.write(path)
    return key.bytes
  }

  private static func key(of path: RawSpan) -> [UInt8] {
    var key = ByteWriter(capacity: 1 + path.byteCount)
    key.write(byDocument)
    key.write(path)
    return key.bytes
  }

  func contains(_ path: RawSpan) throws(StoreError) -> Bool { try has(Self.key(of: path)) }

  private func has(_ key: [UInt8]) throws(StoreError) -> Bool {
    do { return try access.withValue(table, key.rawBytes) { _ in true } ?? false } catch {
      throw (error as? StoreError) ?? SmallRecord.damaged("expiry")
    }
  }

  /// Adds a document that is not in the table.
  func add(_ path: RawSpan, _ mark: ExpiryEntry.Mark, now: UInt64) throws(StoreError) {
    try put(ExpiryEntry(since: now, path: unsafe path.withUnsafeBytes { unsafe Array($0) }, mark: mark))
  }

  private func put(_ entry: ExpiryEntry) throws(StoreError) {
    var mark = ByteWriter(capacity: 16)
    mark.writeFixed(entry.mark.sequence)
    mark.writeFixed(entry.mark.latest.rawValue)
    try SmallRecord.put(mark.bytes, at: Self.key(entry.since, entry.path), in: table, access)
    var since = ByteWriter(capacity: 8)
    since.writeFixed(entry.since)
    try SmallRecord.put(since.bytes, at: Self.key(of: entry.path.rawBytes), in: table, access)
  }

  func remove(_ entry: ExpiryEntry) throws(StoreError) {
    try access.delete(table, Self.key(entry.since, entry.path).rawBytes)
    try access.delete(table, Self.key(of: entry.path.rawBytes).rawBytes)
  }

  /// Restarts the lifetime of an entry.
  func renew(_ entry: ExpiryEntry, _ mark: ExpiryEntry.Mark, now: UInt64) throws(StoreError) {
    try remove(entry)
    try put(ExpiryEntry(since: now, path: entry.path, mark: mark))
  }

  /// The oldest entries from before `horizon`.
  func due(before horizon: UInt64, limit: Int) throws -> [ExpiryEntry] {
    var found: [ExpiryEntry] = []
    try access.scan(table, from: [Self.byTime].rawBytes) { key, stored in
      guard found.count < limit, let entry = Self.entry(key, stored), entry.since < horizon else {
        return false
      }
      found.append(entry)
      return true
    }
    return found
  }

  /// Reads an entry; `nil` for one that is ordered by document.
  ///
  /// A damaged mark is not an error: then nothing in the document counts as old, and the entry is renewed.
  static func entry(_ key: RawSpan, _ stored: RawSpan) -> ExpiryEntry? {
    do throws(CodecError) {
      var reader = ByteReader(key)
      guard try reader.readByte() == byTime else { return nil }
      let since: UInt64 = try reader.readFixed()
      let path = try reader.readBytes(reader.remaining)
      var mark = ExpiryEntry.Mark()
      if let value = try? SmallRecord.open(stored, at: key, table: "expiry") {
        var reader = ByteReader(value.rawBytes)
        mark.sequence = try reader.readFixed()
        mark.latest = ClockReading(rawValue: try reader.readFixed())
      }
      return ExpiryEntry(since: since, path: unsafe path.withUnsafeBytes { unsafe Array($0) }, mark: mark)
    } catch {
      return nil
    }
  }
}
