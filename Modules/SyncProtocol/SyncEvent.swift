public import CRDTCore

/// What the peer said about itself.
public struct PeerInfo: Hashable, Sendable {
  public let kind: PeerKind
  @TextKey public private(set) var name: String
  public let site: SiteID
  /// The instance of the peer's store: another one after a restore or a copy.
  public let logEpoch: UInt64
  /// The protocol version that both ends speak.
  public let version: UInt16

  public init(kind: PeerKind, name: String, site: SiteID, logEpoch: UInt64, version: UInt16) {
    self.kind = kind
    self.name = name
    self.site = site
    self.logEpoch = logEpoch
    self.version = version
  }
}

/// What an application or a log may want to know of a session's course.
public enum SyncEvent: Hashable, Sendable {
  /// The peers have met; everything else comes after this.
  case connected(PeerInfo)
  /// All that the peer had for the subscriptions of this generation is applied and durable here.
  case caughtUp(generation: UInt64)
  /// A document above the hard limit was kept back, as the peer holds nothing of it; told once a document and session. Neither end
  /// counts as caught up while there is one.
  case oversize(collection: String, id: DocumentID, byteCount: Int)
  /// An incoming document was dropped; told once a collection, reason and session.
  case refused(collection: String, reason: String)
  /// A group was too large to be sent whole and went out in parts, or there was no room here to put its parts aside:
  /// it becomes visible part by part. Of one that comes in the numbers say what had come by then.
  case groupSplit(documents: Int, byteCount: Int)
  /// A record here is damaged: it was neither sent nor counted, and neither end counts as caught up in this session; told
  /// once a document and session.
  ///
  /// Of some damaged records not even the id can be told. `Store.verify` names all.
  case damaged(collection: String, id: DocumentID?)
  /// Documents here cannot be read, since a page of the store is damaged: they are neither sent nor counted, what comes for
  /// them is not taken in, and neither end counts as caught up in this session. Told once a range and session.
  case unreadable(UnreadableRange)
  /// A part of the log here cannot be read, from the first of two commits up to the second, where they are known: what it
  /// tells is found by comparing, and its transactions may arrive in parts. Told once a part and session.
  case unreadableLog(from: UInt64?, to: UInt64?)
  /// The peer cannot read all of its store, or merge all that comes: neither end counts as caught up in this session.
  case unreadablePeer
  /// The peer keeps back documents that are too large to be sent: neither end counts as caught up meanwhile.
  case withheldByPeer(documents: Int)
  /// There are too many transactions to keep track of: those up to this one may arrive in parts.
  case groupsForgotten(through: UInt64)
  /// Local commits came faster than the link; the log tells what they were, or reconciliation finds the difference.
  case overflow
}
