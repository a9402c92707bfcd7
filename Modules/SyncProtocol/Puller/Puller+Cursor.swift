import CRDTCore
import DocStore
import Failpoints

/// What a receiver knows of its way along the sender's log.
struct Following {
  /// A mark, and what had come before it.
  struct Mark {
    let frame: MarkFrame
    let groups: UInt64
    /// What the sender had acknowledged by then of this peer's log: what it had to answer came before the mark.
    var own: UInt64
  }

  /// Frames with wants and haves that were sent: what was asked for, and what may be answered.
  var asksSent: UInt64 = 0
  /// The last mark that the sender has set.
  var mark: Mark?
  /// The cursor that is in the store, or on its way there.
  var stored: SyncCheckpoint?
  var storedAt: Duration?
  /// The sender's sequence when all was last compared; `nil` when that was just now.
  var compared: UInt64?
  /// The last commit of this store that the session was told of.
  var told: UInt64 = 0
  /// The last commit up to which the sender has all it has to know of this store.
  var own: UInt64 = 0
  /// The end of this store's log when all of it was looked at, while some of it waits to be told.
  var ownLogEnd: UInt64?
  /// Part of what the sender has to know goes there as it follows this store's log.
  var isAnnouncing = false
  /// Something was refused since all was compared: it must come again, so no cursor may pass it.
  var isSpoiled = false
  /// What the sender was asked to send unasked.
  var promise: PullScheduler.Promise?
  /// Stands for what is asked for, and what is let in.
  var interestPrint: UInt64 = 0
}

/// Goes on where the last session of the same two peers stopped.
///
/// What the receiver keeps is a cursor: a place in the sender's log, written in one transaction with data that it
/// covers, or later. The sender keeps nothing, and goes from that place on through its log.
extension Puller {
  /// How often a cursor is written that no data takes along.
  static var cursorInterval: Duration { .seconds(5) }

  /// Begins to pull: from where the cursor stands, or, without one that fits, with comparing all.
  func begin(_ interest: Interest) throws(SyncError) {
    evicted.epoch = try context.read { $0.evictionEpoch }
    guard !interest.isEmpty, let cursor = try storedCursor(interest) else { return subscribe(to: interest) }
    self.interest = interest
    generation += 1
    following.interestPrint = interestPrint(interest)
    following.stored = cursor
    following.compared = cursor.compared
    following.own = cursor.own
    isCaughtUpDue = true
    try resume(cursor, isRepeated: false)
  }

  private func resume(_ cursor: SyncCheckpoint, isRepeated: Bool) throws(SyncError) {
    phase = .resuming(cursor, isRepeated: isRepeated)
    let lag = try lag()
    following.promise = lag.flatMap { promise(of: $0) }
    let frame = ResumeFrame(
      generation: generation, interest: interest.hash, sequence: cursor.sequence,
      commitCheck: cursor.commitCheck, policyCheck: ResumeFrame.check(policy: cursor.policyPrint), lag: lag)
    context.send(.resume) { frame.encode(to: &$0) }
  }

  /// Whether the sender may send what it has written without announcing it.
  ///
  /// Where others bring changes, too, what one announces is asked for once.
  private var mayGetUnasked: Bool { !context.shared.pulls.hasOthers(than: context.id) }

  /// How far this peer is behind the sender's clock; `nil` where it is not to send anything unasked.
  private func lag() throws(SyncError) -> UInt64? {
    guard mayGetUnasked, let peer = context.peer, let highest = context.peerHighest else { return nil }
    let met = try context.read { try $0.highestReading(of: peer.site) }
    return ResumeFrame.lag(of: met ?? .zero, behind: highest)
  }

  /// What a sender sends unasked that is told of that lag.
  private func promise(of lag: UInt64) -> PullScheduler.Promise? {
    guard let peer = context.peer, let highest = context.peerHighest else { return nil }
    return PullScheduler.Promise(
      site: peer.site, after: ResumeFrame.met(lag, behind: highest), through: highest)
  }

  /// What the sender is yet to send unasked.
  var promise: PullScheduler.Promise? {
    switch phase {
    case .resuming, .following: following.promise
    case .idle, .asking, .settling, .applying, .done: nil
    }
  }

  /// Stands for what this peer asks for, and for what of it it lets in and takes.
  func interestPrint(_ interest: Interest) -> UInt64 {
    let gatekeeper = context.gatekeeper
    let accepted = interest.names.filter { gatekeeper?.mayAccept($0) ?? false }
    // A store that takes a new site may have the same versions of other contents as its twin: it compares all.
    return accepted.reduce(HashLanes(interest.hash, context.store.epoch, seed: 3)) {
      $0.combined(with: HashLanes($1))
    }.first
  }

