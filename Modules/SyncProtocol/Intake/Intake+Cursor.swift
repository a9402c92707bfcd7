import CRDTCore
import DocStore

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
  var stored: SyncCursor?
  var storedAt: Duration?
  /// The sender's sequence when all was last compared; `nil` when that was just now.
  var compared: UInt64?
  /// The last commit of this store that the session was told of.
  var told: UInt64 = 0
  /// The last commit up to which the sender has all it has to know of this store.
  var own: UInt64 = 0
  /// Part of what the sender has to know goes there as it follows this store's log.
  var isAnnouncing = false
  /// Something was refused since all was compared: it must come again, so no cursor may pass it.
  var isSpoiled = false
  /// What the sender was asked to send unasked.
  var promise: PullDesk.Promise?
  /// Stands for what is asked for, and what is let in.
  var interestPrint: UInt64 = 0
}

/// Goes on where the last session of the same two peers stopped.
///
/// What the receiver keeps is a cursor: a place in the sender's log, written in one transaction with data that it
/// covers, or later. The sender keeps nothing, and goes from that place on through its log.
extension Intake {
  /// How often a cursor is written that no data takes along.
  static var cursorInterval: Duration { .seconds(5) }

  /// Begins to pull: from where the cursor stands, or, without one that fits, with comparing all.
  func begin(_ interest: Interest) throws(SyncError) {
    guard context.features.contains(.cursors), !interest.isEmpty, let cursor = try storedCursor(interest)
    else {
      return subscribe(to: interest)
    }
    self.interest = interest
    generation += 1
    following.interestPrint = interestPrint(interest)
    following.stored = cursor
    following.compared = cursor.compared
    following.own = cursor.own
    isCaughtUpDue = true
    try resume(cursor, isRepeated: false)
  }

  private func resume(_ cursor: SyncCursor, isRepeated: Bool) throws(SyncError) {
    phase = .resuming(cursor, isRepeated: isRepeated)
    let lag = try lag()
    following.promise = lag.flatMap { promise(of: $0) }
    let frame = ResumeFrame(
      generation: generation, interest: interest.hash, sequence: cursor.sequence,
      check: ResumeFrame.check(commit: cursor.commitCheck, policy: cursor.policyPrint), lag: lag)
    context.send(.resume) { frame.encode(to: &$0) }
  }

  /// Whether the sender may send what it has written without announcing it.
  ///
  /// Where others bring changes, too, what one announces is asked for once.
  private var mayGetUnasked: Bool {
    context.features.contains(.unaskedChanges) && !context.shared.pulls.hasOthers(than: context.id)
  }

  /// How far this peer is behind the sender's clock; `nil` where it is not to send anything unasked.
  private func lag() throws(SyncError) -> UInt64? {
    guard mayGetUnasked, let peer = context.peer, let highest = context.peerHighest else { return nil }
    let met = try context.read { try $0.highestReading(of: peer.site) }
    return ResumeFrame.lag(of: met ?? .zero, behind: highest)
  }

  /// What a sender sends unasked that is told of that lag.
  private func promise(of lag: UInt64) -> PullDesk.Promise? {
    guard let peer = context.peer, let highest = context.peerHighest else { return nil }
    return PullDesk.Promise(
      site: peer.site, after: ResumeFrame.met(lag, behind: highest), through: highest)
  }

