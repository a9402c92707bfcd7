import Synchronization

/// What happens to a local document that no longer matches a subscription.
public enum DunlinLeavePolicy: Hashable, Sendable {
  /// The document stays, in the state that it had when it stopped matching.
  case keep
  /// The document is evicted, once its eviction loses nothing.
  ///
  /// That is so when a peer has all that is known of the document here and keeps it, and every connected peer
  /// that follows it has been told that it left.
  ///
  /// This needs a connection. These documents stay: one that another subscription matches, one that matched a
  /// subscription that keeps, one that was deleted, one that is too large to be sent, and one that was
  /// written here and that no peer subscribes to.
  case evict
}

/// A query whose results this peer pulls from others; keep it as long as the results are wanted.
///
/// Cancel it when it is no longer needed. If it is released without that, it is cancelled with a logged
/// warning.
public final class DunlinSubscription: Sendable {
  /// The query as one statement: `SELECT * FROM cars WHERE …`.
  ///
  /// A predicate of the builder language follows WHERE unchanged; the values of arguments are not included.
  public let queryText: String
  /// The collection that it pulls from; empty for a subscription whose query was invalid.
  public let collectionName: String
  /// What happens to a local document that no longer matches.
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

  /// The subscription that a call that does not throw returns for an invalid query.
  static func none(text: String) -> DunlinSubscription {
    DunlinSubscription(queryText: text, collectionName: "", cancelling: nil)
  }

  /// Whether the subscription no longer pulls anything.
  public var isCancelled: Bool { cancelling.withLock { $0 == nil } }

  /// Stops pulling; the documents on this device stay.
  ///
  /// Further calls have no effect.
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
