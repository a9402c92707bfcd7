import CLMDB
import CRDTCore

/// A cursor for looking up keys; it finds keys near the last one without a search from the root.
@safe struct PointCursor: ~Copyable {
  private let place: TablePlace

  init(_ access: PageAccess, _ table: MDB_dbi) throws(StoreError) {
    place = try TablePlace(access, table)
  }

  /// Visits the keys and values on the page that contains `key`, which must exist, until `body` returns
  /// `false`.
  ///
  /// Addresses show where the page ends. In a transaction that has written, the entries may be more or fewer.
  borrowing func forEachOnPage(of key: RawSpan, _ body: (RawSpan, RawSpan) throws -> Bool) throws {
    try place.forEachOnPage(of: key, body)
  }

  /// Passes the bytes at `key` to `body`, which is not called if there are none.
  @inline(__always)
  borrowing func withValue<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    try place.withValue(key) { value, _ in try body(value) }
  }

  /// Like `withValue`; also passes whether the entry must be checked before the caller relies on it.
  @inline(__always)
  borrowing func withEntry<R>(
    _ key: RawSpan, _ body: (_ value: RawSpan, _ isSuspect: Bool) throws -> R
  ) throws -> R? {
    try place.withValue(key, body)
  }
}