  /// What the sender is yet to send unasked.
  var promise: PullDesk.Promise? {
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
  private func storedCursor(_ interest: Interest) throws(SyncError) -> SyncCursor? {
    guard let peer = context.peer else { return nil }
    // Who follows this peer's log, too, is sent what was written here, and need not be told of it.
    let isFollowed = mayGetUnasked && context.shared.interests.hasInterest(of: peer.site)
    let print = interestPrint(interest)
    var wanted = interest
    let gatekeeper = context.gatekeeper
    return try context.read { transaction in
      guard let bytes = try transaction.cursor(of: peer.site), let cursor = SyncCursor(bytes),
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
      try scan.run(transaction, sender: sender, &wanted, gatekeeper) { _ in nil }
      return scan.isDone && !scan.isFull ? cursor : nil
    }
  }

  /// The sender says whether it goes on from the cursor.
  func take(_ frame: ResumedFrame) throws(SyncError) {
    guard frame.generation == generation, case .resuming(let cursor, let isRepeated) = phase else { return }
    switch frame.verdict {
    case .follows:
      Probe.reached(.cursorFollowed)
      guard frame.sequence >= cursor.sequence else {
        throw SyncError(.malformed, "The peer goes on before the cursor")
      }
      phase = .following(through: frame.sequence)
      if frame.sequence == cursor.sequence {
        // Nothing happened there: as good as a mark.
        let mark = MarkFrame(
          sequence: cursor.sequence, commitCheck: cursor.commitCheck, policyPrint: cursor.policyPrint,
          asksTaken: 0)
        following.mark = Following.Mark(frame: mark, groups: receivedGroups, own: cursor.own)
      }
      tasks.append(.ownLog(after: cursor.own, told: 0))
    case .unknownInterest where !isRepeated:
      Probe.reached(.interestRepeated)
      sendInterest()
      try resume(cursor, isRepeated: true)
    case .unknownInterest, .restart:
      Probe.reached(.cursorRefused)
      phase = .idle
      due = .everything
    }
  }

  func take(_ frame: MarkFrame) {
    following.mark = Following.Mark(frame: frame, groups: receivedGroups, own: following.own)
  }

  // MARK: - The rule

  /// Whether all that a mark speaks of is here, and the sender has answered all that it was asked.
  private func isSettled(_ mark: Following.Mark) -> Bool {
    if Probe.defect(.cursorAhead) { return true }
    // What was sent before the mark is applied; what it lacked of a base was asked for.
    guard appliedGroups >= mark.groups else { return false }
    // No ask is open, and none is about to be made: it may be because of what came before the mark.
    guard following.asksSent == mark.frame.asksTaken, wants.isEmpty, haves.isEmpty, evicted.before.isEmpty,
      tasks.isEmpty
    else { return false }
    // What was announced before it is here, or asked for.
    return !announced.isOpen
  }

  /// The cursor that holds now: the one place where it is settled how far this peer has followed.
  ///
  /// A receiver that always has something open keeps its older one, which is never wrong.
  var cursorCandidate: SyncCursor? {
    guard phase == .done, due == .nothing, !following.isSpoiled,
      let mark = following.mark, isSettled(mark), let peer = context.peer
    else { return nil }
    return SyncCursor(
      epoch: peer.logEpoch, sequence: mark.frame.sequence, commitCheck: mark.frame.commitCheck,
      policyPrint: mark.frame.policyPrint, interest: following.interestPrint, own: mark.own,
      compared: following.compared ?? mark.frame.sequence)
  }

  /// Notes that what followed the cursor is all here.
  func noteFollowed() {
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
  func takeCursor() -> SyncCursor? {
    guard context.features.contains(.cursors), let cursor = cursorCandidate, cursor != following.stored else {
      return nil
    }
    following.stored = cursor
    following.storedAt = context.now
    following.compared = cursor.compared
    return cursor
  }

  /// When a cursor is to be written although no data takes it along.
  var cursorTime: Duration? {
    guard context.features.contains(.cursors), applying == nil, ready.isEmpty, let cursor = cursorCandidate,
      cursor != following.stored
    else { return nil }
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

  // MARK: - This peer's own log

  /// How many documents of its log a receiver tells of one by one: where they are more than an eighth of all that it asks
  /// for, comparing that costs less.
  private func noticeRoom(_ transaction: borrowing ReadTransaction, _ interest: Interest) throws -> Int {
    let collections = try transaction.collections().filter { interest.covers($0.name) }
    let documents = collections.reduce(0) { $0 + $1.documentCount }
    return max(context.tuning.notices, min(documents / 8, SyncLimits.notices))
  }

  /// Tells the sender what it may answer: what was written here or came from others since the cursor, and what
  /// left.
  func runOwnLog(after start: UInt64, told: Int, budget: inout Int) throws(SyncError) {
    guard let peer = context.peer else { return }
    var scan = OwnLogScan(after: start, budget: budget)
    var interest = interest
    let gatekeeper = context.gatekeeper
    let isLogged = try context.read { transaction in
      guard start >= transaction.logStart else { return false }
      scan.room = max(try noticeRoom(transaction, interest) - told, 0)
      // Of what is too large nothing is announced.
      let isAnnounced = try transaction.oversizeDocuments().isEmpty
      try scan.run(transaction, sender: LogOrigin(peer: peer.site), &interest, gatekeeper) {
        isAnnounced ? followedLog($0) : nil
      }
      return true
    }
    // What the log no longer has is found by comparing.
    guard isLogged else { return renew() }
    self.interest = interest
    budget = scan.budget
    for name in scan.unsaid.sorted() { due.add(name) }
    if scan.isIncomplete { due = .everything }
    sendHaves(scan.notices, round: 0)
    let wants = try wants(forEvicted: scan.evicted)
    evict(wants)
    if scan.hasAnnounced { following.isAnnouncing = true }
    guard scan.isDone else {
      return tasks.prepend(.ownLog(after: scan.place, told: told + scan.notices.count))
    }
    following.told = max(following.told, scan.place)
    guard !following.isAnnouncing else { return }
    following.own = max(following.own, scan.place)
    // What needed no word is as good as told.
    let own = following.own
    if following.asksSent == following.mark?.frame.asksTaken { following.mark?.own = own }
  }
}

/// A walk along this peer's own log that finds what a sender has to be told.
private struct OwnLogScan {
  private(set) var place: UInt64
  private(set) var budget: Int
  /// How many documents may yet be told of.
  var room: Int
  private(set) var notices: [DocumentHave] = []
  private(set) var evicted: [DocumentName] = []
  /// Collections of which something may not be told, or is too much: they are to be compared.
  private(set) var unsaid: Set<String> = []
  /// Something left that nobody knows the name of any more.
  private(set) var isIncomplete = false
  private(set) var isDone = false
  /// More is to be told than there is room for.
  private(set) var isFull = false
  /// Something is left to be told by announcing it.
  private(set) var hasAnnounced = false
  /// It is to be known only whether there is room.
  private let isTrial: Bool

  init(after place: UInt64, budget: Int, room: Int = 0, isTrial: Bool = false) {
    self.place = place
    self.budget = budget
    self.room = room
    self.isTrial = isTrial
  }

  /// Whether there is room to tell of all documents that the log names, whatever they are.
  static func fits(
    _ room: Int, after place: UInt64, _ transaction: borrowing ReadTransaction, sender: LogOrigin
  ) throws -> Bool {
    var left = room
    try transaction.changes(after: place) { entry in
      if entry.kind == .evicted {
        left -= entry.evicted.count
      } else if entry.origin != sender {
        left -= entry.memberCount
      }
      return left >= 0
    }
    return left >= 0
  }

  mutating func run(
    _ transaction: borrowing ReadTransaction, sender: LogOrigin, _ interest: inout Interest,
    _ gatekeeper: Gatekeeper?, followedLog: (Collection) -> FollowedLog?
  ) throws {
    guard let gatekeeper else { return }
    let isTrial = isTrial
    var state = self
    var wanted = interest
    var isPaused = false
    let sites = transaction.sites
    let names = try Self.names(transaction, wanted, gatekeeper)
    let followed = names.compactMapValues(followedLog)
    try transaction.changes(after: place) { entry in
      if isTrial, state.isFull { return false }
      // Entries of one commit are taken together: the place is a commit's.
      guard state.budget > 0 || entry.sequence == state.place else {
        isPaused = true
        return false
      }
      let sequence = entry.sequence
      state.budget -= 1
      state.place = sequence
      if entry.kind == .evicted {
        if !Probe.defect(.evictionsForgotten) { state.takeEvicted(entry, names, gatekeeper) }
      } else if entry.origin != sender, !Probe.defect(.ownLogNotTold) {
        try entry.forEachMember(where: { collection, _ in
          guard names[collection] != nil else { return false }
          guard followed[collection]?.tellsAll(at: sequence) ?? false else { return true }
          state.hasAnnounced = true
          return false
        }) { collection, _, id, summary, record in
          state.budget -= 1
          guard let known = names[collection], let matcher = wanted.matcher(for: known),
            matcher.matches(id, record)
          else { return true }
          if followed[collection]?.tells(id, record, at: sequence) ?? false {
            state.hasAnnounced = true
            return true
          }
          guard state.room > 0 else {
            state.isFull = true
            state.unsaid.insert(known.name)
            return true
          }
          guard let cleared = gatekeeper.clear(known.name) else {
            state.unsaid.insert(known.name)
            return true
          }
          state.room -= 1
          if isTrial { return true }
          state.notices.append(
            DocumentHave(
              cleared, id: DocumentID(trusted: id.copied), hash: Fingerprint.hash(id: id, summary: summary),
              vector: try record.vector(sites: sites)))
          return true
        }
      }
      return true
    }
    state.isDone = !isPaused
    if state.isDone { state.place = max(state.place, transaction.sequence) }
    interest = wanted
    self = state
  }

  private mutating func takeEvicted(
    _ entry: borrowing LogEntry, _ names: [UInt32: Collection], _ gatekeeper: Gatekeeper
  ) {
    if !entry.isEvictionComplete { isIncomplete = true }
    for key in entry.evicted {
      guard let collection = names[key.collection] else { continue }
      if room == 0 { isFull = true }
      if room > 0, gatekeeper.maySend(collection.name) {
        room -= 1
        evicted.append(DocumentName(collection: collection.name, id: key.id))
      } else {
        unsaid.insert(collection.name)
      }
    }
  }

  /// The collections that this peer pulls from the sender, by number.
  private static func names(
    _ transaction: borrowing ReadTransaction, _ interest: Interest, _ gatekeeper: Gatekeeper
  ) throws -> [UInt32: Collection] {
    var names: [UInt32: Collection] = [:]
    for name in interest.names where gatekeeper.mayAccept(name) {
      if let collection = try transaction.collection(name) { names[collection.id] = collection }
    }
    return names
  }
}

extension Intake {
  /// Tells the sender once more what happened here after a commit: what was to be sent to it is announced instead, or was
  /// not noticed here at all.
  func tellAgain(after sequence: UInt64) {
    guard context.features.contains(.cursors), !interest.isEmpty else { return renew() }
    switch phase {
    // What is compared first, or found in this store's log, is not told before.
    case .idle, .resuming: return
    case .asking, .following, .settling, .applying, .done:
      tasks.append(.ownLog(after: sequence, told: 0))
    }
  }
}
