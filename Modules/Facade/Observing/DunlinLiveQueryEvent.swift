/// What has changed since a live query's handler was last called.
public enum DunlinLiveQueryEvent: Sendable {
  /// The first call, with the present result; it comes once.
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

/// How a live query's documents differ exactly from the previous ones.
///
/// To get the new documents, first remove `deletions` and the moved documents from `oldDocuments`. Then
/// insert the new and the moved documents at their new indexes, from front to back. Finally replace the
/// updated ones.
public struct DunlinLiveQueryUpdate: Sendable {
  /// The documents of the previous call.
  public let oldDocuments: [DunlinDocument]
  /// Indexes in the new documents.
  public let insertions: [Int]
  /// Indexes in the old documents.
  public let deletions: [Int]
  /// Indexes in the new documents of documents that were in the previous result and have changed.
  public let updates: [Int]
  /// Documents that have another place among those that stayed.
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
  /// The document of the previous call; `nil` if there was none.
  public let oldDocument: DunlinDocument?
}

/// Asks for the next call of a handler; calling it again has no effect.
public typealias DunlinSignalNext = @Sendable () -> Void
