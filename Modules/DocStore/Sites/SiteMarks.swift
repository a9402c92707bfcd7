import CRDTCore
import Synchronization

/// Which sites records name, while sites are being collected: one bit for each site.
///
/// Between ``begin(below:)`` and ``end()`` each record that is written is marked as well.
final class SiteMarks: Sendable {
  fileprivate struct State {
    var bits: [UInt64] = []
    /// The ordinals below this are examined.
    var limit = 0
    /// The engine's number of the last commit when all records had been marked; `nil` before that.
    var number: UInt64?
  }

  private let state = Monitor(State())
  // Relaxed: only jobs of the writer change it, and only the writer acts on it.
  private let marking = Atomic(false)

  /// Whether written records must be marked.
  var isOn: Bool { marking.load(ordering: .relaxed) }

  /// The engine's number of the last commit when all were marked; `nil` before that.
  var marked: UInt64? { state.withLock { $0.number } }

  /// Begins again, inside a transaction.
  ///
  /// - Parameter limit: No site with an ordinal below this is in memory, so none of them is given to a record
  ///   that did not have it before.
  func begin(below limit: Int) {
    state.withLock { $0 = State(bits: Array(repeating: 0, count: limit / 64 + 1), limit: limit) }
    marking.store(true, ordering: .relaxed)
  }

  /// Records that all records are marked.
  func finish(_ number: UInt64) { state.withLock { $0.number = number } }

  func end() {
    marking.store(false, ordering: .relaxed)
    state.withLock { $0 = State() }
  }

  /// Marks the sites that a record names; an unreadable record marks nothing, because nobody can use it.
  func mark(_ record: borrowing RecordView) {
    var named: [UInt32] = []
    try? record.forEachSite { named.append($0) }
    state.withLock { state in for ordinal in named { state.mark(ordinal) } }
  }

  func mark(_ ordinal: UInt32) { state.withLock { $0.mark(ordinal) } }

  /// Whether a site may be removed.
  func isFree(_ ordinal: UInt32) -> Bool {
    state.withLock { state in
      Int(ordinal) < state.limit && state.number != nil
        && state.bits[Int(ordinal) / 64] >> UInt64(ordinal % 64) & 1 == 0
    }
  }

  /// Ordinals from this one on are kept.
  var limit: Int { state.withLock { $0.limit } }
}

extension SiteMarks.State {
  fileprivate mutating func mark(_ ordinal: UInt32) {
    guard Int(ordinal) < limit else { return }
    bits[Int(ordinal) / 64] |= 1 << UInt64(ordinal % 64)
  }
}
