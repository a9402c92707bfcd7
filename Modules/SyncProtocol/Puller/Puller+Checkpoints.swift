import CRDTCore
import DocStore
import Failpoints

/// How far the receiver has followed the sender's log.
struct Following {
  /// A high-water mark from the sender, interpreted once everything before it is applied.
  struct Mark {
    let frame: MarkFrame
    /// The position in this peer's own log up to which the sender had acknowledged everything.
    ///
    /// It is the position at the time when the mark arrived.
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
  var reported: UInt64 = 0
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
  /// A hash of what this peer asks for and accepts; see `interestHash(_:)`.
  var interestHash: UInt64 = 0
}

/// A scan of this peer's own log that is to go on.
struct PendingLogScan {
  /// The last commit that was examined.
  let place: UInt64
  /// The number of documents of which notices were sent.
  let reported: Int

  init(after place: UInt64, reported: Int = 0) { (self.place, self.reported) = (place, reported) }
}

/// Resumes where the last session of the same two peers stopped.
///
/// The receiver stores a checkpoint: a position in the sender's log. It is written in the same store
/// transaction as the data that it covers, or in a later one. The sender stores nothing and resumes its log
/// from that position.
extension Puller {
  /// The minimum time between two checkpoints that are written without data.
  static var checkpointInterval: Duration { .seconds(5) }

  /// Starts to pull: resumes from the stored checkpoint, or reconciles everything if no checkpoint is valid.
  func begin(_ interest: Interest) throws(SyncError) {
    evicted.epoch = try context.read { $0.evictionEpoch }
    guard !interest.isEmpty, let checkpoint = try storedCheckpoint(interest) else {
      return subscribe(to: interest)
    }
    pull.interest = interest
    pull.generation += 1
    following.interestHash = interestHash(interest)
    following.stored = checkpoint
    following.compared = checkpoint.compared
    following.own = checkpoint.own
    isCaughtUpDue = true
    try resume(checkpoint, isRepeated: false)
  }

