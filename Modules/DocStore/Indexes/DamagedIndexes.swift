import CRDTCore
import Synchronization

/// Indexes of which some page turned out to be damaged: they answer no queries until they have been made anew.
final class DamagedIndexes: Sendable {
  private struct State {
    /// The numbers of indexes whose rows may stand on damaged pages.
    var ranges: [ClosedRange<UInt32>] = []
    /// Those that have been made anew under other numbers: snapshots from before know them still.
    var replaced: Set<UInt32> = []
    var wake: (@Sendable () -> Void)?
  }

  private let state = Monitor(State())
  // Relaxed: a query that does not see it yet fails on the damage, as the one that met it did.
  private let hasAny = Atomic(false)

  /// Whether no index is known to be damaged.
  var isEmpty: Bool { !hasAny.load(ordering: .relaxed) }

  /// The numbers of indexes that may be damaged, in the order in which that was found.
  var ranges: [ClosedRange<UInt32>] { state.withLock { $0.ranges } }

  /// Calls `body` when one is found to be damaged; it must be quick.
  func onDamage(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.wake = body } }

  /// Takes note of a damaged page of rows.
  ///
  /// - Parameters:
  ///   - from: The least key that may stand there; `nil` for the least of all.
  ///   - to: A key that stands behind it; `nil` for none.
  func note(from: [UInt8]?, to: [UInt8]?) {
    let wake = state.withLock { state in
      state.ranges.append(Self.range(from: from, to: to))
      hasAny.store(true, ordering: .relaxed)
      return state.wake
    }
    wake?()
  }

  /// The numbers of indexes whose rows may stand on a page, by the keys that may.
  static func range(from: [UInt8]?, to: [UInt8]?) -> ClosedRange<UInt32> {
    let first = from.flatMap { RowValue.index(of: $0.rawBytes) } ?? 0
    let last = to.flatMap { RowValue.index(of: $0.rawBytes) } ?? .max
    return first...max(first, last)
  }

  /// Whether the rows of an index may stand on a damaged page.
  func includes(_ index: UInt32) -> Bool {
    !isEmpty
      && state.withLock { $0.replaced.contains(index) || $0.ranges.contains { $0.contains(index) } }
  }

  /// Takes in that the indexes of the first ranges have been made anew under other numbers.
  func note(replaced numbers: [UInt32], forRanges count: Int) {
    state.withLock { state in
      state.replaced.formUnion(numbers)
      state.ranges.removeFirst(min(count, state.ranges.count))
    }
  }

  /// Takes in that all rows could be read, and stand elsewhere now.
  func forget() {
    state.withLock { state in
      (state.ranges, state.replaced) = ([], [])
      hasAny.store(false, ordering: .relaxed)
    }
  }
}
