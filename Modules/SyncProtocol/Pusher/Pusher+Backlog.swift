import CRDTCore
import DocStore
import Failpoints

/// Changes that came faster than the link are not kept in memory: the log has them, and they are announced from there.
extension Pusher {
  /// Drops the changes that wait, and those to come until the log has been gone through from them on.
  func fallBehind(from place: UInt64) throws(SyncError) {
    let first = live.firstSequence ?? .max
    var start = min(place, first - 1)
    dropLive()
    // What there was when everything began to be compared is found by that.
    start = max(start, log.settled)
    if let walk = log.walk { start = min(start, walk.place) }
    let isKnown = reconciliation.isActive || log.followed != nil || log.walk != nil
    guard isKnown, try context.read({ start >= $0.logStart }) else { return compareInstead() }
    SyncPoint.fellBehind.reached()
    log.walk = LogWalk(after: start, isBacklog: true, documents: log.walk?.documents ?? 0)
    log.waiting = nil
    log.fellBehindAt = min(start, log.fellBehindAt ?? .max)
  }

  /// Lets go of the changes that wait.
  func dropLive() {
    live.removeAll()
    underWay.removeAll()
  }

  /// Has the peer compare all: what changed is too much to be announced, or nobody knows any more what it was.
  func compareInstead() {
    dropLive()
    holding = .awaited
    renew()
  }

  /// Commits up to `sequence` were not told.
  func lostCommits(through sequence: UInt64) throws(SyncError) {
    guard sequence > lastCommitted else { return }
    let told = lastCommitted
    lastCommitted = sequence
    guard generation != nil, !interest.isEmpty, holding != .awaited else {
      log.fellBehindAt = min(told, log.fellBehindAt ?? .max)
      return
    }
    // What ceased to match in them was not noticed.
    watch.loseTrack()
    try fallBehind(from: told)
    log.fellBehindAt = min(told, log.fellBehindAt ?? .max)
  }

  /// Whether the receiver keeps up with announcements and has been answered what it wanted.
  var canWalk: Bool {
    log.pace.isOpen && requests.isEmpty && announcing.openDocuments < context.tuning.announcedDocuments
      && (log.unaskedAfter == nil || hasRoomToPush)
  }
}

/// How many announcements are on their way, which no window counts: as many as the receiver has let pass.
struct AnnouncementPace {
  /// Bytes of announcements after which a ping goes out, and after which the next wait for its answer.
  static let stepBytes = 32 << 10
  private(set) var nonce: UInt64?
  private var byteCount = 0

  var isOpen: Bool { nonce == nil || byteCount < Self.stepBytes }

  /// Counts announcements.
  ///
  /// - Returns: What the ping that is to follow them carries, if one is.
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
  /// About their bytes on the wire.
  var byteCount: Int { reduce(2) { $0 + $1.byteCount } }
}
