/// How far the two directions of a session have come.
public struct SyncProgress: Hashable, Sendable {
  /// The commit of this store up to which the peer has applied all that concerns it; `nil` while that is not certain, and
  /// for a peer that pulls nothing.
  public var confirmedSequence: UInt64?
  /// Whether all that the peer had for the subscriptions of now, when they began, is applied and durable here.
  public var isCaughtUp = false
  /// When documents from the peer were last applied, by the clock that the session is told; `nil` before the first.
  public var lastUpdate: Duration?
  /// What cannot be read here since pages are damaged, as far as the session has met it; then neither of the first two is
  /// ever set again.
  public var unreadable: [UnreadableRange] = []
  /// How many documents beside those are damaged by themselves; then neither of the first two is set either.
  public var damagedDocuments = 0
  /// How many documents of the peer cannot be merged with those here, since both together are more than a document may be;
  /// then neither of the first two is set either.
  public var refusedDocuments = 0
  /// The same where the peer has said that it cannot read all, or merge all.
  public var isPeerUnreadable = false

  /// How many documents of the peer's interest are kept back here, since they are too large to be sent; then neither of the
  /// first two is set.
  public var withheldDocuments = 0
  /// The same of the peer.
  public var documentsWithheldByPeer = 0

  /// Whether one of both ends is known not to read all of its store, or not to merge all of the other's.
  public var isAnythingUnreadable: Bool {
    isPeerUnreadable || !unreadable.isEmpty || damagedDocuments > 0 || refusedDocuments > 0
  }

  /// Whether one of both ends keeps documents back that are too large to be sent.
  public var isAnythingWithheld: Bool { withheldDocuments > 0 || documentsWithheldByPeer > 0 }

  public init() {}
}
