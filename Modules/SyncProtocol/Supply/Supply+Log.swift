import CRDTCore
import DocStore

/// Where a receiver stands in this store's log, as far as a session knows.
struct LogPlace {
  /// Frames with wants and haves that came in.
  var asksTaken: UInt64 = 0
  /// The sequence up to which the receiver was compared with, or the log was walked; `nil` before either.
  var followed: UInt64?
  /// Stands for what might be sent when that began.
  var policyPrint: UInt64 = 0
  /// Whether the session went on from a cursor: what the receiver holds and this peer does not match was told in
  /// an earlier one, so nobody here knows of it.
  var isResumed = false
  /// The walk from the receiver's cursor, while it goes on.
  var walk: LogWalk?
  /// The last of this store's own readings that the receiver had met, where it is sent what was written here since
  /// unasked.
  var met: ClockReading?
  /// Up to where the receiver knows what is written here, while it follows the log: of later it hears by announcements,
  /// or live.
  var toldThrough: UInt64?
  /// Transactions up to there were announced, and the receiver may have some in part only.
  var resumedThrough: UInt64 = 0
  /// The last mark: what it said, what had gone out by then, and when.
  var marked: Mark?
  var markedAt: Duration = .zero
  /// Whether a commit since the last mark had to do with the receiver, wherever it came from.
  var isMoved = false
  /// A mark that waits for groups to go out.
  var waiting: Mark?
  /// How fast the receiver takes announcements.
  var pace = AnnouncementPace()
  /// Whether announcements went out after which nothing has come back.
  var isAnnouncing = false
  /// What the ping carries after which the receiver has asked for all it lacks of them.
  var closing: UInt64?
  /// Where a walk began because changes came faster than the link: the other half is to be told.
  var fellBehindAt: UInt64?

  /// Whether changes are not queued, because a walk finds them.
  var isBehind: Bool { walk?.isBacklog ?? false }

  struct Mark: Equatable {
    let sequence: UInt64
    let asksTaken: UInt64
    /// All groups that were taken before it.
    let after: Outgoing.Progress
  }
}

/// A walk through the log from a receiver's cursor to its end.
struct LogWalk {
  /// The last commit that was looked at whole.
  var place: UInt64
  /// The first one of the walk.
  let first: UInt64
  /// Whether it takes the place of the queue of live changes.
  var isBacklog = false
  /// Documents looked at.
  var documents = 0
  /// Documents of transactions that were announced.
  var announced: Set<StoredPlace> = []
  /// Documents of transactions that do not match any more, announced for whoever holds them.
  var leaving = 0
  /// What this step has found.
  var groups: [[AnnouncedDocument]] = []
  var offers: [DocumentOffer] = []

  init(after place: UInt64, isBacklog: Bool = false, documents: Int = 0) {
    self.place = place
    first = place + 1
    self.isBacklog = isBacklog
    self.documents = documents
  }
}

/// What of a collection a receiver hears as it follows the log.
struct FollowedLog {
  private let start: UInt64
  private let matcher: CollectionInterest

  init(after start: UInt64, matcher: CollectionInterest) {
    (self.start, self.matcher) = (start, matcher)
  }

  /// Whether it tells of every living document that was written with a sequence.
  func tellsAll(at sequence: UInt64) -> Bool { sequence > start && matcher.matchesAll }

  /// Whether it tells of a document that was written with a sequence.
  func tells(_ id: RawSpan, _ record: borrowing RecordView, at sequence: UInt64) -> Bool {
    sequence > start && matcher.matches(id, record)
  }
}

/// Serves a receiver from its cursor on: what changed since is announced, and what it lacks of that it wants.
extension Supply {
  /// Marks are set this often at most while groups go out.
  static var markInterval: Duration { .milliseconds(250) }
  /// Marks that only say that nothing concerned the receiver are set this often at most.
  static var quietMarkInterval: Duration { .seconds(30) }

