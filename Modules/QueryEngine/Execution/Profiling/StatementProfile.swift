import Synchronization

/// What the operators of one statement did, for PROFILE: their numbers of rows, and their times.
///
/// Each query that the statement runs is a section of its own, also a query inside of another.
final class StatementProfile: Sendable {
  /// The documents of one source.
  struct Scan: Sendable {
    /// The number of documents that were found, without tombstones.
    var found = 0
    /// The number of those that the source's filter accepted.
    var accepted = 0
    var scanNanoseconds: UInt64 = 0
    var filterNanoseconds: UInt64 = 0
    /// The number of rows that the source's join produced.
    var joined = 0
  }

  /// One query, or the writing of its documents.
  struct Section: Sendable {
    let root: PlanNode
    fileprivate let start: UInt64
    /// Its own time, without that of inner queries.
    var nanoseconds: UInt64 = 0
    fileprivate var innerNanoseconds: UInt64 = 0
    /// By the position of the source among those of the query.
    var scans: [Int: Scan] = [:]
    /// The number of rows that the filter after the joins accepted.
    var frames: Int?
    /// The number of all groups, and of those that satisfy HAVING.
    var groups: (all: Int, kept: Int)?
    var rows = 0
  }

  private struct State {
    var done: [Section] = []
    var open: [Section] = []
  }

  private let state = Mutex(State())
  let now: @Sendable () -> UInt64

  init(_ now: @escaping @Sendable () -> UInt64) { self.now = now }

  /// The queries that have ended, in the order in which they ended.
  var sections: [Section] { state.withLock { $0.done } }

  /// Records the beginning of a query, which ends before every query that began earlier.
  func begin(_ root: PlanNode) {
    let start = now()
    state.withLock { $0.open.append(Section(root: root, start: start)) }
  }

  /// Records the end of the query that began last.
  func end(rows: Int) {
    let end = now()
    state.withLock { state in
      guard var section = state.open.popLast() else { return }
      let elapsed = end - min(section.start, end)
      section.nanoseconds = elapsed - min(elapsed, section.innerNanoseconds)
      section.rows = rows
      if !state.open.isEmpty { state.open[state.open.count - 1].innerNanoseconds += elapsed }
      state.done.append(section)
    }
  }

  /// Changes the section of the running query.
  func note(_ change: (inout Section) -> Void) {
    state.withLock { state in
      guard !state.open.isEmpty else { return }
      change(&state.open[state.open.count - 1])
    }
  }
}
