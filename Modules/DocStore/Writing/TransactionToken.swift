import Synchronization

/// Marks the tasks of an asynchronous transaction's body.
///
/// A write in one of these tasks is refused, because it would wait for its own end.
final class TransactionToken: Sendable {
  @TaskLocal static var current: TransactionToken?

  private let store: ObjectIdentifier
  private let outer: TransactionToken?
  // Relaxed: nothing else is read with the flag; at worst, a task that outlives the body sees it late.
  private let hasEnded = Atomic(false)

  init(store: ObjectIdentifier, outer: TransactionToken?) {
    self.store = store
    self.outer = outer
  }

  func end() { hasEnded.store(true, ordering: .relaxed) }

  /// Whether the current task belongs to an open transaction of `store`.
  static func isOpen(_ store: ObjectIdentifier) -> Bool {
    var token = current
    while let open = token {
      if open.store == store, !open.hasEnded.load(ordering: .relaxed) { return true }
      token = open.outer
    }
    return false
  }
}
