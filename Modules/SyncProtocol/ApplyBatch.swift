/// Groups of documents from the peer, validated, for one write transaction.
public struct ApplyBatch: Sendable {
  /// Names the batch in `Session.applied`.
  public let ticket: UInt64
}
