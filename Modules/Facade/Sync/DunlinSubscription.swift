import Synchronization

/// What becomes of a document here that does not match a subscription any more.
public enum DunlinLeavePolicy: Hashable, Sendable {
  /// It stays, in the state in which it left.
  case keep
  /// It is evicted, once nothing is lost by that: when a peer has all that is known of it here and keeps it, and
  /// every connected peer that follows it has been told that it left.
  ///
  /// This takes a connection. A document stays that another subscription matches, that matched one that keeps, that
  /// was deleted, that is too large to be sent, or that was written here and that no peer subscribes to.
  case evict
}

/// A query whose results this peer pulls from others; keep it as long as they are wanted.
///
/// Cancel it when it is no longer needed: one that nobody holds any more is cancelled all the same, with a logged warning.
public final class DunlinSubscription: Sendable {
  /// The query as one statement: `SELECT * FROM cars WHERE …`.
  ///
  /// A predicate of the builder language stands behind WHERE as it was written; the values of arguments are not in it.
  public let queryText: String
  /// The collection that it pulls from; empty for one that was never valid.
  public let collectionName: String
  /// What becomes of a document here that does not match any more.
  public let onLeave: DunlinLeavePolicy
  private let cancelling: Mutex<(@Sendable (_ wasLost: Bool) -> Void)?>

  init(
    queryText: String, collectionName: String, onLeave: DunlinLeavePolicy = .keep,
    cancelling: (@Sendable (_ wasLost: Bool) -> Void)?
  ) {
    self.queryText = queryText
    self.collectionName = collectionName
    self.onLeave = onLeave
    self.cancelling = Mutex(cancelling)
  }

  deinit { end(wasLost: true) }

  /// What a call that does not throw returns for a query that is not valid.
  static func none(text: String) -> DunlinSubscription {
    DunlinSubscription(queryText: text, collectionName: "", cancelling: nil)
  }

  /// Whether nothing is pulled for it any more.
  public var isCancelled: Bool { cancelling.withLock { $0 == nil } }

  /// Stops pulling; what is here stays.
  ///
  /// Calling it again has no effect.
  public func cancel() { end(wasLost: false) }

  /// Stops pulling: the same as `cancel()`.
  public func stop() { cancel() }

  private func end(wasLost: Bool) {
    let cancel = cancelling.withLock { cancelling in
      defer { cancelling = nil }
      return cancelling
    }
    cancel?(wasLost)
  }
}

/// A subscription that was registered with DQL.
public typealias DunlinSyncSubscription = DunlinSubscription