  private func resume(_ checkpoint: SyncCheckpoint, isRepeated: Bool) throws(SyncError) {
    pull.enter(.resuming(checkpoint, isRepeated: isRepeated))
    let lag = try lag()
    following.promise = lag.flatMap { promise(of: $0) }
    let frame = ResumeFrame(
      generation: pull.generation, interest: pull.interest.hash, sequence: checkpoint.sequence,
      commitCheck: checkpoint.commitCheck, policyCheck: ResumeFrame.check(policy: checkpoint.policyHash),
      lag: lag)
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
  func interestHash(_ interest: Interest) -> UInt64 {
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
  private func storedCheckpoint(_ interest: Interest) throws(SyncError) -> SyncCheckpoint? {
    guard let peer = context.peer else { return nil }
    // A sender that follows this peer's log receives local writes by that, and needs no notices of them.
    let isFollowed = mayGetUnasked && context.shared.interests.hasInterest(of: peer.site)
    let hash = interestHash(interest)
    let gatekeeper = context.gatekeeper
    return try context.readLog { snapshot in
      guard let checkpoint = try snapshot.checkpoint(of: peer.site).flatMap({ SyncCheckpoint($0) }),
        checkpoint.epoch == peer.logEpoch, checkpoint.interest == hash,
        checkpoint.own >= snapshot.logStart && checkpoint.own <= snapshot.sequence
      else { return nil }
      let room = try noticeRoom(snapshot, interest)
      let sender = LogOrigin(peer: peer.site)
      let followedRoom = isFollowed ? max(room, context.tuning.walkedDocuments) : room
      // Toward a sender that may not read everything, only what it may read counts: it sees what this peer
      // chooses.
      let countsAll = context.access.reading == .everything
      if countsAll,
        try OwnLogScan.fits(followedRoom, after: checkpoint.own, snapshot, sender: sender)
      {
        return checkpoint
      }
      var scan = OwnLogScan(
        after: checkpoint.own, budget: countsAll ? room * 4 : context.tuning.walkedDocuments,
        room: countsAll ? room : followedRoom, isTrial: true)
      try scan.run(snapshot, sender: sender, interest, gatekeeper) { _ in nil }
      return scan.isDone && !scan.isFull ? checkpoint : nil
    }
  }

  /// Receives the sender's answer to the request to resume.
  func receive(_ frame: ResumedFrame) throws(SyncError) {
    guard frame.generation == pull.generation, case .resuming(let checkpoint, let isRepeated) = pull.phase
    else {
      return
    }
    switch frame.verdict {
    case .follows:
      SyncPoint.cursorFollowed.reached()
      guard frame.sequence >= checkpoint.sequence else {
        throw SyncError(.malformed, "The peer goes on before the cursor")
      }
      pull.enter(.following(through: frame.sequence))
      if frame.sequence == checkpoint.sequence {
        // Nothing has happened since the checkpoint, so it counts as a high-water mark.
        let mark = MarkFrame(
          sequence: checkpoint.sequence, commitCheck: checkpoint.commitCheck,
          policyHash: checkpoint.policyHash,
          asksReceived: 0)
        pull.queue.receive(.mark(mark, own: checkpoint.own))
      }
      ownLogScans.append(PendingLogScan(after: checkpoint.own))
    case .unknownInterest where !isRepeated:
      SyncPoint.interestRepeated.reached()
      sendInterest()
      try resume(checkpoint, isRepeated: true)
    case .unknownInterest, .restart:
      SyncPoint.cursorRefused.reached()
      pull.enter(.idle)
      pull.due = .everything
    }
  }

  // MARK: - Advancing the checkpoint

  /// Returns whether everything that a mark covers has arrived, and the sender has answered every request.
  private func isSettled(_ mark: Following.Mark) -> Bool {
    if SyncDefect.cursorAhead.isPlanted { return true }
    // No request may be open or about to be sent, since data before the mark may have caused it. Transactions
    // announced before the mark have arrived or are requested.
    let isAboutToAsk =
      noticeExchange.isWaiting || hasTasks || !reconciler.wants.isEmpty || !reconciler.haves.isEmpty
      || evicted.count > 0
    return pull.asksSent == mark.frame.asksReceived && !isAboutToAsk && !announcements.isOpen
  }

  /// The checkpoint that is valid now.
  ///
  /// No other code decides how far this peer has followed the sender. While requests are open, the older
  /// checkpoint stays, which is always safe: rules 6 and 7 in `Documentation/Sync.md`.
  var checkpointCandidate: SyncCheckpoint? {
    // The next session must find again what was refused, cannot be read or is withheld. So the checkpoint
    // must not pass that.
    let isLacking = following.isSpoiled || context.unreadable.isAnywhere || context.withheld.byPeer > 0
    guard pull.isDone, !isLacking || SyncDefect.checkpointPassesLacking.isPlanted, let peer = context.peer
    else { return nil }
    guard let mark = following.mark, isSettled(mark) else { return nil }
    return SyncCheckpoint(
      epoch: peer.logEpoch, sequence: mark.frame.sequence, commitCheck: mark.frame.commitCheck,
      policyHash: mark.frame.policyHash, interest: following.interestHash, own: mark.own,
      compared: following.compared ?? mark.frame.sequence)
  }

  /// Ends the following phase once everything after the checkpoint has arrived.
  func noteFollowed() {
    noteOwnLog()
    guard case .following(let through) = pull.phase, let mark = following.mark,
      mark.frame.sequence >= through,
      isSettled(mark)
    else { return }
    pull.enter(.done)
    reportCaughtUp()
    // Checkpoints alone are not trusted forever. After many commits a full reconciliation follows, once the
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
    guard !noticeExchange.isWaiting else { return }
    following.own = max(following.own, following.reported)
    following.isAnnouncing = false
  }

  /// Updates the checkpoint state for a full reconciliation that begins at this commit.
  func noteFullReconciliation(at sequence: UInt64) {
    following.own = max(following.own, sequence)
    following.isSpoiled = false
  }

  /// Records that everything was compared and applied.
  func noteCompared() { following.compared = nil }

  // MARK: - Storing the checkpoint

  /// Returns the checkpoint to write with the next batch, and records it as stored; `nil` if it is unchanged.
  func checkpointToStore() -> SyncCheckpoint? {
    guard let checkpoint = checkpointCandidate, checkpoint != following.stored else { return nil }
    following.stored = checkpoint
    following.storedAt = context.now
    following.compared = checkpoint.compared
    return checkpoint
  }

  /// When to write a checkpoint that no batch of data includes.
  var checkpointTime: Duration? {
    guard !pull.queue.isApplying, !pull.queue.hasReady, let checkpoint = checkpointCandidate,
      checkpoint != following.stored
    else {
      return nil
    }
    return following.storedAt.map { $0 + Self.checkpointInterval } ?? context.now
  }

  /// Writes the checkpoint if it is due.
  func saveCheckpoint() {
    guard let time = checkpointTime, time <= context.now else { return }
    handOut([])
  }

  /// Writes the checkpoint before the session ends.
  func saveLastCheckpoint() {
    guard checkpointTime != nil else { return }
    handOut([])
  }

  // MARK: - Notices of this peer's own log

  /// Returns for how many documents of its log a receiver sends notices.
  ///
  /// If more than an eighth of the subscribed documents are affected, reconciliation costs less.
  func noticeRoom(_ snapshot: borrowing ReadTransaction, _ interest: Interest) throws -> Int {
    // The number of all documents must not show.
    guard context.access.reading == .everything else { return context.tuning.notices.afterResuming }
    let collections = try snapshot.collections().filter { interest.covers($0.name) }
    let documents = collections.reduce(0) { $0 + $1.documentCount }
    return max(context.tuning.notices.afterResuming, min(documents / 8, SyncLimits.notices))
  }

  /// Sends notices of documents that the log names after a position.
  ///
  /// These documents were written, received from other peers, or evicted.
  func run(_ pending: PendingLogScan, budget: inout Int) throws(SyncError) {
    let (start, reported) = (pending.place, pending.reported)
    guard let peer = context.peer else { return }
    var scan = OwnLogScan(after: start, budget: budget)
    let gatekeeper = context.gatekeeper
    let isLogged: Void? = try context.readLog { snapshot in
      guard start >= snapshot.logStart else { return nil }
      scan.room = max(try noticeRoom(snapshot, pull.interest) - reported, 0)
      // While the store has documents that are too large to send, nothing is left to announcements.
      let isAnnounced = try !snapshot.oversizeDocuments().contains { try context.mayRead($0, snapshot) }
      try scan.run(snapshot, sender: LogOrigin(peer: peer.site), pull.interest, gatekeeper) {
        isAnnounced ? announcements.followedLog($0) : nil
      }
    }
    // Truncated log entries are found by reconciliation.
    guard isLogged != nil else { return renew() }
    for record in scan.damaged { context.reportDamaged(record) }
    budget = scan.budget
    for name in scan.unsaid.sorted() { pull.due.add(name.text) }
    if scan.isIncomplete { pull.due = .everything }
    try report(scan.notices)
    let wants = try evicted.wants(forEvicted: scan.evicted)
    evicted.evict(wants)
    if scan.hasAnnounced { following.isAnnouncing = true }
    guard scan.isDone else {
      return ownLogScans.prepend(PendingLogScan(after: scan.place, reported: reported + scan.notices.count))
    }
    following.reported = max(following.reported, scan.place)
    guard !following.isAnnouncing else { return }
    following.ownLogEnd = scan.place
    noteOwnLog()
  }

  /// Records that the sender knows this peer's log, once no notice waits for a filter.
  func noteOwnLog() {
    guard let place = following.ownLogEnd, !noticeExchange.isWaiting, !hasTasks else { return }
    following.ownLogEnd = nil
    following.own = max(following.own, place)
    // Entries that needed no notice count as sent.
    let own = following.own
    if pull.asksSent == following.mark?.frame.asksReceived { following.mark?.own = own }
  }

  /// Sends notices again for commits after `sequence`.
  ///
  /// The pusher fell behind: changes it would have sent are announced instead, or were not seen by the
  /// session at all.
  func reportAgain(after sequence: UInt64) {
    guard !pull.interest.isEmpty else { return renew() }
    // Before the first comparison or log scan nothing is sent, since these find the changes.
    if !pull.isBeginning { ownLogScans.append(PendingLogScan(after: sequence)) }
  }
}
