import CRDTCore
import DocStore
import Failpoints

/// Resuming from a receiver's checkpoint, and reporting up to which commit the receiver has everything.
extension Pusher {
  /// Resumes from a receiver's checkpoint, if the log still has that commit and the policy is the same.
  ///
  /// Local writes after the HLC timestamp `unaskedAfter` are sent without an announcement.
  func resume(_ frame: ResumeFrame, unaskedAfter: ClockReading?) throws(SyncError) {
    try context.checkOwnLog(at: SeenFrame.Place(sequence: frame.sequence, commitCheck: frame.commitCheck))
    let policy = context.policyHash
    let end =
      peer.subscribed.wasOwedBefore || renewal.isOpen
      ? nil : try context.readLog { try walkEnd(frame, policy, $0) }
    let verdict: ResumedFrame.Verdict = end == nil ? .restart : .follows
    let answer = ResumedFrame(generation: frame.generation, verdict: verdict, sequence: end ?? 0)
    context.send(.resumed) { answer.encode(to: &$0) }
    guard let end else { return }
    peer.holding.follow()
    checkpoints.begin(under: policy)
    feed.resume(after: frame.sequence, through: end, unaskedAfter: unaskedAfter)
    guard end == frame.sequence else { return }
    peer.holding.settle()
    checkpoints.noteKnown(end, after: queue.added, now: context.now)
  }

  /// Returns the end of the log walk from a receiver's checkpoint; `nil` if the receiver cannot resume.
  private func walkEnd(
    _ frame: ResumeFrame, _ policy: UInt64, _ snapshot: borrowing ReadTransaction
  ) throws -> UInt64? {
    guard frame.sequence >= snapshot.logStart, frame.sequence <= snapshot.sequence,
      try snapshot.commitCheck(at: frame.sequence) == frame.commitCheck,
      frame.policyCheck == ResumeFrame.check(policy: policy)
    else { return nil }
    var count = WalkCount(context, peer.interest)
    try snapshot.changes(after: frame.sequence) { entry in
      // The receiver must learn of evicted tombstones by id; an incomplete list of them cannot be walked.
      guard entry.isEvictionComplete else {
        count.isTooMuch = true
        return false
      }
      try count.add(entry, snapshot)
      return !count.isTooMuch
    }
    return count.isTooMuch ? nil : snapshot.sequence
  }

  /// Stops binding announced transactions, once the receiver has got what it lacked of them.
  func settleAnnouncements() {
    guard feed.isAnnouncing || feed.resumedThrough > 0, sender.requests.isEmpty,
      !sender.requests.hasPartial, isDrained
    else { return }
    if feed.settleAnnouncements() { peer.holding.settle() }
  }

  // MARK: - Checkpoint messages

  /// Whether everything for the receiver was handed to the send queue.
  ///
  /// This is everything that is known to concern the receiver, and all that it requested.
  private var isQueueEmpty: Bool {
    feed.isQueued && !isApplying && hasAnswered && !peer.holding.isAwaited
      && !offers.noticeExchange.isWaiting && !offers.noticeExchange.hasTasks
      && sender.motion.convergedCount == 0
  }

  /// Whether no question, request or reconciliation of the receiver is open.
  private var hasAnswered: Bool {
    !peer.reconciliation.isRunning && peer.reconciliation.responder.questionCount == 0
      && sender.requests.isEmpty && !sender.requests.hasPartial
  }

  /// When the next checkpoint message is due; `nil` while there is none to send.
  var markTime: Duration? {
    guard let sequence = feed.servedThrough, isQueueEmpty else { return nil }
    return checkpoints.time(at: sequence, after: queue.added, isMoved: feed.isMoved, now: context.now)
  }

  /// Queues a checkpoint message for the position up to which the receiver has been served, if it is time.
  ///
  /// This is rule 6 in `Documentation/Sync.md`.
  func makeMark() throws(SyncError) {
    if feed.hasFallenBehind { checkpoints.cancel() }
    guard let time = markTime, time <= context.now, let sequence = feed.servedThrough else { return }
    let mark = checkpoints.make(at: sequence, after: queue.added)
    if SyncDefect.markAhead.isPlanted { return try send(mark) }
    queue.add(.mark(mark))
  }

  /// Sends a checkpoint message, unless its content has become doubtful since it was queued.
  func send(_ mark: CheckpointMessages.Mark) throws(SyncError) {
    // After a policy change during this call, the peer must first reconcile what the policy had withheld.
    guard !feed.hasFallenBehind, context.isPolicyCurrent else { return checkpoints.cancel() }
    guard checkpoints.accept(mark, now: context.now) else { return }
    // The peer's checkpoint must not pass a document that was withheld without a notice.
    context.reportWithheld()
    feed.isMoved = false
    guard let commit = try context.readLog({ try $0.commitCheck(at: mark.sequence) }) else { return }
    let frame = MarkFrame(
      sequence: mark.sequence, commitCheck: commit, policyHash: checkpoints.policyHash,
      asksReceived: mark.asksReceived)
    context.send(.mark) { frame.encode(to: &$0) }
  }

