import CRDTCore
import DocStore
import Failpoints

/// How far the receiver has followed the sender's log.
struct Following {
  /// A high-water mark from the sender, interpreted once everything before it is applied.
  struct Mark {
    let frame: MarkFrame
    /// The position in this peer's own log up to which the sender had acknowledged everything when the mark
    /// arrived.
    ///
    /// The sender queued all its answers to that before the mark.
    var own: UInt64
  }

  /// The latest high-water mark from the sender.
  var mark: Mark?
  /// The checkpoint that is stored or being stored.
  var stored: SyncCheckpoint?
  var storedAt: Duration?
  /// The sender's sequence number at the last full reconciliation; `nil` if that has just ended.
  var compared: UInt64?
  /// The latest commit of this store that the session has processed.
  var told: UInt64 = 0
  /// The latest commit of this store up to which the sender has everything that it must know.
  var own: UInt64 = 0
  /// The end of this store's log when the scan finished; set while some notices of the scan are not sent yet.
  var ownLogEnd: UInt64?
  /// Whether the pusher announces part of the log, instead of the puller sending notices.
  var isAnnouncing = false
  /// Whether the store has refused a document since the last full reconciliation.
  ///
  /// The sender must send it again, so no checkpoint may pass it.
  var isSpoiled = false
  /// What the sender was asked to push eagerly.
  var promise: PullScheduler.Promise?
  /// A hash of what this peer asks for and accepts; see `interestPrint(_:)`.
  var interestPrint: UInt64 = 0
}

/// Resumes where the last session of the same two peers stopped.
///
/// The receiver stores a checkpoint: a position in the sender's log. It is written in the same store
/// transaction as the data that it covers, or in a later one. The sender stores nothing and resumes its log
/// from that position.
extension Puller {
  /// The minimum time between two checkpoints that are written without data.
  static var cursorInterval: Duration { .seconds(5) }

  /// Starts to pull: resumes from the stored checkpoint, or reconciles everything if no checkpoint is valid.
  func begin(_ interest: Interest) throws(SyncError) {
    evicted.epoch = try context.read { $0.evictionEpoch }
    guard !interest.isEmpty, let cursor = try storedCursor(interest) else { return subscribe(to: interest) }
    pull.interest = interest
    pull.generation += 1
    following.interestPrint = interestPrint(interest)
    following.stored = cursor
    following.compared = cursor.compared
    following.own = cursor.own
    isCaughtUpDue = true
    try resume(cursor, isRepeated: false)
  }

  private func resume(_ cursor: SyncCheckpoint, isRepeated: Bool) throws(SyncError) {
    pull.phase = .resuming(cursor, isRepeated: isRepeated)
    let lag = try lag()
    following.promise = lag.flatMap { promise(of: $0) }
    let frame = ResumeFrame(
      generation: pull.generation, interest: pull.interest.hash, sequence: cursor.sequence,
      commitCheck: cursor.commitCheck, policyCheck: ResumeFrame.check(policy: cursor.policyPrint), lag: lag)
    context.send(.resume) { frame.encode(to: &$0) }
  }

  /// Whether the sender may eagerly push its own writes.
  ///
  /// With other sessions, lazy push is used, so that each change is requested only once.
  private var mayGetUnasked: Bool { !context.shared.pulls.hasOthers(than: context.id) }

  /// Returns how far this peer is behind the sender's clock; `nil` if the sender must not push eagerly.
  private func lag() throws(SyncError) -> UInt64? {
    guard mayGetUnasked, let peer = context.peer, let highest = context.peerHighest else { return nil }
    let met = try context.read { try $0.highestReading(of: peer.site) }
    return ResumeFrame.lag(of: met ?? .zero, behind: highest)
  }

  /// Returns what a sender will push eagerly after it has received this lag.
  private func promise(of lag: UInt64) -> PullScheduler.Promise? {
    guard let peer = context.peer, let highest = context.peerHighest else { return nil }
    return PullScheduler.Promise(
      site: peer.site, after: ResumeFrame.met(lag, behind: highest), through: highest)
  }

  /// What the sender has yet to push eagerly.
  var promise: PullScheduler.Promise? {
    switch pull.phase {
    case .resuming, .following: following.promise
    case .idle, .asking, .settling, .done: nil
    }
  }

  /// Returns a hash of the interest, of its collections that the policy accepts, and of the store's epoch.
  func interestPrint(_ interest: Interest) -> UInt64 {
    let gatekeeper = context.gatekeeper
    let accepted = interest.names.filter { gatekeeper?.mayAccept($0) ?? false }
    // A store that takes a new site may have the same versions as its clone with other contents. So the
    // store's epoch is part of the hash, which forces a full reconciliation.
    return accepted.reduce(HashLanes(interest.hash, context.store.epoch, seed: 3)) {
      $0.combined(with: HashLanes($1))
    }.first
  }

  /// Returns the stored checkpoint, if it is still valid.
  ///
  /// It must belong to the sender's current log and to the same interest. This store's own log must reach
  /// back to it, with no more changes since then than may be sent as notices.
  private func storedCursor(_ interest: Interest) throws(SyncError) -> SyncCheckpoint? {
    guard let peer = context.peer else { return nil }
    // A sender that follows this peer's log receives local writes by that, and needs no notices of them.
    let isFollowed = mayGetUnasked && context.shared.interests.hasInterest(of: peer.site)
    let print = interestPrint(interest)
    let gatekeeper = context.gatekeeper
    return try context.readLog { transaction in
      guard let bytes = try transaction.cursor(of: peer.site), let cursor = SyncCheckpoint(bytes),
        cursor.epoch == peer.logEpoch, cursor.interest == print,
        cursor.own >= transaction.logStart, cursor.own <= transaction.sequence
      else { return nil }
      let room = try noticeRoom(transaction, interest)
      let sender = LogOrigin(peer: peer.site)
      if try OwnLogScan.fits(
        isFollowed ? max(room, context.tuning.walkedDocuments) : room, after: cursor.own, transaction,
        sender: sender)
      {
        return cursor
      }
      var scan = OwnLogScan(after: cursor.own, budget: room * 4, room: room, isTrial: true)
      try scan.run(transaction, sender: sender, interest, gatekeeper) { _ in nil }
      return scan.isDone && !scan.isFull ? cursor : nil
    }
  }

