/// Checks all pages of a store in turn, some at a time, to find damage before somebody needs the data.
///
/// ``PageVerifier`` remembers and logs what it finds. Each step checks the last commit at that time.
struct PageScrub {
  private var table = 0
  private var key: [UInt8] = []

  /// Checks the next pages.
  ///
  /// - Parameters:
  ///   - snapshot: The last commit.
  ///   - limit: How many leaf pages to check.
  /// - Returns: Whether it reached the end; the next step begins again.
  mutating func step(_ snapshot: VerifiedSnapshot, pages limit: Int) -> Bool {
    var left = limit
    while table < StoreTable.named.count {
      var cursor = TreeCursor(snapshot, StoreTable.named[table])
      // If the path to the key is damaged, the pages behind the damage are skipped as well.
      var isThere = Self.move(&cursor) { (cursor) throws(StoreError) in
        if key.isEmpty { try cursor.go() } else { _ = try cursor.seek(key.rawBytes) }
      }
      while isThere {
        key = cursor.keyBytes.copied
        guard left > 0 else { return false }
        left -= 1
        // Long values are checked separately.
        _ = cursor.lookAtPage()
        isThere = Self.move(&cursor) { (cursor) throws(StoreError) in try cursor.advanceLeaf() }
      }
      (table, key) = (table + 1, [])
    }
    table = 0
    return true
  }

  /// Moves forward, and skips damaged pages.
  ///
  /// - Returns: Whether the cursor is at an entry.
  private static func move(
    _ cursor: inout TreeCursor, _ body: (inout TreeCursor) throws(StoreError) -> Void
  ) -> Bool {
    do throws(StoreError) {
      try body(&cursor)
      return !cursor.isAtEnd
    } catch {
      // The verifier has recorded it.
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
