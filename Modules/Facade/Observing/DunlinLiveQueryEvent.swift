/// What has changed since a live query's handler was last called.
public enum DunlinLiveQueryEvent: Sendable {
  /// The first call, with the result as it is; it comes once.
  case initial
  /// The result has changed.
  case update(DunlinLiveQueryUpdate)

  /// Whether this is the first call.
  public var isInitial: Bool {
    switch self {
    case .initial: true
    case .update: false
    }
  }
}

/// How a live query's documents came from the previous ones, exactly.
///
/// Take `deletions` and the documents that move out of `oldDocuments`, put in insertions and moved documents
/// at their new places from front to back, and replace what was updated: that gives the new documents.
public struct DunlinLiveQueryUpdate: Sendable {
  /// The documents of the call before.
  public let oldDocuments: [DunlinDocument]
  /// Indexes in the new documents.
  public let insertions: [Int]
  /// Indexes in the old documents.
  public let deletions: [Int]
  /// Indexes in the new documents of those that were there and have changed.
  public let updates: [Int]
  /// Documents that stand elsewhere among those that stayed.
  public let moves: [DunlinLiveQueryMove]
}

/// A document that moved.
public struct DunlinLiveQueryMove: Hashable, Sendable {
  /// Its index in the old documents.
  public let from: Int
  /// Its index in the new documents.
  public let to: Int
}

/// What has changed in a live query of one document since its handler was last called.
public struct DunlinSingleDocumentLiveQueryEvent: Sendable {
  /// Whether this is the first call, which comes once.
  public let isInitial: Bool
  /// The document of the call before; `nil` when there was none.
  public let oldDocument: DunlinDocument?
}

/// Asks for the next call of a handler; calling it again has no effect.
public typealias DunlinSignalNext = @Sendable () -> Void
