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
    var documents = 0
    try snapshot.changes(after: frame.sequence) { entry in
      // The receiver must learn of evicted tombstones by id; an incomplete list of them cannot be walked.
      documents += entry.isEvictionComplete ? try memberCount(entry, snapshot) : .max / 2
      return documents <= context.tuning.walkedDocuments
    }
    return documents <= context.tuning.walkedDocuments ? snapshot.sequence : nil
  }

  /// Returns how many documents of a log entry a walk would visit.
  ///
  /// For a receiver that may not read all of them, these are only those that it may read.
  private func memberCount(
    _ entry: borrowing LogEntry, _ snapshot: borrowing ReadTransaction
  ) throws -> Int {
    guard context.access.reading != .everything else { return entry.memberCount }
    var count = 0
    var collections: [UInt32: Collection] = [:]
    for run in entry.runs where collections[run.collection] == nil {
      collections[run.collection] = try snapshot.collection(number: run.collection)
    }
    let gatekeeper = context.gatekeeper
    try entry.forEachMember { number, _, id, _, record in
      if let collection = collections[number], gatekeeper?.mayRead(collection, id, record) ?? false {
        count += 1
      }
      return true
    }
    return count
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
