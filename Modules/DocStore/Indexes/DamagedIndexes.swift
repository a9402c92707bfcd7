import CRDTCore
import Synchronization

/// The indexes with a damaged page: they answer no queries until they have been rebuilt.
final class DamagedIndexes: Sendable {
  private struct State {
    /// The numbers of indexes whose rows may be on damaged pages.
    var ranges: [ClosedRange<UInt32>] = []
    /// Indexes that were rebuilt under other numbers; older snapshots still have the old ones.
    var replaced: Set<UInt32> = []
    var wake: (@Sendable () -> Void)?
  }

  private let state = Monitor(State())
  // Relaxed: a query that does not see it yet fails on the damage itself.
  private let hasAny = Atomic(false)

  /// Whether no index is known to be damaged.
  var isEmpty: Bool { !hasAny.load(ordering: .relaxed) }

  /// The numbers of indexes that may be damaged, in the order in which the damage was found.
  var ranges: [ClosedRange<UInt32>] { state.withLock { $0.ranges } }

  /// Calls `body` when an index is found to be damaged; `body` must be quick.
  func onDamage(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.wake = body } }

  /// Records a damaged page of rows.
  ///
  /// - Parameters:
  ///   - from: The least key that may be on the page; `nil` if there is no bound.
  ///   - to: A key above all keys of the page; `nil` if there is no bound.
  func note(from: [UInt8]?, to: [UInt8]?) {
    let wake = state.withLock { state in
      state.ranges.append(Self.range(from: from, to: to))
      hasAny.store(true, ordering: .relaxed)
      return state.wake
    }
    wake?()
  }

  /// The numbers of indexes whose rows may be on a page, from the bounds of the page's keys.
  static func range(from: [UInt8]?, to: [UInt8]?) -> ClosedRange<UInt32> {
    let first = from.flatMap { RowValue.index(of: $0.rawBytes) } ?? 0
    let last = to.flatMap { RowValue.index(of: $0.rawBytes) } ?? .max
    return first...max(first, last)
  }

  /// Whether the rows of an index may be on a damaged page.
  func includes(_ index: UInt32) -> Bool {
    !isEmpty
      && state.withLock { $0.replaced.contains(index) || $0.ranges.contains { $0.contains(index) } }
  }

  /// Records that the indexes of the first ranges have been rebuilt under other numbers.
  func note(replaced numbers: [UInt32], forRanges count: Int) {
    state.withLock { state in
      state.replaced.formUnion(numbers)
      state.ranges.removeFirst(min(count, state.ranges.count))
    }
  }

  /// Forgets all damage, after all rows were read and written to another file.
  func forget() {
    state.withLock { state in
      (state.ranges, state.replaced) = ([], [])
      hasAny.store(false, ordering: .relaxed)
    }
  }
}
