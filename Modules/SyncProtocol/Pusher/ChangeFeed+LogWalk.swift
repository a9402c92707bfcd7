import CRDTCore
import DocStore
import Failpoints

/// A walk through the log from a receiver's checkpoint to its end.
struct LogWalk {
  /// The last commit of which all entries were examined.
  var place: UInt64
  /// The first commit of the walk.
  let first: UInt64
  /// Whether the walk replaces the queue of live changes.
  var isBacklog = false
  /// The number of examined documents, as far as the peer may read them.
  var documents = 0
  /// The number of all examined documents.
  var work = 0
  /// What of the budget is spent on the announcements that are not sent yet.
  var spent = 0
  /// The last commit of which all announcements were sent; later ones up to `place` are only found.
  var announcedThrough: UInt64
  /// Documents of transactions that were announced.
  var announced: Set<StoredPlace> = []
  /// The number of announced transaction documents that no longer match.
  ///
  /// They are announced for possible holders.
  var leaving = 0
  /// What the current step has found.
  var transactions: [[AnnouncedDocument]] = []
  var offers: [DocumentOffer] = []
  /// Whether it has met a document that a commit may have hidden from the peer.
  var hasHidden = false

  init(after place: UInt64, isBacklog: Bool = false, documents: Int = 0, work: Int = 0) {
    self.place = place
    announcedThrough = place
    first = place + 1
    self.isBacklog = isBacklog
    self.documents = documents
    self.work = work
  }
}

/// Walking the log from a receiver's checkpoint.
///
/// A peer that gets changes from no other peer is sent the local writes directly. All other changes are
/// announced, and the receiver requests what it lacks.
extension ChangeFeed {
  /// Sends or announces the next changes after the receiver's checkpoint.
  func walkLog(budget: inout Int) throws(SyncError) {
    guard var walk, budget > 0, canWalk else { return }
    self.walk = nil
    // A document that a backlog names again has changed again, and is announced in no other way.
    if walk.isBacklog { walk.announced = [] }
    let concerned = try peer.concernedCollections()
    // Toward a peer that may not read everything, work that finds nothing for it ends the call, and not the
    // frame: that would show the work.
    let cutsByContent = context.access.reading != .everything
    var (left, workLeft) = (budget - walk.spent, budget)
    var (isPaused, yields) = (false, false)
    var (counted, byteCount) = (0, 0)
    let end: UInt64? = try context.readLog { snapshot in
      // If the log no longer has these commits, reconciliation finds their changes.
      guard walk.place >= snapshot.logStart else { return nil }
      try sender.refreshRecent(snapshot, concerned)
      var sources = Sources(peer)
      try snapshot.changes(after: walk.place) { entry in
        while counted < walk.transactions.count {
          byteCount += walk.transactions[counted].byteCount
          counted += 1
        }
        // All entries of a commit are processed together, since the position is a commit's.
        let hasRoom =
          left > 0 && byteCount < AnnouncementPace.stepBytes && (unaskedAfter == nil || hasRoomToPush)
        guard hasRoom || entry.sequence == walk.place else {
          isPaused = true
          return false
        }
        guard !cutsByContent || workLeft > 0 || entry.sequence == walk.place else {
          yields = true
          return false
        }
        walk.place = entry.sequence
        let (count, work) = try look(at: entry, &walk, &sources, snapshot)
        walk.documents += count
        walk.work += work
        left -= 1 + count
        workLeft -= 1 + work
        return walk.leaving <= context.tuning.leavingDocuments
      }
      return snapshot.sequence
    }
    let spent = budget - left  // Also what earlier calls have spent on these announcements.
    budget = cutsByContent ? min(left, workLeft) : left
    // This is checked before anything is announced: reconciliation costs less than the announcement of many
    // ids.
    // Whether the peer could read the document before is unknown, so the peer has to name what it has.
    if walk.hasHidden, !walk.isBacklog || mayMissWithdrawals {
      mayMissWithdrawals = false
      return compareInstead()
    }
    guard let end, walk.leaving <= context.tuning.leavingDocuments,
      walk.documents <= context.tuning.walkedDocuments, walk.work <= context.tuning.walkedWork,
      walk.transactions.allSatisfy(Announcement.fits)
    else { return compareInstead() }
    if yields {
      walk.spent = spent
      self.walk = walk
      return
    }
    for transaction in walk.transactions {
      walk.offers += try leavers(of: transaction)
      announceFromLog(transaction, sequence: walk.first)
    }
    offers.send(walk.offers)
    if isPaused {
      (walk.transactions, walk.offers, walk.spent) = ([], [], 0)
      walk.announcedThrough = walk.place
      self.walk = walk
    } else {
      followed = max(followed ?? 0, end)
      resumedThrough = max(resumedThrough, end)
    }
  }

