import CRDTCore
import DocStore
import Failpoints

/// This store's changes for one peer, which are sent in the order of their commits.
///
/// Each commit is examined once, when it is made. Its changes that concern the peer wait in memory until the
/// link has room. If too much waits, all of it is dropped, and read from the log later. The changes since a
/// receiver's checkpoint come from the log as well.
///
/// A change from the log is announced, and the receiver requests what it lacks of it. Local writes are sent
/// immediately to a receiver that gets changes from no other peer.
final class ChangeFeed {
  let context: SessionContext
  let peer: ServedPeer
  let sender: DocumentSender
  let offers: OfferSender
  /// Changes that wait to be sent.
  var live = LiveQueue()
  /// Documents that the peer may no longer read, with the sequences of the commits that hid them.
  var withdrawn: [(sequence: UInt64, withdrawal: Withdrawal)] = []
  /// Whether commits were missed that may have hidden documents from the peer.
  var mayMissWithdrawals = false
  /// The announcements that the peer has not settled.
  var announcing = Announcing()
  /// The last commit that was examined.
  var lastCommitted: UInt64 = 0
  /// Whether a commit since the last checkpoint message concerns the peer, whatever its origin.
  var isMoved = false

  /// The last commit covered by a reconciliation of everything or by following the log; 0 before either.
  private(set) var settled: UInt64 = 0
  /// The sequence up to which the receiver was reconciled or the log was walked; `nil` before either.
  var followed: UInt64?
  /// The current walk through the log.
  var walk: LogWalk?
  /// The last local HLC timestamp whose writes the receiver has.
  ///
  /// It is `nil` if later writes are not pushed eagerly.
  private(set) var unaskedAfter: ClockReading?
  /// The log position up to which the receiver knows this store's changes, while it follows the log.
  ///
  /// Of later changes it learns by announcements, or live.
  private(set) var reportedThrough: UInt64?
  /// The sequence up to which transactions were announced; the receiver may have only a part of each.
  var resumedThrough: UInt64 = 0
  /// The flow control of announcements.
  var pace = AnnouncementPace()
  /// Whether announcements from the log were made that the receiver has not settled.
  var isAnnouncing = false
  /// The position after which the peer may have missed changes: the puller repeats its notices from there.
  private var fellBehindAt: UInt64?

  init(_ sender: DocumentSender, _ offers: OfferSender) {
    context = sender.context
    peer = sender.peer
    self.sender = sender
    self.offers = offers
  }

  /// Whether changes are not queued, because a walk finds them.
  var isBehind: Bool { walk?.isBacklog ?? false }

  /// Whether everything that is known to concern the peer was handed to the send queue, or announced.
  var isQueued: Bool { walk == nil && live.isEmpty && withdrawn.isEmpty }
  /// The commit up to which that is so, once nothing waits; `nil` before the peer reconciles or resumes.
  var servedThrough: UInt64? { followed.map { max($0, lastCommitted) } }
  /// Whether everything is sent or announced, and every announcement is settled.
  var isDrained: Bool {
    live.isEmpty && walk == nil && announcing.firstOpen == nil && withdrawn.isEmpty
  }

  // MARK: - Beginnings and ends

  /// Begins at a receiver's checkpoint, through the log up to `end`.
  ///
  /// Local writes after the HLC timestamp `unaskedAfter` are sent without an announcement.
  func resume(after sequence: UInt64, through end: UInt64, unaskedAfter: ClockReading?) {
    peer.isResumed = true
    self.unaskedAfter = unaskedAfter
    reportedThrough = sequence
    settled = end
    sender.graph.begin(after: sequence)
    if end == sequence {
      followed = end
    } else {
      walk = LogWalk(after: sequence)
      isAnnouncing = true
    }
  }

  /// Begins with a reconciliation, which covers all commits up to its start.
  func reconcile(isOfAll: Bool) {
    let start = peer.reconciliation.start
    if isOfAll { settled = start }
    // Changes that were not queued must still be found, whatever the peer reconciles.
    if !isBehind { walk = nil }
    resumedThrough = 0
    stopReporting()
    // Transactions in flight bind their documents, too: the peer may skip one and be sent a part of it with
    // something else.
    let bound = firstUnconfirmed.map { $0 - 1 } ?? .max
    sender.graph.begin(
      at: start, boundAfter: min(bound, walk?.announcedThrough ?? .max), limit: context.tuning.transactionRuns
    )
  }

  /// Records that a reconciliation is over: the peer follows from its start on.
  ///
  /// A later reconciliation may have covered some collections only.
  func settle() { followed = followed ?? peer.reconciliation.start }

  /// Serves the peer under another interest from now on.
  ///
  /// It does not wait for answers to what was announced under the previous one.
  func changeInterest() {
    stopReporting()
    isAnnouncing = false
  }

