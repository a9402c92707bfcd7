import CRDTCore
import DocStore

/// A scan of this peer's own log that is to go on.
struct PendingLogScan {
  /// The last commit that was looked at.
  let place: UInt64
  /// The number of documents that notices were sent of.
  let told: Int

  init(after place: UInt64, told: Int = 0) { (self.place, self.told) = (place, told) }
}

/// Sends notices of what this peer's own log contains to the sender.
extension Puller {
  /// Returns for how many documents of its log a receiver sends notices.
  ///
  /// If more than an eighth of the subscribed documents are affected, reconciliation costs less.
  func noticeRoom(_ transaction: borrowing ReadTransaction, _ interest: Interest) throws -> Int {
    let collections = try transaction.collections().filter { interest.covers($0.name) }
    let documents = collections.reduce(0) { $0 + $1.documentCount }
    return max(context.tuning.notices, min(documents / 8, SyncLimits.notices))
  }

  /// Sends notices of documents that were written, received from others or evicted after a position in the
  /// log.
  func run(_ pending: PendingLogScan, budget: inout Int) throws(SyncError) {
    let (start, told) = (pending.place, pending.told)
    guard let peer = context.peer else { return }
    var scan = OwnLogScan(after: start, budget: budget)
    let interest = pull.interest
    let gatekeeper = context.gatekeeper
    let isLogged: Void? = try context.readLog { transaction in
      guard start >= transaction.logStart else { return nil }
      scan.room = max(try noticeRoom(transaction, pull.interest) - told, 0)
      // While the store has documents that are too large to send, nothing is left to announcements.
      let isAnnounced = try transaction.oversizeDocuments().isEmpty
      try scan.run(transaction, sender: LogOrigin(peer: peer.site), pull.interest, gatekeeper) {
        isAnnounced ? announcements.followedLog($0) : nil
      }
    }
    // Truncated log entries are found by reconciliation.
    guard isLogged != nil else { return renew() }
    for record in scan.damaged { context.tellDamaged(record) }
    budget = scan.budget
    for name in scan.unsaid.sorted() { pull.due.add(name.text) }
    if scan.isIncomplete { pull.due = .everything }
    try tell(scan.notices)
    let wants = try evicted.wants(forEvicted: scan.evicted)
    evicted.evict(wants)
    if scan.hasAnnounced { following.isAnnouncing = true }
    guard scan.isDone else {
      return ownLogScans.prepend(PendingLogScan(after: scan.place, told: told + scan.notices.count))
    }
    following.told = max(following.told, scan.place)
    guard !following.isAnnouncing else { return }
    following.ownLogEnd = scan.place
    noteOwnLog()
  }

  /// Records that the sender knows this peer's log, once no notice waits for a filter.
  func noteOwnLog() {
    guard let place = following.ownLogEnd, !telling.isWaiting, !hasTasks else { return }
    following.ownLogEnd = nil
    following.own = max(following.own, place)
    // Entries that needed no notice count as sent.
    let own = following.own
    if pull.asksSent == following.mark?.frame.asksTaken { following.mark?.own = own }
  }

  /// Sends notices again for commits after `sequence`.
  ///
  /// The pusher fell behind: changes it would have sent are announced instead, or were not seen by the
  /// session at all.
  func tellAgain(after sequence: UInt64) {
    guard !pull.interest.isEmpty else { return renew() }
    // Before the first comparison or log scan nothing is sent, since these find the changes.
    if !pull.isBeginning { ownLogScans.append(PendingLogScan(after: sequence)) }
  }
}
