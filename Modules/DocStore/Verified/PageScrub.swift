/// Looks at all pages of a store in turn, some at a time, so that damage shows before somebody needs what is there.
///
/// What it finds is remembered and logged by ``PageVerifier``. It looks at the commit that is the last one each time.
struct PageScrub {
  private var table = 0
  private var key: [UInt8] = []

  /// Looks at the next pages.
  ///
  /// - Parameters:
  ///   - snapshot: The last commit.
  ///   - limit: How many leaf pages to look at.
  /// - Returns: Whether the end was reached: the next step begins anew.
  mutating func step(_ snapshot: VerifiedSnapshot, pages limit: Int) -> Bool {
    var left = limit
    while table < StoreTable.named.count {
      var cursor = TreeCursor(snapshot, StoreTable.named[table])
      // Where the way to the key is damaged, what lies behind it is passed over as well.
      var isThere = Self.move(&cursor) { (cursor) throws(StoreError) in
        if key.isEmpty { try cursor.go() } else { _ = try cursor.seek(key.rawBytes) }
      }
      while isThere {
        key = cursor.keyBytes.copied
        guard left > 0 else { return false }
        left -= 1
        // Long values are looked at by themselves.
        _ = cursor.lookAtPage()
        isThere = Self.move(&cursor) { (cursor) throws(StoreError) in try cursor.advanceLeaf() }
      }
      (table, key) = (table + 1, [])
    }
    table = 0
    return true
  }

  /// Moves forward, over damage if need be.
  ///
  /// - Returns: Whether it stands at an entry.
  private static func move(
    _ cursor: inout TreeCursor, _ body: (inout TreeCursor) throws(StoreError) -> Void
  ) -> Bool {
    do throws(StoreError) {
      try body(&cursor)
      return !cursor.isAtEnd
    } catch {
      // The verifier has noted it.
    }
    while true {
      do throws(StoreError) {
        return try cursor.passOver() && !cursor.isAtEnd
      } catch {
        continue
      }
    }
  }
}