  /// Forgets what a reconciliation of everything has covered.
  func doubt() { settled = 0 }

  /// Stops until the peer reconciles everything again.
  func renew() {
    doubt()
    followed = nil
    walk = nil
    stopReporting()
  }

  /// Begins anew, for an interest under which the peer reconciles everything or resumes.
  func startAnew() {
    drop()
    renew()
    (isMoved, unaskedAfter, resumedThrough, isAnnouncing) = (false, nil, 0, false)
    pace = AnnouncementPace()
  }

  /// Stops binding announced transactions: the peer has received what it lacked of them.
  ///
  /// - Returns: Whether it has everything up to the end of a walk.
  func settleAnnouncements() -> Bool {
    resumedThrough = 0
    defer { isAnnouncing = false }
    return isAnnouncing && followed != nil
  }

  /// Forgets recent transactions that the peer has acknowledged.
  func forgetConfirmed() {
    // The receiver may have any part of what was only announced since its checkpoint.
    guard walk == nil else { return }
    sender.graph.remove(after: resumedThrough, before: min(firstUnconfirmed ?? .max, lastCommitted &+ 1))
  }

  /// Drops the changes that wait.
  func drop() {
    live.removeAll()
    sender.motion.removeSent()
  }

  /// Makes the peer reconcile everything: too much has changed to be announced, or the changes are unknown.
  func compareInstead() {
    drop()
    // The peer will name what it holds and is not shown.
    withdrawn = []
    peer.compareInstead()
  }

  /// Returns the position after which the peer may have missed changes, once.
  func removeFellBehind() -> UInt64? {
    defer { fellBehindAt = nil }
    return fellBehindAt
  }

  /// Whether the peer may have missed changes of which the puller does not know yet.
  var hasFallenBehind: Bool { fellBehindAt != nil }

  private func noteBehind(from place: UInt64) { fellBehindAt = min(place, fellBehindAt ?? .max) }

  /// Drops the waiting changes, and queues no new ones until a log walk has caught up.
  func fallBehind(from place: UInt64) throws(SyncError) {
    let first = live.firstSequence ?? .max
    var start = min(place, first - 1)
    drop()
    // The reconciliation of everything finds all that was stored when it began.
    start = max(start, settled)
    if let walk = walk { start = min(start, walk.announcedThrough) }
    let isKnown = peer.reconciliation.isActive || followed != nil || walk != nil
    guard isKnown, try context.read({ start >= $0.logStart }) else { return compareInstead() }
    SyncPoint.fellBehind.reached()
    walk = LogWalk(
      after: start, isBacklog: true, documents: walk?.documents ?? 0, work: walk?.work ?? 0)
    noteBehind(from: start)
  }

  /// Records that commits up to `sequence` were not reported to this session.
  func lostCommits(through sequence: UInt64) throws(SyncError) {
    guard sequence > lastCommitted else { return }
    let reported = lastCommitted
    lastCommitted = sequence
    guard peer.generation != nil, !peer.interest.isEmpty, !peer.holding.isAwaited else {
      noteBehind(from: reported)
      return
    }
    // Documents that ceased to match in these commits are unknown.
    peer.watch.loseTrack()
    mayMissWithdrawals = true
    try fallBehind(from: reported)
    noteBehind(from: reported)
  }

  /// Whether the receiver keeps up with the announcements and has been sent what it requested.
  var canWalk: Bool {
    pace.isOpen && sender.requests.isEmpty && announcing.openDocuments < context.tuning.announcedDocuments
      && (unaskedAfter == nil || hasRoomToPush)
  }

  /// Records that the peer has everything that was announced and sent.
  func noteReported() {
    if let reported = reportedThrough { reportedThrough = max(reported, followed ?? 0, lastCommitted) }
  }

  /// Records that the peer no longer follows the log.
  ///
  /// The puller then repeats its notices for the commits that the peer may have missed.
  func stopReporting() {
    guard let reported = reportedThrough else { return }
    reportedThrough = nil
    noteBehind(from: reported)
  }

  /// Returns which documents of a collection the peer learns of because it follows this log.
  ///
  /// It is `nil` if the peer does not follow the log.
  func followedLog(of collection: Collection) -> FollowedLog? {
    guard let reported = reportedThrough, peer.concerns(collection.name),
      let matcher = peer.interest.matcher(for: collection)
    else { return nil }
    return FollowedLog(after: reported, matcher: matcher)
  }

  /// The lowest sequence of a live transaction that waits, is in flight or is announced.
  ///
  /// The peer may still skip such a transaction.
  var firstUnconfirmed: UInt64? {
    [sender.queue.firstUnacknowledged(), live.firstSequence, announcing.firstOpen].compactMap { $0 }.min()
  }
}
