/// The progress of both directions of a session.
public struct SyncProgress: Hashable, Sendable {
  /// The commit of this store up to which the peer has applied everything that concerns it.
  ///
  /// `nil` while that is uncertain, and for a peer that pulls nothing; 0 before this store's first commit.
  public var confirmedSequence: UInt64?
  /// Whether everything that the peer had when the current subscriptions began is applied and durable here.
  public var isCaughtUp = false
  /// How far the current pull, or the last one, has come.
  public var pull = PullProgress()
  /// When documents from the peer were last applied, by the session's clock; `nil` before the first.
  public var lastUpdate: Duration?
  /// The unreadable ranges found so far, caused by damaged pages.
  ///
  /// If there are any, ``confirmedSequence`` and ``isCaughtUp`` are never set again.
  public var unreadable: [UnreadableRange] = []
  /// How many other documents are damaged individually, with the same effect.
  public var damagedDocuments = 0
  /// How many documents of the peer are too large to merge with the local ones, with the same effect.
  public var refusedDocuments = 0
  /// Whether the peer has reported that it cannot read or merge everything, with the same effect.
  public var isPeerUnreadable = false

  /// How many documents of the peer's interest are withheld because they are too large to send.
  ///
  /// Meanwhile ``confirmedSequence`` and ``isCaughtUp`` are not set.
  public var withheldDocuments = 0
  /// How many documents the peer withholds, with the same effect.
  public var documentsWithheldByPeer = 0

  /// Whether either end cannot read all of its store, or cannot merge all of the other's.
  public var isAnythingUnreadable: Bool {
    isPeerUnreadable || !unreadable.isEmpty || damagedDocuments > 0 || refusedDocuments > 0
  }

  /// Whether either end withholds documents that are too large to send.
  public var isAnythingWithheld: Bool { withheldDocuments > 0 || documentsWithheldByPeer > 0 }

  public init() {}
}
