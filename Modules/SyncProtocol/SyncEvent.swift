public import CRDTCore

/// What the peer has sent about itself.
public struct PeerInfo: Hashable, Sendable {
  public let kind: PeerKind
  @TextKey public private(set) var name: String
  public let site: SiteID
  /// Identifies the log of the peer's store; it changes after a restore or a copy.
  public let logEpoch: UInt64
  /// The protocol version that both ends speak.
  public let version: UInt16
  /// Identifies the opening of the peer's store, if the peer has sent that.
  package let incarnation: UInt16?

  public init(kind: PeerKind, name: String, site: SiteID, logEpoch: UInt64, version: UInt16) {
    self.init(
      kind: kind, name: name, site: site, logEpoch: logEpoch, version: version, incarnation: nil)
  }

  package init(
    kind: PeerKind, name: String, site: SiteID, logEpoch: UInt64, version: UInt16, incarnation: UInt16?
  ) {
    self.kind = kind
    self.name = name
    self.site = site
    self.logEpoch = logEpoch
    self.version = version
    self.incarnation = incarnation
  }
}

/// An event of a session, for applications and logs.
public enum SyncEvent: Hashable, Sendable {
  /// The session is open; this event precedes all others.
  case connected(PeerInfo)
  /// Everything that the peer had for the subscriptions of this generation is applied and durable here.
  case caughtUp(generation: UInt64)
  /// A document above the hard limit is withheld, since the peer does not hold it.
  ///
  /// The event occurs once per document and session. Neither end counts as caught up while there is such a
  /// document.
  case oversize(collection: String, id: DocumentID, byteCount: Int)
  /// An incoming document was dropped; once per collection, reason and session.
  case refused(collection: String, reason: String)
  /// A transaction is not atomic: it becomes visible segment by segment.
  ///
  /// It was too large to send as a whole, or there was no room here to stage its segments. For a received
  /// transaction, the numbers are what had arrived by then.
  case groupSplit(documents: Int, byteCount: Int)
  /// A local record is damaged, and is neither sent nor counted; once per document and session.
  ///
  /// Neither end counts as caught up in this session. For some damaged records even the id is unknown.
  /// `Store.verify` lists all of them.
  case damaged(collection: String, id: DocumentID?)
  /// Documents here are unreadable because a page of the store is damaged; once per range and session.
  ///
  /// They are neither sent nor counted, and incoming data for them is dropped. Neither end counts as caught
  /// up in this session.
  case unreadable(UnreadableRange)
  /// A part of the local log is unreadable: from one commit up to another, where they are known.
  ///
  /// Reconciliation finds the changes in it, and its transactions may arrive in parts. The event occurs once
  /// per part and session.
  case unreadableLog(from: UInt64?, to: UInt64?)
  /// The peer cannot read all of its store, or cannot merge all incoming data.
  ///
  /// Neither end counts as caught up from then on.
  case unreadablePeer
  /// The peer withholds documents that are too large to send: neither end counts as caught up meanwhile.
  case withheldByPeer(documents: Int)
  /// There are too many transactions to track: those up to this one may arrive in parts.
  case groupsForgotten(through: UInt64)
  /// Local commits came faster than the link: the log or reconciliation supplies their changes.
  case overflow
  /// The peer has sent its wall clock, in milliseconds since 1970: this store's clock seems to be ahead.
  case wallClock(milliseconds: UInt64)
}
