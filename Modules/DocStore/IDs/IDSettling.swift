import CLMDB
import CRDTCore

/// Takes ids from the table `recent` over to `ids`, a run of neighbours at a time.
///
/// Runs begin where the last one ended, so that each finds the ids of many documents that came since the one
/// before it passed there. Where the next one begins is not kept on disk: anywhere will do.
package struct IDSettling: Sendable {
  /// So many ids stay among the recent ones, at least; and so many are moved at once, at most.
  static let minimum = 8_192

  /// So many stay there beside `settled` others.
  ///
  /// More are a greater table, whose pages every large transaction writes; fewer are shorter runs, which meet fewer
  /// ids on each page of the other table. Of *n* ids and transactions of *b* documents, both together are least at
  /// half the root of *nb*: here for transactions of 2,300 documents.
  package static func limit(beside settled: Int) -> Int {
    max(minimum, Int(24 * Double(settled).squareRoot()))
  }

  private static let emptyLimit = 4

  private var next: [UInt8] = []

  /// Moves ids when there are more than `limit`, by default what their number makes of it, and then some more, so
  /// that small transactions seldom do it.
  mutating func run(_ pages: IDPages, limit: Int?) throws(StoreError) {
    let count = try pages.access.entryCount(pages.tables.recent)
    let settled = try pages.access.entryCount(pages.tables.ids)
    let limit = limit ?? Self.limit(beside: settled)
    guard count > limit else { return }
    var moving = count - limit + limit / 32
    // One with nothing in it is met at the end, or where a damaged page begins: it goes on behind that, or at the
    // beginning, of which something is left.
    var emptyRuns = 0
    while moving > 0, emptyRuns < Self.emptyLimit {
      let run = try Run(pages, from: next, atMost: min(moving, Self.minimum))
      try run.move(pages)
      moving -= run.count
      next = run.next
      if run.count == 0 { emptyRuns += 1 }
    }
  }

  /// Neighbours, copied, since nothing on pages lasts while they are moved.
  private struct Run {
    private var bytes: [UInt8] = []
    /// Where each key and each value ends.
    private var ends: [Int] = []
    /// The key after the last, or behind the damaged page that it ends at; empty at the end of the table.
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
        // What stands on a damaged page stays there, and is nothing that a transaction should fail for.
        guard let damaged = error.damaged else { throw error }
        next = damaged.to ?? []
      }
    }

    private mutating func take(_ span: RawSpan) {
      unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
      ends.append(bytes.count)
    }

    /// Whether no damaged page is in the way of an id, which else stays among the recent ones.
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