  /// The cursor in the store, if it is one in the sender's present log, of the same interest, and if this store's
  /// own log goes back to it, with no more after it than the sender can be told of.
  private func storedCursor(_ interest: Interest) throws(SyncError) -> SyncCheckpoint? {
    guard let peer = context.peer else { return nil }
    // Who follows this peer's log, too, is sent what was written here, and need not be told of it.
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

  /// The sender says whether it goes on from the cursor.
  func take(_ frame: ResumedFrame) throws(SyncError) {
    guard frame.generation == generation, case .resuming(let cursor, let isRepeated) = phase else { return }
    switch frame.verdict {
    case .follows:
      SyncPoint.cursorFollowed.reached()
      guard frame.sequence >= cursor.sequence else {
        throw SyncError(.malformed, "The peer goes on before the cursor")
      }
      phase = .following(through: frame.sequence)
      if frame.sequence == cursor.sequence {
        // Nothing happened there: as good as a mark.
        let mark = MarkFrame(
          sequence: cursor.sequence, commitCheck: cursor.commitCheck, policyPrint: cursor.policyPrint,
          asksTaken: 0)
        following.mark = Following.Mark(frame: mark, groups: queue.receivedGroups, own: cursor.own)
      }
      tasks.append(.ownLog(after: cursor.own, told: 0))
    case .unknownInterest where !isRepeated:
      SyncPoint.interestRepeated.reached()
      sendInterest()
      try resume(cursor, isRepeated: true)
    case .unknownInterest, .restart:
      SyncPoint.cursorRefused.reached()
      phase = .idle
      due = .everything
    }
  }

  func take(_ frame: MarkFrame) {
    following.mark = Following.Mark(frame: frame, groups: queue.receivedGroups, own: following.own)
  }

  // MARK: - The rule

  /// Whether all that a mark speaks of is here, and the sender has answered all that it was asked.
  private func isSettled(_ mark: Following.Mark) -> Bool {
    if SyncDefect.cursorAhead.isPlanted { return true }
    // What was sent before the mark is applied; what it lacked of a base was asked for.
    guard queue.appliedGroups >= mark.groups, !telling.isWaiting else { return false }
    // No ask is open, and none is about to be made: it may be because of what came before the mark.
    guard following.asksSent == mark.frame.asksTaken, reconciler.wants.isEmpty, reconciler.haves.isEmpty,
      evicted.before.isEmpty, !hasTasks
    else { return false }
    // What was announced before it is here, or asked for.
    return !announced.isOpen
  }

  /// The cursor that holds now: the one place where it is settled how far this peer has followed.
  ///
  /// A receiver that always has something open keeps its older one, which is never wrong.
  var cursorCandidate: SyncCheckpoint? {
    guard phase == .done, due == .nothing, !following.isSpoiled, !context.unreadable.isAnywhere,
      // The next session has to find it again, and so has to compare or to follow the log from before it.
      context.withheld.byPeer == 0, let mark = following.mark, isSettled(mark), let peer = context.peer
    else { return nil }
    return SyncCheckpoint(
      epoch: peer.logEpoch, sequence: mark.frame.sequence, commitCheck: mark.frame.commitCheck,
      policyPrint: mark.frame.policyPrint, interest: following.interestPrint, own: mark.own,
      compared: following.compared ?? mark.frame.sequence)
  }

  /// Notes that what followed the cursor is all here.
  func noteFollowed() {
    noteOwnLog()
    guard case .following(let through) = phase, let mark = following.mark, mark.frame.sequence >= through,
      isSettled(mark)
    else { return }
    phase = .done
    tellCaughtUp()
    // A cursor is never the last word: at times all is compared, behind what the application waits for.
    if let compared = following.compared, through - min(compared, through) > context.tuning.doubtfulCommits {
      due = .everything
    }
  }

  /// Takes note that the sender has received, and applied, all that this peer ever queued for it.
  ///
  /// A change that goes there, marked as held here, is a question too: what the sender has beyond it comes back,
  /// and is here only when a mark has come after the acknowledgement.
  func noteDrained() {
    // What waits for a filter the sender was not told.
    guard !telling.isWaiting else { return }
    following.own = max(following.own, following.told)
    following.isAnnouncing = false
  }

  /// Begins to compare everything, as far as cursors go.
  func noteFullRound(at sequence: UInt64) {
    following.own = max(following.own, sequence)
    following.isSpoiled = false
  }

  /// Notes that all was compared and is here.
  func noteCompared() { following.compared = nil }

  // MARK: - Writing it

  /// The cursor that is to be written with the next batch, if it says anything new.
  func takeCursor() -> SyncCheckpoint? {
    guard let cursor = cursorCandidate, cursor != following.stored else { return nil }
    following.stored = cursor
    following.storedAt = context.now
    following.compared = cursor.compared
    return cursor
  }

  /// When a cursor is to be written although no data takes it along.
  var cursorTime: Duration? {
    guard !queue.isApplying, !queue.hasReady, let cursor = cursorCandidate, cursor != following.stored else {
      return nil
    }
    return following.storedAt.map { $0 + Self.cursorInterval } ?? context.now
  }

  /// Writes the cursor, if it is time.
  func saveCursor() {
    guard let time = cursorTime, time <= context.now else { return }
    handOut([])
  }

  /// Writes the cursor before the session ends.
  func saveLastCursor() {
    guard cursorTime != nil else { return }
    handOut([])
  }
}
