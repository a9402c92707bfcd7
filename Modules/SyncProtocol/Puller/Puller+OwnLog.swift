import CRDTCore
import DocStore

/// What the sender has to know of this peer's own log.
extension Puller {
  /// How many documents of its log a receiver tells of one by one: where they are more than an eighth of all that it asks
  /// for, comparing that costs less.
  func noticeRoom(_ transaction: borrowing ReadTransaction, _ interest: Interest) throws -> Int {
    let collections = try transaction.collections().filter { interest.covers($0.name) }
    let documents = collections.reduce(0) { $0 + $1.documentCount }
    return max(context.tuning.notices, min(documents / 8, SyncLimits.notices))
  }

  /// Tells the sender what it may answer: what was written here or came from others since the cursor, and what
  /// left.
  func runOwnLog(after start: UInt64, told: Int, budget: inout Int) throws(SyncError) {
    guard let peer = context.peer else { return }
    var scan = OwnLogScan(after: start, budget: budget)
    let interest = interest
    let gatekeeper = context.gatekeeper
    let isLogged: Void? = try context.readLog { transaction in
      guard start >= transaction.logStart else { return nil }
      scan.room = max(try noticeRoom(transaction, interest) - told, 0)
      // Of what is too large nothing is announced.
      let isAnnounced = try transaction.oversizeDocuments().isEmpty
      try scan.run(transaction, sender: LogOrigin(peer: peer.site), interest, gatekeeper) {
        isAnnounced ? followedLog($0) : nil
      }
    }
    // What the log no longer has is found by comparing.
    guard isLogged != nil else { return renew() }
    for record in scan.damaged { context.tellDamaged(record) }
    budget = scan.budget
    for name in scan.unsaid.sorted() { due.add(name.text) }
    if scan.isIncomplete { due = .everything }
    try tell(scan.notices)
    let wants = try wants(forEvicted: scan.evicted)
    evict(wants)
    if scan.hasAnnounced { following.isAnnouncing = true }
    guard scan.isDone else {
      return tasks.prepend(.ownLog(after: scan.place, told: told + scan.notices.count))
    }
    following.told = max(following.told, scan.place)
    guard !following.isAnnouncing else { return }
    following.ownLogEnd = scan.place
    noteOwnLog()
  }

  /// Notes that the sender was told of this peer's own log, once nothing of it waits for a filter.
  func noteOwnLog() {
    guard let place = following.ownLogEnd, !telling.isWaiting, !hasTasks else { return }
    following.ownLogEnd = nil
    following.own = max(following.own, place)
    // What needed no word is as good as told.
    let own = following.own
    if following.asksSent == following.mark?.frame.asksTaken { following.mark?.own = own }
  }

  /// Tells the sender once more what happened here after a commit: what was to be sent to it is announced instead, or was
  /// not noticed here at all.
  func tellAgain(after sequence: UInt64) {
    guard !interest.isEmpty else { return renew() }
    // What is compared first, or found in this store's log, is not told before.
    if !isBeginning { tasks.append(.ownLog(after: sequence, told: 0)) }
  }
}
