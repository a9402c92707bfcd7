import Synchronization

/// What the operators of one statement did, for PROFILE: how many rows they gave on, and how long they took.
///
/// Each query that the statement runs, also one inside of another, is a section of its own.
final class StatementProfile: Sendable {
  /// The documents of one source.
  struct Scan: Sendable {
    /// Living documents that were found.
    var found = 0
    /// Those that the filter of the source accepts.
    var accepted = 0
    var scanNanoseconds: UInt64 = 0
    var filterNanoseconds: UInt64 = 0
    /// Rows that came out of the source's join.
    var joined = 0
  }

  /// One query, or the writing of its documents.
  struct Section: Sendable {
    let root: PlanNode
    fileprivate let start: UInt64
    /// Its own, without those of queries inside.
    var nanoseconds: UInt64 = 0
    fileprivate var innerNanoseconds: UInt64 = 0
    /// By the place of the source among those of the query.
    var scans: [Int: Scan] = [:]
    /// Rows of documents that the filter behind the joins accepts.
    var frames: Int?
    /// Groups that satisfy HAVING, after all groups.
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

  /// The queries that have ended, in the order in which they did.
  var sections: [Section] { state.withLock { $0.done } }

  /// Notes that a query begins, which ends before any that has begun already.
  func begin(_ root: PlanNode) {
    let start = now()
    state.withLock { $0.open.append(Section(root: root, start: start)) }
  }

  /// Notes that the last query that has begun has ended.
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

  /// Changes what is known of the query that runs.
  func note(_ change: (inout Section) -> Void) {
    state.withLock { state in
      guard !state.open.isEmpty else { return }
      change(&state.open[state.open.count - 1])
    }
  }
}
