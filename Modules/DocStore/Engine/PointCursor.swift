import CLMDB
import CRDTCore

/// A cursor for looking up keys: those near the last one are found without a search from the root.
@safe struct PointCursor: ~Copyable {
  private let place: TablePlace

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    place = try TablePlace(access, table)
  }

  /// Visits the keys and values on the page where `key`, which must be there, stands.
  ///
  /// Where the page ends is told by addresses; in a transaction that has written, it may be more or less.
  borrowing func forEachOnPage(of key: RawSpan, _ body: (RawSpan, RawSpan) throws -> Void) throws {
    try place.forEachOnPage(of: key, body)
  }

  /// Hands the bytes at `key` to `body`; nothing happens when there are none.
  @inline(__always)
  borrowing func withValue<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    try place.withValue(key) { value, _ in try body(value) }
  }

  /// The same with whether the entry has to be looked at before it is relied on.
  @inline(__always)
  borrowing func withEntry<R>(
    _ key: RawSpan, _ body: (_ value: RawSpan, _ isSuspect: Bool) throws -> R
  ) throws -> R? {
    try place.withValue(key, body)
  }
}
