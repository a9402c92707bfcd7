import CRDTCore
import DocStore
import Failpoints

/// Resuming from a receiver's checkpoint, following this store's log, and sending checkpoint messages.
extension Pusher {
  /// The shortest time between two checkpoint messages while groups are sent.
  static var markInterval: Duration { .milliseconds(250) }
  /// The shortest time between two checkpoint messages that only report commits that do not concern the
  /// receiver.
  static var quietMarkInterval: Duration { .seconds(30) }

  /// Resumes from a receiver's checkpoint, if the log still has that commit and the policy is the same.
  ///
  /// Local writes after the HLC timestamp `unaskedAfter` are sent without an announcement.
  func resume(_ frame: ResumeFrame, unaskedAfter: ClockReading?) throws(SyncError) {
    try context.checkOwnLog(at: SeenFrame.Place(sequence: frame.sequence, commitCheck: frame.commitCheck))
    let policy = context.policyPrint
    let end =
      subscribed.wasOwedBefore || renewal.isOpen
      ? nil : try context.readLog { try walkEnd(frame, policy, $0) }
    let verdict: ResumedFrame.Verdict = end == nil ? .restart : .follows
    let answer = ResumedFrame(generation: frame.generation, verdict: verdict, sequence: end ?? 0)
    context.send(.resumed) { answer.encode(to: &$0) }
    guard let end else { return }
    holding.follow()
    log.policyPrint = policy
    log.isResumed = true
    log.unaskedAfter = unaskedAfter
    log.toldThrough = frame.sequence
    log.settled = end
    graph.begin(after: frame.sequence)
    if end == frame.sequence {
      holding.settle()
      log.followed = end
      log.marked = LogPlace.Mark(sequence: end, asksTaken: log.asksTaken, after: queue.taken)
      log.markedAt = context.now
    } else {
      log.walk = LogWalk(after: frame.sequence)
      log.isAnnouncing = true
    }
  }

  /// Stops binding announced transactions, once the receiver has requested and received what it lacks of
  /// them.
  func settleAnnouncements() {
    guard log.isAnnouncing || log.resumedThrough > 0, requests.isEmpty, !requests.hasPartial, isDrained
    else { return }
    log.resumedThrough = 0
    guard log.isAnnouncing else { return }
    log.isAnnouncing = false
    if log.followed != nil { holding.settle() }
  }

  /// Processes the receiver's answer to a ping.
  func answered(_ nonce: UInt64) { log.pace.answered(nonce) }

  /// Returns the end of the log that is walked from a receiver's checkpoint; `nil` if the receiver cannot
  /// resume.
  private func walkEnd(
    _ frame: ResumeFrame, _ policy: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> UInt64? {
    guard frame.sequence >= transaction.logStart, frame.sequence <= transaction.sequence,
      try transaction.commitCheck(at: frame.sequence) == frame.commitCheck,
      frame.policyCheck == ResumeFrame.check(policy: policy)
    else { return nil }
    var documents = 0
    try transaction.changes(after: frame.sequence) { entry in
      // The receiver must learn of evicted tombstones by id; an incomplete list of them cannot be walked.
      documents += entry.isEvictionComplete ? entry.memberCount : .max / 2
      return documents <= context.tuning.walkedDocuments
    }
    return documents <= context.tuning.walkedDocuments ? transaction.sequence : nil
  }

  /// Records that the peer has everything that was announced and sent.
  func noteTold() {
    if let told = log.toldThrough { log.toldThrough = max(told, log.followed ?? 0, lastCommitted) }
  }

  /// Records that the peer no longer follows the log.
  ///
  /// The puller then repeats its notices for the commits that the peer may have missed.
  func stopTelling() {
    guard let told = log.toldThrough else { return }
    log.toldThrough = nil
    log.fellBehindAt = min(told, log.fellBehindAt ?? .max)
  }

  /// Returns which documents of a collection the peer learns of because it follows this log; `nil` if it
  /// does not.
  func followedLog(of collection: Collection) -> FollowedLog? {
    guard let told = log.toldThrough, concerns(collection.name),
      let matcher = interest.matcher(for: collection)
    else { return nil }
    return FollowedLog(after: told, matcher: matcher)
  }

  // MARK: - Checkpoint messages

  /// Whether everything that is known to concern the receiver, and all that it requested, was handed to the
  /// send queue.
  private var isQueueEmpty: Bool {
    log.walk == nil && !isApplying && !reconciliation.isActive && holding != .awaited
      && !reconciliation.isClosing
      && reconciliation.responder.questionCount == 0
      && requests.isEmpty && !requests.hasPartial && live.isEmpty && !telling.isWaiting && !telling.hasTasks
      && motion.convergedCount == 0
  }

  /// When the next checkpoint message is due; `nil` while there is none to send.
  var markTime: Duration? {
    guard let followed = log.followed, log.waiting == nil, isQueueEmpty else { return nil }
    let sequence = max(followed, lastCommitted)
    guard let marked = log.marked else { return context.now }
    guard marked.sequence != sequence || marked.asksTaken != log.asksTaken else { return nil }
    if marked.asksTaken != log.asksTaken { return context.now }
    let isQuiet = marked.after == queue.taken && !log.isMoved
    return log.markedAt + (isQuiet ? Self.quietMarkInterval : Self.markInterval)
  }

  /// Queues the checkpoint message up to which the receiver has been served, if it is time.
  func setMark() throws(SyncError) {
    guard let time = markTime, time <= context.now, let followed = log.followed else { return }
    let mark = LogPlace.Mark(
      sequence: max(followed, lastCommitted), asksTaken: log.asksTaken, after: queue.taken)
    log.waiting = mark
    if SyncDefect.markAhead.isPlanted { return try send(mark) }
    queue.add(.mark(mark))
  }

  /// Sends a checkpoint message, unless what it says has become doubtful since it was queued.
  func send(_ mark: LogPlace.Mark) throws(SyncError) {
    guard log.waiting == mark else { return }
    // After a policy change during this call, the peer must first reconcile what the policy had withheld.
    guard context.isPolicyCurrent else { return log.waiting = nil }
    // The peer's checkpoint must not pass a document that was withheld without a notice.
    context.tellWithheld()
    log.waiting = nil
    log.isMoved = false
    log.marked = mark
    log.markedAt = context.now
    guard let commit = try context.readLog({ try $0.commitCheck(at: mark.sequence) }) else { return }
    let frame = MarkFrame(
      sequence: mark.sequence, commitCheck: commit, policyPrint: log.policyPrint,
      asksTaken: mark.asksTaken)
    context.send(.mark) { frame.encode(to: &$0) }
  }
}