  /// Receives the sender's answer to the request to resume.
  func take(_ frame: ResumedFrame) throws(SyncError) {
    guard frame.generation == pull.generation, case .resuming(let cursor, let isRepeated) = pull.phase else { return }
    switch frame.verdict {
    case .follows:
      SyncPoint.cursorFollowed.reached()
      guard frame.sequence >= cursor.sequence else {
        throw SyncError(.malformed, "The peer goes on before the cursor")
      }
      pull.phase = .following(through: frame.sequence)
      if frame.sequence == cursor.sequence {
        // Nothing has happened since the checkpoint, so it counts as a high-water mark.
        let mark = MarkFrame(
          sequence: cursor.sequence, commitCheck: cursor.commitCheck, policyPrint: cursor.policyPrint,
          asksTaken: 0)
        pull.queue.receive(.mark(mark, own: cursor.own))
      }
      ownLogScans.append(PendingLogScan(after: cursor.own))
    case .unknownInterest where !isRepeated:
      SyncPoint.interestRepeated.reached()
      sendInterest()
      try resume(cursor, isRepeated: true)
    case .unknownInterest, .restart:
      SyncPoint.cursorRefused.reached()
      pull.phase = .idle
      pull.due = .everything
    }
  }

  // MARK: - Advancing the checkpoint

  /// Returns whether everything that a mark covers is here, and the sender has answered every request.
  private func isSettled(_ mark: Following.Mark) -> Bool {
    if SyncDefect.cursorAhead.isPlanted { return true }
    guard !telling.isWaiting else { return false }
    // No request may be open or about to be sent: what came before the mark may have caused it.
    guard pull.asksSent == mark.frame.asksTaken, reconciler.wants.isEmpty, reconciler.haves.isEmpty,
      evicted.count == 0, !hasTasks
    else { return false }
    // Transactions announced before the mark are here or requested.
    return !announcements.isOpen
  }

  /// The checkpoint that is valid now.
  ///
  /// No other code decides how far this peer has followed the sender. While requests are open, the older
  /// checkpoint stays, which is always safe.
  var cursorCandidate: SyncCheckpoint? {
    guard pull.phase == .done, pull.due == .nothing, !following.isSpoiled, !context.unreadable.isAnywhere,
      // The next session must find the withheld documents again, so the checkpoint must not pass them.
      context.withheld.byPeer == 0, let mark = following.mark, isSettled(mark), let peer = context.peer
    else { return nil }
    return SyncCheckpoint(
      epoch: peer.logEpoch, sequence: mark.frame.sequence, commitCheck: mark.frame.commitCheck,
      policyPrint: mark.frame.policyPrint, interest: following.interestPrint, own: mark.own,
      compared: following.compared ?? mark.frame.sequence)
  }

  /// Ends the following phase once everything after the checkpoint is here.
  func noteFollowed() {
    noteOwnLog()
    guard case .following(let through) = pull.phase, let mark = following.mark, mark.frame.sequence >= through,
      isSettled(mark)
    else { return }
    pull.phase = .done
    tellCaughtUp()
    // Checkpoints alone are not trusted for ever. After many commits a full reconciliation follows, once the
    // application was notified.
    if let compared = following.compared, through - min(compared, through) > context.tuning.doubtfulCommits {
      pull.due = .everything
    }
  }

  /// Records that the sender has received and applied everything that this peer queued for it.
  ///
  /// A change sent with the flag "held here" is also a question: the sender returns what it has beyond that
  /// state. The answer is complete only when a high-water mark arrives after the acknowledgement.
  func noteDrained() {
    // Some notices still wait for the sender's filter.
    guard !telling.isWaiting else { return }
    following.own = max(following.own, following.told)
    following.isAnnouncing = false
  }

  /// Updates the checkpoint state for a full reconciliation that begins at this commit.
  func noteFullRound(at sequence: UInt64) {
    following.own = max(following.own, sequence)
    following.isSpoiled = false
  }

  /// Records that everything was compared and applied.
  func noteCompared() { following.compared = nil }

  // MARK: - Storing the checkpoint

  /// Returns the checkpoint to write with the next batch, and records it as stored; `nil` if it is unchanged.
  func takeCursor() -> SyncCheckpoint? {
    guard let cursor = cursorCandidate, cursor != following.stored else { return nil }
    following.stored = cursor
    following.storedAt = context.now
    following.compared = cursor.compared
    return cursor
  }

  /// When to write a checkpoint that no batch of data includes.
  var cursorTime: Duration? {
    guard !pull.queue.isApplying, !pull.queue.hasReady, let cursor = cursorCandidate, cursor != following.stored else {
      return nil
    }
    return following.storedAt.map { $0 + Self.cursorInterval } ?? context.now
  }

  /// Writes the checkpoint if it is due.
  func saveCursor() {
    guard let time = cursorTime, time <= context.now else { return }
    handOut([])
  }

  /// Writes the checkpoint before the session ends.
  func saveLastCursor() {
    guard cursorTime != nil else { return }
    handOut([])
  }
}
