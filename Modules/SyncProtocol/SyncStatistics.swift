/// What a session has transferred so far.
public struct SyncStatistics: Hashable, Sendable {
  /// Bytes of frames on the wire.
  public var bytesSent: UInt64 = 0
  public var bytesReceived: UInt64 = 0
  /// Bytes of transactions before compression.
  public var plainBytesSent: UInt64 = 0
  public var plainBytesReceived: UInt64 = 0
  /// Bytes of transactions after compression, without frame overhead.
  public var packedBytesSent: UInt64 = 0
  public var packedBytesReceived: UInt64 = 0
  public var framesSent: UInt64 = 0
  public var framesReceived: UInt64 = 0
  public var documentsSent: UInt64 = 0
  public var documentsReceived: UInt64 = 0
  /// Plain bytes of large transactions that an earlier link had delivered, so that they were not sent again.
  public var resumedBytes: UInt64 = 0
  /// Received documents that changed local data.
  public var documentsChanged: UInt64 = 0
  public var transactionsSent: UInt64 = 0
  public var transactionsReceived: UInt64 = 0
  /// Transactions dropped because their base was missing, and requested again.
  public var transactionsMissingBase: UInt64 = 0
  /// Received transactions that were already known completely.
  public var transactionsKnown: UInt64 = 0
  /// Transactions announced instead of sent.
  public var transactionsAnnounced: UInt64 = 0
  /// Transactions that the peer announced.
  public var transactionsHeard: UInt64 = 0
  /// Transactions that the peer announced and this peer requested.
  public var transactionsPulled: UInt64 = 0
  /// Round trips of reconciliation as the receiver.
  public var roundTrips: UInt64 = 0

  public init() {}
}