  /// Goes on from a receiver's cursor, if the log still is what it was then.
  ///
  /// A receiver that has `met` what was written here up to a reading is sent later writes unasked.
  func resume(_ frame: ResumeFrame, met: ClockReading?) throws(SyncError) {
    let policy = context.policyPrint
    let (end, last): (UInt64?, UInt64) = try context.read { transaction in
      (try walkEnd(frame, policy, transaction), transaction.sequence)
    }
    guard frame.sequence <= last else {
      // The same opening of the log was further once.
      throw SyncError(.cloned, "The peer has followed later commits of this store: it was put back")
    }
    let verdict: ResumedFrame.Verdict = end == nil ? .restart : .follows
    let answer = ResumedFrame(generation: frame.generation, verdict: verdict, sequence: end ?? 0)
    context.send(.resumed) { answer.encode(to: &$0) }
    guard let end else { return }
    hasBegun = true
    log.policyPrint = policy
    log.isResumed = true
    log.met = met
    log.toldThrough = frame.sequence
    settledSequence = end
    recent = recent.begun(after: frame.sequence)
    if end == frame.sequence {
      hasSettled = true
      log.followed = end
      log.marked = LogPlace.Mark(sequence: end, asksTaken: log.asksTaken, after: outgoing.taken)
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
      partialWants.isEmpty, isDrained
    else { return }
    log.resumedThrough = 0
  }

  /// Takes the receiver's answer to a ping.
  func answered(_ nonce: UInt64) {
    log.pace.answered(nonce)
    guard log.closing == nonce else { return }
    log.closing = nil
    if log.followed != nil { hasSettled = true }
  }

  /// The end of the log that is to be walked from a receiver's cursor; `nil` where it does not go on from there.
  private func walkEnd(
    _ frame: ResumeFrame, _ policy: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> UInt64? {
    guard frame.sequence >= transaction.logStart, frame.sequence <= transaction.sequence,
      let commit = try transaction.commitCheck(at: frame.sequence),
      frame.check == ResumeFrame.check(commit: commit, policy: policy)
    else { return nil }
    var documents = 0
    try transaction.changes(after: frame.sequence) { entry in
      // Of what was evicted here and is dead the receiver must hear, by name.
      documents += entry.isEvictionComplete ? entry.memberCount : .max / 2
      return documents <= context.tuning.walkedDocuments
    }
    return documents <= context.tuning.walkedDocuments ? transaction.sequence : nil
  }

  /// Announces the next of what changed since the receiver's cursor.
  func walkLog(budget: inout Int) throws(SyncError) {
    guard var walk = log.walk, budget > 0, canWalk else { return }
    log.walk = nil
    // What a backlog names again has changed again, and comes no other way.
    if walk.isBacklog { walk.announced = [] }
    let concerned = try concernedCollections()
    var left = budget
    var isPaused = false
    var (counted, byteCount) = (0, 0)
    let end: UInt64? = try context.read { transaction in
      // What the log no longer has is found by comparing.
      guard walk.place >= transaction.logStart else { return nil }
      try refreshRecent(transaction, concerned)
      oversize = try transaction.oversizeSizes()
      var sources = Sources(self)
      try transaction.changes(after: walk.place) { entry in
        while counted < walk.groups.count {
          byteCount += walk.groups[counted].byteCount
          counted += 1
        }
        // Entries of one commit are taken together: the place is a commit's.
        let hasRoom = left > 0 && byteCount < AnnouncementPace.stepBytes && (log.met == nil || hasRoomToPush)
        guard hasRoom || entry.sequence == walk.place else {
          isPaused = true
          return false
        }
        walk.place = entry.sequence
        let count = try look(at: entry, &walk, &sources, transaction)
        walk.documents += count
        left -= 1 + count
        return true
      }
      return transaction.sequence
    }
    budget = left
    guard let end else { return compareInstead() }
    for group in walk.groups { announceFromLog(group, sequence: walk.first) }
    send(walk.offers)
    guard walk.leaving <= context.tuning.leavingDocuments,
      walk.documents <= context.tuning.walkedDocuments
    else { return compareInstead() }
    if isPaused {
      (walk.groups, walk.offers) = ([], [])
      log.walk = walk
    } else {
      log.followed = max(log.followed ?? 0, end)
      log.resumedThrough = max(log.resumedThrough, end)
    }
  }

  /// - Returns: How many documents it has.
  private func look(
    at entry: borrowing LogEntry, _ walk: inout LogWalk, _ sources: inout Sources,
    _ transaction: borrowing ReadTransaction
  ) throws -> Int {
    var count = 0
    for key in entry.evicted {
      count += 1
      guard let source = try sources.source(key.collection, transaction) else { continue }
      // All that can be left here is the certificate of a deletion, which the receiver may lack.
      try transaction.visitIntactRecord(source.collection, key.id, damaged: context.tellDamaged) {
        _, record, summary in
        guard !record.isAlive, try record.vector(sites: source.tables.sites).isEmpty else { return }
        if let offer = offer(key.id.bytes.span.bytes, summary, source) { walk.offers.append(offer) }
      }
    }
    // What came from elsewhere the receiver may have from there, or lack more of.
    let reading = entry.origin == .user && !walk.isBacklog ? log.met : nil
    // What is bound goes with all that binds it, and is read once, with that.
    var bound: [StoredPlace] = []
    var damaged: [DamagedRecord] = []
    try entry.forEachMember(
      where: { collection, number in
        count += 1
        let place = StoredPlace(collection: collection, number: number)
        guard recent.contains(place) else { return true }
        bound.append(place)
        return false
      }, damaged: { damaged.append($0) }
    ) { collection, _, id, summary, record in
      guard let source = try sources.source(collection, transaction) else { return true }
      if let reading, mayPush(id, record, source) {
        batch.begin(sequence: recent.makeName(), mayOvertake: false)
        try include(.unasked(after: reading), id, summary, record, source)
        batch.finish()
        return true
      }
      guard let news = try announcement(id, summary, record, source) else { return true }
      if !news.leaves {
        walk.groups.append([news])
      } else if let offer = offer(id, summary, source) {
        walk.offers.append(offer)
      }
      return true
    }
    for record in damaged where concerns(record.collection) { context.tellDamaged(record) }
    for place in bound where !walk.announced.contains(place) {
      let places = closure(of: [place])
      walk.announced.formUnion(places)
      if let reading, try push(places, after: reading, &sources, transaction) { continue }
      let group = try announcements(places, &sources, transaction)
      walk.leaving += group.count(where: \.leaves)
      if !group.isEmpty { walk.groups.append(group) }
    }
    return count
  }

  /// Sends documents that belong together, each as what was written here after a reading.
  ///
  /// What is too much, or has left the receiver's interest, is announced.
  private func push(
    _ places: Set<StoredPlace>, after reading: ClockReading, _ sources: inout Sources,
    _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard places.count <= context.tuning.splitDocuments else { return false }
    var mayGoOut = true
    try sources.forEachIntactRecord(at: places, transaction) { source, _, id, _, record in
      mayGoOut = mayGoOut && mayPush(id, record, source)
    }
    guard mayGoOut else { return false }
    batch.begin(sequence: recent.makeName(), mayOvertake: false)
    try sources.forEachIntactRecord(at: places, transaction) { source, _, id, summary, record in
      try include(.unasked(after: reading), id, summary, record, source)
    }
    batch.finish()
    return true
  }

  /// Whether so little waits to go out that more may be gathered: what is gathered first is to leave first.
  var hasRoomToPush: Bool {
    outgoing.window.hasRoom && outgoing.streamBytes < outgoing.fragmentBytes
      && outgoing.waitingTransferBytes < outgoing.fragmentBytes
  }

  private func mayPush(_ id: RawSpan, _ record: borrowing RecordView, _ source: Source) -> Bool {
    source.matcher.matches(id, record) && (oversize.isEmpty || oversize[source.key(of: id)] == nil)
  }

  /// Documents with all that recent transactions bind to them.
  private func closure(of places: [StoredPlace]) -> Set<StoredPlace> {
    var found = Set(places)
    var open = places
    var seen: Set<UInt64> = []
    while let place = open.popLast() {
      recent.forEachNeighbour(of: place, seen: &seen) { if found.insert($0).inserted { open.append($0) } }
    }
    return found
  }

  private func announcements(
    _ places: Set<StoredPlace>, _ sources: inout Sources, _ transaction: borrowing ReadTransaction
  ) throws -> [AnnouncedDocument] {
    var group: [AnnouncedDocument] = []
    try sources.forEachIntactRecord(at: places, transaction) { source, _, id, summary, record in
      if let news = try announcement(id, summary, record, source) { group.append(news) }
    }
    return group
  }

  /// How a document is announced; `nil` for one that is too large, or must not be sent.
  private func announcement(
    _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView, _ source: Source
  ) throws -> AnnouncedDocument? {
    if !oversize.isEmpty, oversize[source.key(of: id)] != nil { return nil }
    guard let cleared = gatekeeper?.clear(source.collection.name) else { return nil }
    let leaves = !source.matcher.matches(id, record)
    return AnnouncedDocument(
      cleared, id: DocumentID(trusted: id.copied), vector: try record.vector(sites: source.tables.sites),
      hash: Fingerprint.hash(id: id, summary: summary),
      isHeld: !leaves && tellsByAnnouncing && source.own?.matches(id, record) ?? false, leaves: leaves)
  }

  /// Whether what is announced from the log tells the peer also what this peer holds.
  private var tellsByAnnouncing: Bool {
    context.features.contains(.mesh) && log.toldThrough != nil && !Probe.defect(.ownLogNotTold)
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
    guard context.features.contains(.mesh), let told = log.toldThrough, concerns(collection.name),
      let matcher = interest.matcher(for: collection)
    else { return nil }
    return FollowedLog(after: told, matcher: matcher)
  }

  /// Offers a document that does not match, as one that changes while the session runs.
  private func offer(_ id: RawSpan, _ summary: Summary, _ source: Source) -> DocumentOffer? {
    guard let cleared = gatekeeper?.clear(source.collection.name) else { return nil }
    let item = DocumentHash(
      id: DocumentID(trusted: id.copied), hash: Fingerprint.hash(id: id, summary: summary))
    let offer = DocumentOffer(cleared, item: item)
    return watch.contains(source.key(of: id)) ? offer : self.offer(offer)
  }

  /// Announces a live group, with all that earlier transactions bind to it, in place of sending it.
  ///
  /// What was announced since the receiver's cursor it may have in part: a document that comes whole would
  /// show half of a transaction.
  ///
  /// - Returns: `false` where nothing binds it.
  func announceBound(_ group: LiveGroup) throws(SyncError) -> Bool {
    guard group.mustKeepOrder, log.resumedThrough > 0 else { return false }
    let concerned = try concernedCollections()
    let documents: [AnnouncedDocument]? = try context.read { transaction in
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      var places: [StoredPlace] = []
      for document in group.documents {
        _ = try transaction.visitIntactRecord(
          document.collection, document.id, damaged: context.tellDamaged
        ) { found, _, _ in
          if let found {
            places.append(StoredPlace(collection: document.collection.id, number: found.number))
          }
        }
      }
      guard places.contains(where: { recent.contains($0) }) else { return nil }
      return try announcements(closure(of: places), &sources, transaction)
    }
    guard let documents else { return false }
    if !documents.isEmpty { announceFromLog(documents, sequence: group.sequence) }
    return true
  }

  private func announceFromLog(_ documents: [AnnouncedDocument], sequence: UInt64) {
    context.statistics.groupsAnnounced += 1
    announcing.add(documents, sequence: sequence, isCounted: context.features.contains(.mesh))
    log.resumedThrough = max(log.resumedThrough, sequence)
    log.isAnnouncing = true
  }

  // MARK: - Marks

  /// Whether all that is known to concern the receiver has been handed on, and all that it asked for.
  private var isQueueEmpty: Bool {
    log.walk == nil && !isApplying && !isRoundActive && !isAwaitingRound && settledAfter == nil
      && questions.isEmpty
      && requests.isEmpty && partialWants.isEmpty && live.isEmpty && heldBack.isEmpty && !watch.isWaiting
      && met.isEmpty
  }

  /// When the next mark may be set; `nil` while there is none to set.
  var markTime: Duration? {
    guard context.features.contains(.cursors), let followed = log.followed else { return nil }
    if log.waiting != nil { return nil }
    guard isQueueEmpty else { return nil }
    let sequence = max(followed, lastCommitted)
    guard let marked = log.marked else { return context.now }
    guard marked.sequence != sequence || marked.asksTaken != log.asksTaken else { return nil }
    if marked.asksTaken != log.asksTaken { return context.now }
    let isQuiet = marked.after == outgoing.taken && !log.isMoved
    return log.markedAt + (isQuiet ? Self.quietMarkInterval : Self.markInterval)
  }

  /// Says how far the receiver has been served, when that has gone out.
  func setMark() throws(SyncError) {
    if let time = markTime, time <= context.now, let followed = log.followed {
      log.waiting = LogPlace.Mark(
        sequence: max(followed, lastCommitted), asksTaken: log.asksTaken, after: outgoing.taken)
    }
    guard let mark = log.waiting, outgoing.gone.covers(mark.after) || Probe.defect(.markAhead) else { return }
    log.waiting = nil
    log.isMoved = false
    log.marked = mark
    log.markedAt = context.now
    guard let commit = try context.read({ try $0.commitCheck(at: mark.sequence) }) else { return }
    let frame = MarkFrame(
      sequence: mark.sequence, commitCheck: commit, policyPrint: log.policyPrint,
      asksTaken: mark.asksTaken)
    context.send(.mark) { frame.encode(to: &$0) }
  }
}
