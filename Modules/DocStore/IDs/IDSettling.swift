import CLMDB
import CRDTCore

/// Moves ids from the table `recent` to `ids`, a run of neighbours at a time.
///
/// Each run begins where the last one ended. So it finds the ids of all documents that were added in that
/// range since the previous pass. The place where the next run begins is not stored on disk, because any
/// place will do.
package struct IDSettling: Sendable {
  /// The least number of ids that stay in `recent`, and the most that are moved at once.
  static let minimum = 8_192

  /// The number of ids that stay in `recent` beside `settled` ids in the other table.
  ///
  /// With more of them the table is larger, and every large transaction writes its pages. With fewer of them
  /// runs are shorter, and find fewer ids on each page of the other table. For *n* ids and transactions of
  /// *b* documents, the sum of both costs is least at half the square root of *nb*. The factor here is for
  /// transactions of 2,300 documents.
  package static func limit(beside settled: Int) -> Int {
    max(minimum, Int(24 * Double(settled).squareRoot()))
  }

  private static let emptyLimit = 4

  private var next: [UInt8] = []

  /// Moves ids if there are more than `limit`, which depends on the number of ids by default.
  ///
  /// It then moves some more, so that small transactions seldom have to do it.
  mutating func run(_ pages: IDPages, limit: Int?) throws(StoreError) {
    let count = try pages.access.entryCount(pages.tables.recent)
    let settled = try pages.access.entryCount(pages.tables.ids)
    let limit = limit ?? Self.limit(beside: settled)
    guard count > limit else { return }
    var moving = count - limit + limit / 32
    // An empty run occurs at the end of the table, or if a damaged page begins there. The next run continues
    // behind that page, or at the beginning of the table, where ids are left.
    var emptyRuns = 0
    while moving > 0, emptyRuns < Self.emptyLimit {
      let run = try Run(pages, from: next, atMost: min(moving, Self.minimum))
      try run.move(pages)
      moving -= run.count
      next = run.next
      if run.count == 0 { emptyRuns += 1 }
    }
  }

  /// A run of neighbours, copied because moving them changes the pages.
  private struct Run {
    private var bytes: [UInt8] = []
    /// Where each key and each value ends.
    private var ends: [Int] = []
    /// The key after the last one, or behind the damaged page that ends the run; empty at the table's end.
    private(set) var next: [UInt8] = []

    var count: Int { ends.count / 2 }

    init(_ pages: IDPages, from start: [UInt8], atMost limit: Int) throws(StoreError) {
      do throws(StoreError) {
        var cursor = try EntryCursor(pages.access, pages.tables.recent, from: start.rawBytes)
        while !cursor.isAtEnd {
          guard count < limit else {
            next = cursor.key.copied
            return
          }
          take(cursor.key)
          take(cursor.value)
          try cursor.advance()
        }
      } catch {
        // Entries on a damaged page stay there; a transaction should not fail because of them.
        guard let damaged = error.damaged else { throw error }
        next = damaged.to ?? []
      }
    }

    private mutating func take(_ span: RawSpan) {
      unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
      ends.append(bytes.count)
    }

    /// Whether an id can be moved without touching a damaged page; otherwise it stays in `recent`.
    private func isClear(_ key: RawSpan, _ pages: IDPages) throws(StoreError) -> Bool {
      do throws(StoreError) {
        try pages.access.prepare(pages.tables.ids, key, for: .replacing)
        try pages.access.prepare(pages.tables.recent, key, for: .neighbours)
        return true
      } catch {
        guard error.damaged != nil else { throw error }
        return false
      }
    }

    func move(_ pages: IDPages) throws(StoreError) {
      let target = try RowCursor(pages.access, pages.tables.ids)
      let source = try RowCursor(pages.access, pages.tables.recent)
      let bytes = bytes.rawBytes
      var start = 0
      for place in 0..<count {
        let (end, valueEnd) = (ends[2 * place], ends[2 * place + 1])
        let key = bytes.extracting(start..<end)
        if try isClear(key, pages) {
          try target.put(key, bytes.extracting(end..<valueEnd))
          try source.remove(key)
        }
        start = valueEnd
      }
    }
  }
}
