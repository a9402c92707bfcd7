import Synchronization

/// Marks the tasks of an asynchronous transaction's body, so that a write among them is refused and
/// does not wait for its own end.
final class TransactionToken: Sendable {
  @TaskLocal static var current: TransactionToken?

  private let store: ObjectIdentifier
  private let outer: TransactionToken?
  // Relaxed: the flag alone is read, and a task that outlives the body sees it late at worst.
  private let hasEnded = Atomic(false)

  init(store: ObjectIdentifier, outer: TransactionToken?) {
    self.store = store
    self.outer = outer
  }

  func end() { hasEnded.store(true, ordering: .relaxed) }

  /// Whether the current task belongs to a transaction of `store` that is under way.
  static func isOpen(_ store: ObjectIdentifier) -> Bool {
    var token = current
    while let open = token {
      if open.store == store, !open.hasEnded.load(ordering: .relaxed) { return true }
      token = open.outer
    }
    return false
  }
}
