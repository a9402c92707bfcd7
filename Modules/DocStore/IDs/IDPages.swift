import CLMDB
import CRDTCore

/// The ids and the document numbers to which they map, on the pages of one snapshot.
///
/// The ids of new documents are spread among all others. So they are first stored in a small table, `recent`,
/// and later moved to `ids` in runs, many to a page.
struct IDPages {
  let access: PageAccess
  let tables: Tables

  /// The number of a document; `nil` if this store does not know the document.
  ///
  /// It is ``DocumentNumber/none`` if the entry is damaged.
  @inline(__always)
  func number(at path: RawSpan) throws -> DocumentNumber? {
    try IDKey.with(path) { (key) throws(any Error) in
      if let number = try access.withValue(tables.ids, key, Self.number) { return number }
      return try access.withValue(tables.recent, key, Self.number)
    }
  }

  static func number(_ value: RawSpan) -> DocumentNumber { DocumentNumber(value) ?? .none }

  /// Checks whether the id of a document may be added, before anything is written.
  ///
  /// - Returns: `false` if the id is in the table `ids`.
  func mayAdd(at path: RawSpan) throws(StoreError) -> Bool {
    try IDKey.with(path) { (key) throws(StoreError) in
      guard try !access.contains(tables.ids, key) else { return false }
      try access.prepare(tables.recent, key)
      if try DocumentPages(access: access, tables: tables).isHidden(path) {
        throw StoreError.damagedEntry(.ids)
      }
      return true
    }
  }

  /// Adds the id of a new document, which is not in the table `ids`.
  ///
  /// - Returns: `false`, with nothing changed, if the id is known.
  func add(_ number: DocumentNumber, at path: RawSpan) throws(StoreError) -> Bool {
    try IDKey.with(path) { (key) throws(StoreError) in
      try number.withBytes { (bytes) throws(StoreError) in
        try unsafe access.put(tables.recent, key, byteCount: bytes.byteCount, .ifAbsent) { room in
          unsafe bytes.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        }
      }
    }
  }

  func remove(at path: RawSpan) throws(StoreError) {
    try IDKey.with(path) { (key) throws(StoreError) in
      _ = try access.delete(tables.ids, key)
      _ = try access.delete(tables.recent, key)
    }
  }

  /// The number of ids.
  var count: Int {
    get throws(StoreError) { try access.entryCount(tables.ids) + access.entryCount(tables.recent) }
  }

  /// Visits keys and values by ascending key, from `start` on, until `body` returns `false`.
  func scan(
    from start: RawSpan, missed: EntryCursor.Missed = { (failure) throws(StoreError) in throw failure },
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    var settled = try EntryCursor(access, tables.ids, from: start, missed: missed)
    var recent = try EntryCursor(access, tables.recent, from: start, missed: missed)
    while true {
      if settled.isAtEnd, recent.isAtEnd { return }
      if recent.isAtEnd || !settled.isAtEnd && settled.key.compare(recent.key) <= 0 {
        guard try body(settled.key, settled.value) else { return }
        try settled.advance(missed: missed)
      } else {
        guard try body(recent.key, recent.value) else { return }
        try recent.advance(missed: missed)
      }
    }
  }
}
