import CRDTCore
import DocStore
import Failpoints

/// Changes that come faster than the link are not kept in memory: they are announced later from the log.
extension Pusher {
  /// Drops the waiting changes, and queues no new ones until a log walk has caught up.
  func fallBehind(from place: UInt64) throws(SyncError) {
    let first = live.firstSequence ?? .max
    var start = min(place, first - 1)
    dropLive()
    // The reconciliation of everything finds all that was stored when it began.
    start = max(start, log.settled)
    if let walk = log.walk { start = min(start, walk.place) }
    let isKnown = reconciliation.isActive || log.followed != nil || log.walk != nil
    guard isKnown, try context.read({ start >= $0.logStart }) else { return compareInstead() }
    SyncPoint.fellBehind.reached()
    log.walk = LogWalk(after: start, isBacklog: true, documents: log.walk?.documents ?? 0)
    log.waiting = nil
    log.fellBehindAt = min(start, log.fellBehindAt ?? .max)
  }

  /// Drops the changes that wait.
  func dropLive() {
    live.removeAll()
    motion.removeSent()
  }

  /// Makes the peer reconcile everything: too much has changed to be announced, or the changes are unknown.
  func compareInstead() {
    dropLive()
    holding = .awaited
    renew()
  }

  /// Records that commits up to `sequence` were not reported to this session.
  func lostCommits(through sequence: UInt64) throws(SyncError) {
    guard sequence > lastCommitted else { return }
    let told = lastCommitted
    lastCommitted = sequence
    guard generation != nil, !interest.isEmpty, holding != .awaited else {
      log.fellBehindAt = min(told, log.fellBehindAt ?? .max)
      return
    }
    // Documents that ceased to match in these commits are unknown.
    watch.loseTrack()
    try fallBehind(from: told)
    log.fellBehindAt = min(told, log.fellBehindAt ?? .max)
  }

  /// Whether the receiver keeps up with the announcements and has been sent what it requested.
  var canWalk: Bool {
    log.pace.isOpen && requests.isEmpty && announcing.openDocuments < context.tuning.announcedDocuments
      && (log.unaskedAfter == nil || hasRoomToPush)
  }
}

/// Limits the announcements in flight, which the flow window does not count, to what the receiver has
/// processed.
struct AnnouncementPace {
  /// Bytes of announcements after which a ping is sent, and after which the next ones wait for its answer.
  static let stepBytes = 32 << 10
  private(set) var nonce: UInt64?
  private var byteCount = 0

  var isOpen: Bool { nonce == nil || byteCount < Self.stepBytes }

  /// Counts announcements.
  ///
  /// - Returns: The nonce of the ping that must follow them, if one must.
  mutating func sent(_ bytes: Int, nonce draw: () -> UInt64) -> UInt64? {
    byteCount += bytes
    guard nonce == nil, byteCount >= Self.stepBytes else { return nil }
    nonce = draw()
    byteCount = 0
    return nonce
  }

  mutating func answered(_ nonce: UInt64) {
    if self.nonce == nonce { self.nonce = nil }
  }
}

extension [AnnouncedDocument] {
  /// Approximate bytes on the wire.
  var byteCount: Int { reduce(2) { $0 + $1.byteCount } }
}