  /// - Returns: How many documents it has, as far as the peer may read them; and how many were examined.
  private func look(
    at entry: borrowing LogEntry, _ walk: inout LogWalk, _ sources: inout Sources,
    _ snapshot: borrowing ReadTransaction
  ) throws -> (count: Int, work: Int) {
    var (count, work) = (0, entry.evicted.count)
    // What the peer may not read does not count: where the walk pauses or ends would show it. So members are
    // counted only once read.
    let countsAll = context.access.reading == .everything
    for key in entry.evicted {
      if countsAll { count += 1 }
      guard let source = try sources.source(key.collection, snapshot),
        !(context.gatekeeper?.rule(for: source.collection).map { !$0.mayAllow(key.id.bytes.span.bytes) }
          ?? false)
      else { continue }
      if !countsAll, !source.matcher.canHide { count += 1 }
      // At most a compacted tombstone is left here, which the receiver may lack.
      try snapshot.visitIntactRecord(source.collection, key.id, damaged: context.reportDamaged) {
        _, record, summary in
        guard !record.isAlive, try record.vector(sites: source.tables.sites).isEmpty,
          !source.matcher.hides(key.id.bytes.span.bytes, record)
        else { return }
        // It is named now: from a compacted tombstone alone, it could not be named later.
        if let offer = makeOffer(key.id, summary, record, source) { walk.offers.append(offer) }
      }
    }
    // The receiver may have changes of other peers from there, or lack earlier ones: those are announced.
    let reading = entry.origin == .user && !walk.isBacklog ? unaskedAfter : nil
    // None of these is read: the peer gets nothing of their collections.
    var unconcerned: Set<UInt32> = []
    for run in entry.runs where !countsAll {
      if try sources.source(run.collection, snapshot) == nil { unconcerned.insert(run.collection) }
    }
    // Bound documents are processed together with everything that binds them, and so are read once.
    var bound: [StoredPlace] = []
    var damaged: [DamagedRecord] = []
    try entry.forEachMember(
      where: { collection, number in
        guard !unconcerned.contains(collection) else { return false }
        work += 1
        let place = StoredPlace(collection: collection, number: number)
        let isBound = sender.graph.isRecent(place)
        if isBound || countsAll { count += 1 }
        if isBound { bound.append(place) }
        return !isBound
      }, damaged: { damaged.append($0) }
    ) { collection, _, id, summary, record in
      guard let source = try sources.source(collection, snapshot) else { return true }
      guard !source.matcher.hides(id, record) else {
        if source.matcher.canHide { walk.hasHidden = true }
        return true
      }
      if !countsAll { count += 1 }
      if let reading, mayPush(id, record, source) {
        sender.batch.begin(sequence: sender.graph.makeName(), mayOvertake: false)
        try sender.include(.unasked(after: reading), id, summary, record, source)
        sender.batch.finish()
        return true
      }
      guard let news = try announcement(id, summary, record, source) else { return true }
      if !news.leaves {
        walk.transactions.append([news])
      } else if let offer = try offer(DocumentID(trusted: id.copied), summary, record, source) {
        walk.offers.append(offer)
      }
      return true
    }
    for record in damaged where peer.concerns(record.collection) { context.reportDamaged(record) }
    for place in bound where !walk.announced.contains(place) {
      let places =
        SyncDefect.unaskedInParts.isPlanted && reading != nil
        ? [place] : sender.graph.recentClosure(of: [place])
      walk.announced.formUnion(places)
      if let reading, try push(places, after: reading, &sources, snapshot) { continue }
      let transaction = try announcements(places, &sources, snapshot, hidden: &walk.hasHidden)
      walk.leaving += transaction.count(where: \.leaves)
      if !transaction.isEmpty { walk.transactions.append(transaction) }
    }
    return (count, work)
  }

  /// Sends documents that belong together, with the local writes after an HLC timestamp.
  ///
  /// - Returns: `false`, with nothing sent, if they are too many or one may not be pushed; they are
  ///   announced instead.
  private func push(
    _ places: Set<StoredPlace>, after reading: ClockReading, _ sources: inout Sources,
    _ snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    guard places.count <= context.tuning.transfers.splitDocuments else { return false }
    var mayGoOut = true
    try sources.forEachIntactRecord(at: places, snapshot) { source, _, id, _, record in
      mayGoOut = mayGoOut && (source.matcher.hides(id, record) || mayPush(id, record, source))
    }
    guard mayGoOut else { return false }
    sender.batch.begin(sequence: sender.graph.makeName(), mayOvertake: false)
    try sources.forEachIntactRecord(at: places, snapshot) { source, _, id, summary, record in
      try sender.include(.unasked(after: reading), id, summary, record, source)
    }
    sender.batch.finish()
    return true
  }

  /// Whether so little waits to be sent that more may be gathered: what is gathered first must leave first.
  var hasRoomToPush: Bool {
    sender.queue.window.hasRoom && sender.queue.streamBytes < sender.queue.fragmentBytes
      && sender.queue.waitingTransferBytes < sender.queue.fragmentBytes
  }

  private func mayPush(_ id: RawSpan, _ record: borrowing RecordView, _ source: Source) -> Bool {
    source.matcher.matches(id, record) && source.oversizeBytes(of: id) == nil
  }

