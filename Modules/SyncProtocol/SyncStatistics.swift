/// What a session has moved so far.
public struct SyncStatistics: Hashable, Sendable {
  /// Bytes of frames, as on the wire.
  public var bytesSent: UInt64 = 0
  public var bytesReceived: UInt64 = 0
  /// Bytes of groups before compression.
  public var plainBytesSent: UInt64 = 0
  public var plainBytesReceived: UInt64 = 0
  /// Bytes of groups after compression, without the frames around them.
  public var packedBytesSent: UInt64 = 0
  public var packedBytesReceived: UInt64 = 0
  public var framesSent: UInt64 = 0
  public var framesReceived: UInt64 = 0
  public var documentsSent: UInt64 = 0
  public var documentsReceived: UInt64 = 0
  /// Plain bytes of large groups that an earlier link had brought and that were not sent again.
  public var resumedBytes: UInt64 = 0
  /// Documents received that changed something here.
  public var documentsChanged: UInt64 = 0
  public var groupsSent: UInt64 = 0
  public var groupsReceived: UInt64 = 0
  /// Groups dropped because this peer lacked what they build on, and asked for again.
  public var groupsMissingBase: UInt64 = 0
  /// Groups received all of which was here already.
  public var groupsKnown: UInt64 = 0
  /// Groups told of in place of being sent.
  public var groupsAnnounced: UInt64 = 0
  /// Groups that the peer told of.
  public var groupsHeard: UInt64 = 0
  /// Groups that the peer told of and that it was asked for.
  public var groupsPulled: UInt64 = 0
  /// Exchanges that reconciliation took as the receiver.
  public var roundTrips: UInt64 = 0

  public init() {}
}