  // MARK: - What the peer certainly has

  /// The commit up to which the peer has all that concerns it; `nil` while a document is withheld.
  var confirmedSequence: UInt64? { context.withheld.isEmpty ? peer.holding.confirmed : nil }

  /// Records up to which commit the peer has everything that concerns it, if that is certain.
  ///
  /// Once certain it stays so, until the peer's interest or what it may be sent changes.
  func noteConfirmed() {
    let leaves = context.shared.leaves
    guard peer.generation != nil || peer.subscribed.isNothing else { return }
    guard !peer.interest.isEmpty else {
      if leaves.isInUse { leaves.note(context.id, confirmed: .max) }
      return
    }
    guard !context.unreadable.isAnywhere else {
      if peer.holding.confirmed != nil, leaves.isInUse { leaves.note(context.id, confirmed: 0) }
      return peer.holding.confirm(nil)
    }
    // The batch that is being applied may show that the peer lacks something.
    let isOpen = isApplying || peer.reconciliation.isRunning || !sender.requests.isEmpty || feed.isAnnouncing
    guard peer.holding.isSettled, context.isPolicyCurrent, !isOpen, isDrained else { return }
    // It is 0 for a store that has no commit: its first commit, which may follow, is not confirmed yet.
    let sequence = max(feed.settled, feed.lastCommitted)
    peer.holding.confirm(sequence)
    // Withheld documents do not prevent others from being evicted here.
    if leaves.isInUse { leaves.note(context.id, confirmed: sequence) }
  }
}

/// How much a walk through the log would visit.
///
/// For a receiver that may not read everything, only the documents count that it may read: it sees whether it
/// can resume. To find these, the others are read as well. That work has a far higher limit, so that a
/// receiver that comes from far back does not occupy the store.
///
/// A document that the receiver may not read now, and may have been allowed to read before, must be
/// withdrawn. What the receiver has of it is unknown, so the receiver has to compare.
private struct WalkCount {
  private let context: SessionContext
  private let interest: Interest
  private var documents = 0
  private var work = 0
  /// What the receiver may read of collections, by their numbers: all, some, or nothing.
  private var readable: [UInt32: Readable] = [:]
  /// The collections that the receiver subscribes to and in which a write can hide documents from it.
  private var hiding: Set<UInt32> = []
  /// Whether reconciliation costs less, or is needed.
  var isTooMuch = false

  private enum Readable {
    case all
    case some(ReadRule)
    case nothing
  }

  init(_ context: SessionContext, _ interest: Interest) {
    (self.context, self.interest) = (context, interest)
  }

  /// Adds the documents of an entry.
  mutating func add(_ entry: borrowing LogEntry, _ snapshot: borrowing ReadTransaction) throws {
    let (mostDocuments, mostWork) = (context.tuning.walkedDocuments, context.tuning.walkedWork)
    let access = context.access
    guard access.reading != .everything else {
      documents += entry.memberCount
      isTooMuch = documents > mostDocuments
      return
    }
    for run in entry.runs where readable[run.collection] == nil {
      readable[run.collection] = try Self.readable(run.collection, access, snapshot)
      if case .some(let rule)? = readable[run.collection], rule.dependsOnFields,
        try snapshot.collection(number: run.collection).map({ interest.covers($0.name) }) ?? false
      {
        hiding.insert(run.collection)
      }
    }
    var (documents, work, isHidden) = (documents, work, false)
    let (readable, hiding) = (readable, hiding)
    try entry.forEachMember(
      where: { collection, _ in
        switch readable[collection] ?? .nothing {
        case .all: documents += 1
        case .nothing: break
        case .some:
          work += 1
          return documents <= mostDocuments && work <= mostWork && !isHidden
        }
        return false
      }, damaged: { _ in }
    ) { collection, _, id, _, record in
      if case .some(let rule)? = readable[collection] {
        if rule.allows(id, record) { documents += 1 } else { isHidden = hiding.contains(collection) }
      }
      return documents <= mostDocuments && !isHidden
    }
    (self.documents, self.work) = (documents, work)
    isTooMuch = documents > mostDocuments || work > mostWork || isHidden
  }

  private static func readable(
    _ number: UInt32, _ access: PeerAccess, _ snapshot: borrowing ReadTransaction
  ) throws -> Readable {
    guard let collection = try snapshot.collection(number: number), access.mayRead(collection.name) else {
      return .nothing
    }
    guard var rule = access.partialRule(of: collection.name) else { return .all }
    rule.resolve(collection.keys)
    return .some(rule)
  }
}