  private func announcements(
    _ places: Set<StoredPlace>, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction,
    hidden: inout Bool
  ) throws -> [AnnouncedDocument] {
    var transaction: [AnnouncedDocument] = []
    try sources.forEachIntactRecord(at: places, snapshot) { source, _, id, summary, record in
      if source.matcher.canHide, source.matcher.hides(id, record) { hidden = true }
      if let news = try announcement(id, summary, record, source) { transaction.append(news) }
    }
    return transaction
  }

  /// Returns a document's announcement; `nil` for one that is too large or must not leave.
  private func announcement(
    _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView, _ source: Source
  ) throws -> AnnouncedDocument? {
    guard let cleared = context.gatekeeper?.clear(source.collection, id, record) else { return nil }
    if let byteCount = source.oversizeBytes(of: id) {
      if source.matcher.matches(id, record) {
        context.withhold(source.key(of: id), in: source.collection.name, byteCount: byteCount)
      }
      let hash = Fingerprint.hash(id: id, summary: summary)
      offers.send([DocumentOffer(cleared, item: DocumentHash(id: DocumentID(trusted: id.copied), hash: hash))]
      )
      return nil
    }
    let leaves = !source.matcher.matches(id, record)
    return AnnouncedDocument(
      cleared, id: DocumentID(trusted: id.copied), vector: try record.vector(sites: source.tables.sites),
      hash: Fingerprint.hash(id: id, summary: summary),
      isHeld: !leaves && reportsByAnnouncing && source.own?.matches(id, record) ?? false, leaves: leaves)
  }

  /// Whether announcements from the log also show the peer which documents this peer holds.
  private var reportsByAnnouncing: Bool { reportedThrough != nil && !SyncDefect.ownLogNotTold.isPlanted }

  /// Returns an offer of a document that does not match, if the peer must learn of it.
  ///
  /// Live changes follow the same rule.
  private func offer(
    _ id: DocumentID, _ summary: Summary, _ record: borrowing RecordView, _ source: Source
  ) throws -> DocumentOffer? {
    let collection = source.collection.name
    let isPossibleHolder =
      peer.mayHold(source.key(of: id.bytes.span.bytes), in: collection)
    guard try isPossibleHolder || offers.noticeExchange.reports(event: id, of: collection) else { return nil }
    return makeOffer(id, summary, record, source)
  }

  /// Returns offers of announced documents that do not match, if the peer relies on learning of them.
  private func leavers(of transaction: [AnnouncedDocument]) throws(SyncError) -> [DocumentOffer] {
    var found: [DocumentOffer] = []
    for document in transaction where document.leaves && offers.noticeExchange.isLeading(document.collection)
    {
      guard try offers.noticeExchange.reports(event: document.id, of: document.collection),
        let hash = document.hash,
        // It was announced, so it passed the gate in this call.
        let cleared = context.gatekeeper?.clear(document.collection, all: true)
      else { continue }
      found.append(DocumentOffer(cleared, item: DocumentHash(id: document.id, hash: hash)))
    }
    return found
  }

  private func makeOffer(
    _ id: DocumentID, _ summary: Summary, _ record: borrowing RecordView, _ source: Source
  ) -> DocumentOffer? {
    let bytes = id.bytes.span.bytes
    guard let cleared = context.gatekeeper?.clear(source.collection, bytes, record) else { return nil }
    let hash = Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)
    return DocumentOffer(cleared, item: DocumentHash(id: id, hash: hash))
  }

  private func announceFromLog(_ documents: [AnnouncedDocument], sequence: UInt64) {
    context.statistics.transactionsAnnounced += 1
    announcing.add(documents, sequence: sequence)
    resumedThrough = max(resumedThrough, sequence)
    isAnnouncing = true
  }

  /// Announces a live transaction with everything that earlier transactions bind to it, instead of sending
  /// it.
  ///
  /// The receiver may have a part of what was announced since its checkpoint. A document sent as full state
  /// could then show half of a transaction.
  ///
  /// - Returns: `false` if nothing binds the transaction.
  func announceBound(_ transaction: LiveTransaction) throws(SyncError) -> Bool {
    guard transaction.mustKeepOrder, resumedThrough > 0 else { return false }
    let documents: [AnnouncedDocument]? = try sender.readSources { snapshot, sources in
      var places: [StoredPlace] = []
      for document in transaction.documents {
        _ = try snapshot.visitIntactRecord(
          document.collection, document.id, damaged: context.reportDamaged
        ) { found, _, _ in
          if let found {
            places.append(StoredPlace(collection: document.collection.id, number: found.number))
          }
        }
      }
      guard places.contains(where: { sender.graph.isRecent($0) }) else { return nil }
      var hidden = false
      return try announcements(sender.graph.recentClosure(of: places), &sources, snapshot, hidden: &hidden)
    }
    guard let documents else { return false }
    guard Announcement.fits(documents) else {
      compareInstead()
      return true
    }
    if !documents.isEmpty { announceFromLog(documents, sequence: transaction.sequence) }
    return true
  }
}
