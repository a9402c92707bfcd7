import Synchronization

/// A query whose results this peer pulls from others; keep it as long as they are wanted.
///
/// Cancel it before you let go of it: one that is let go of is cancelled all the same, with a logged warning.
public final class DunlinSubscription: Sendable {
  /// The query's text: a statement of DQL, or a predicate of the builder language.
  public let queryText: String
  /// The collection that it pulls from; empty for one that was never valid.
  public let collectionName: String
  private let cancelling: Mutex<(@Sendable (_ wasLost: Bool) -> Void)?>

  init(
    queryText: String, collectionName: String, cancelling: (@Sendable (_ wasLost: Bool) -> Void)?
  ) {
    self.queryText = queryText
    self.collectionName = collectionName
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
