import CRDTCore
import DocStore
import Failpoints

/// Where a receiver goes on, what it has heard of this store's log, and how far it has been served.
extension Pusher {
  /// Marks are set this often at most while groups go out.
  static var markInterval: Duration { .milliseconds(250) }
  /// Marks that only say that nothing concerned the receiver are set this often at most.
  static var quietMarkInterval: Duration { .seconds(30) }

  /// Goes on from a receiver's cursor, if the log still is what it was then.
  ///
  /// What was written here `unaskedAfter` a reading is sent without being announced.
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

  /// Has the receiver say when it has seen all that was announced: by then it has asked for what it lacks.
  func closeAnnouncements() {
    guard log.isAnnouncing, log.walk == nil, log.closing == nil else { return }
    let nonce = context.configuration.random()
    log.isAnnouncing = false
    log.closing = nonce
    context.send(.ping) { $0.writeFixed(nonce) }
  }

  /// Lets go of what binds announced transactions, once the receiver has asked for what it lacks of them and has it.
  func settleAnnouncements() {
    guard log.resumedThrough > 0, log.walk == nil, !log.isAnnouncing, log.closing == nil, requests.isEmpty,
      !requests.hasPartial, isDrained
    else { return }
    log.resumedThrough = 0
  }

  /// Takes the receiver's answer to a ping.
  func answered(_ nonce: UInt64) {
    log.pace.answered(nonce)
    guard log.closing == nonce else { return }
    log.closing = nil
    if log.followed != nil { holding.settle() }
  }

  /// The end of the log that is to be walked from a receiver's cursor; `nil` where it does not go on from there.
  private func walkEnd(
    _ frame: ResumeFrame, _ policy: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> UInt64? {
    guard frame.sequence >= transaction.logStart, frame.sequence <= transaction.sequence,
      try transaction.commitCheck(at: frame.sequence) == frame.commitCheck,
      frame.policyCheck == ResumeFrame.check(policy: policy)
    else { return nil }
    var documents = 0
    try transaction.changes(after: frame.sequence) { entry in
      // Of what was evicted here and is dead the receiver must hear, by name.
      documents += entry.isEvictionComplete ? entry.memberCount : .max / 2
      return documents <= context.tuning.walkedDocuments
    }
    return documents <= context.tuning.walkedDocuments ? transaction.sequence : nil
  }

  /// Takes note that the peer has all that was announced and sent.
  func noteTold() {
    if let told = log.toldThrough { log.toldThrough = max(told, log.followed ?? 0, lastCommitted) }
  }

  /// The peer follows the log no longer: the other half is to tell it of what it may not have heard.
  func stopTelling() {
    guard let told = log.toldThrough else { return }
    log.toldThrough = nil
    log.fellBehindAt = min(told, log.fellBehindAt ?? .max)
  }

  /// What the peer hears of a collection, and of what is held here of it, as it follows this peer's log; `nil` where it
  /// does not.
  func followedLog(of collection: Collection) -> FollowedLog? {
    guard let told = log.toldThrough, concerns(collection.name),
      let matcher = interest.matcher(for: collection)
    else { return nil }
    return FollowedLog(after: told, matcher: matcher)
  }

  // MARK: - Marks

  /// Whether all that is known to concern the receiver has been handed on, and all that it asked for.
  private var isQueueEmpty: Bool {
    log.walk == nil && !isApplying && !reconciliation.isActive && holding != .awaited
      && !reconciliation.isClosing
      && reconciliation.responder.questionCount == 0
      && requests.isEmpty && !requests.hasPartial && live.isEmpty && !isTelling
      && met.isEmpty
  }

  /// When the next mark may be set; `nil` while there is none to set.
  var markTime: Duration? {
    guard let followed = log.followed, log.waiting == nil, isQueueEmpty else { return nil }
    let sequence = max(followed, lastCommitted)
    guard let marked = log.marked else { return context.now }
    guard marked.sequence != sequence || marked.asksTaken != log.asksTaken else { return nil }
    if marked.asksTaken != log.asksTaken { return context.now }
    let isQuiet = marked.after == queue.taken && !log.isMoved
    return log.markedAt + (isQuiet ? Self.quietMarkInterval : Self.markInterval)
  }

  /// Says how far the receiver has been served, when that has gone out.
  func setMark() throws(SyncError) {
    if let time = markTime, time <= context.now, let followed = log.followed {
      log.waiting = LogPlace.Mark(
        sequence: max(followed, lastCommitted), asksTaken: log.asksTaken, after: queue.taken)
    }
    guard let mark = log.waiting, queue.gone.covers(mark.after) || SyncDefect.markAhead.isPlanted else {
      return
    }
    // What the policy has withheld since the call began the peer is to compare anew.
    guard context.isPolicyCurrent else { return }
    // No place in the log that the peer keeps may be beyond what it was not told of.
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
