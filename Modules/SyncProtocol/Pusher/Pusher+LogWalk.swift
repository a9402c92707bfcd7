import CRDTCore
import DocStore
import Failpoints

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

/// Goes through the log from a receiver's cursor on: what was written here is sent to who gets changes from nobody else; else
/// what changed is announced, and the receiver wants what it lacks of that.
extension Pusher {
  /// Sends, or announces, the next of what changed since the receiver's cursor.
  func walkLog(budget: inout Int) throws(SyncError) {
    guard var walk = log.walk, budget > 0, canWalk else { return }
    log.walk = nil
    // What a backlog names again has changed again, and comes no other way.
    if walk.isBacklog { walk.announced = [] }
    let concerned = try concernedCollections()
    var left = budget
    var isPaused = false
    var (counted, byteCount) = (0, 0)
    let end: UInt64? = try context.readLog { transaction in
      // What the log no longer has is found by comparing.
      guard walk.place >= transaction.logStart else { return nil }
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      try transaction.changes(after: walk.place) { entry in
        while counted < walk.groups.count {
          byteCount += walk.groups[counted].byteCount
          counted += 1
        }
        // Entries of one commit are taken together: the place is a commit's.
        let hasRoom =
          left > 0 && byteCount < AnnouncementPace.stepBytes && (log.unaskedAfter == nil || hasRoomToPush)
        guard hasRoom || entry.sequence == walk.place else {
          isPaused = true
          return false
        }
        walk.place = entry.sequence
        let count = try look(at: entry, &walk, &sources, transaction)
        walk.documents += count
        left -= 1 + count
        return walk.leaving <= context.tuning.leavingDocuments
      }
      return transaction.sequence
    }
    budget = left
    // Before anything is announced: to compare costs less than the names of so many.
    guard let end, walk.leaving <= context.tuning.leavingDocuments,
      walk.documents <= context.tuning.walkedDocuments, walk.groups.allSatisfy(Announcement.fits)
    else { return compareInstead() }
    for group in walk.groups {
      walk.offers += try leavers(of: group)
      announceFromLog(group, sequence: walk.first)
    }
    send(walk.offers)
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
        // By a certificate alone it could not be named later.
        if let offer = makeOffer(key.id, summary, source) { walk.offers.append(offer) }
      }
    }
    // What came from elsewhere the receiver may have from there, or lack more of.
    let reading = entry.origin == .user && !walk.isBacklog ? log.unaskedAfter : nil
    // What is bound goes with all that binds it, and is read once, with that.
    var bound: [StoredPlace] = []
    var damaged: [DamagedRecord] = []
    try entry.forEachMember(
      where: { collection, number in
        count += 1
        let place = StoredPlace(collection: collection, number: number)
        guard graph.isRecent(place) else { return true }
        bound.append(place)
        return false
      }, damaged: { damaged.append($0) }
    ) { collection, _, id, summary, record in
      guard let source = try sources.source(collection, transaction) else { return true }
      if let reading, mayPush(id, record, source) {
        batch.begin(sequence: graph.makeName(), mayOvertake: false)
        try include(.unasked(after: reading), id, summary, record, source)
        batch.finish()
        return true
      }
      guard let news = try announcement(id, summary, record, source) else { return true }
      if !news.leaves {
        walk.groups.append([news])
      } else if let offer = try offer(DocumentID(trusted: id.copied), summary, source) {
        walk.offers.append(offer)
      }
      return true
    }
    for record in damaged where concerns(record.collection) { context.tellDamaged(record) }
    for place in bound where !walk.announced.contains(place) {
      let places =
        SyncDefect.unaskedInParts.isPlanted && reading != nil ? [place] : graph.recentClosure(of: [place])
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
    batch.begin(sequence: graph.makeName(), mayOvertake: false)
    try sources.forEachIntactRecord(at: places, transaction) { source, _, id, summary, record in
      try include(.unasked(after: reading), id, summary, record, source)
    }
    batch.finish()
    return true
  }

  /// Whether so little waits to go out that more may be gathered: what is gathered first is to leave first.
  var hasRoomToPush: Bool {
    queue.window.hasRoom && queue.streamBytes < queue.fragmentBytes
      && queue.waitingTransferBytes < queue.fragmentBytes
  }

  private func mayPush(_ id: RawSpan, _ record: borrowing RecordView, _ source: Source) -> Bool {
    source.matcher.matches(id, record) && source.oversizeBytes(of: id) == nil
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
    guard let cleared = gatekeeper?.clear(source.collection.name) else { return nil }
    if let byteCount = source.oversizeBytes(of: id) {
      if source.matcher.matches(id, record) {
        context.withhold(source.key(of: id), in: source.collection.name, byteCount: byteCount)
      }
      let hash = Fingerprint.hash(id: id, summary: summary)
      send([DocumentOffer(cleared, item: DocumentHash(id: DocumentID(trusted: id.copied), hash: hash))])
      return nil
    }
    let leaves = !source.matcher.matches(id, record)
    return AnnouncedDocument(
      cleared, id: DocumentID(trusted: id.copied), vector: try record.vector(sites: source.tables.sites),
      hash: Fingerprint.hash(id: id, summary: summary),
      isHeld: !leaves && tellsByAnnouncing && source.own?.matches(id, record) ?? false, leaves: leaves)
  }

  /// Whether what is announced from the log tells the peer also what this peer holds.
  private var tellsByAnnouncing: Bool { log.toldThrough != nil && !SyncDefect.ownLogNotTold.isPlanted }

  /// A document that does not match, if the peer is to hear of it: as of one that changes while the session runs.
  private func offer(_ id: DocumentID, _ summary: Summary, _ source: Source) throws -> DocumentOffer? {
    let collection = source.collection.name
    let isWatched =
      watch.contains(source.key(of: id.bytes.span.bytes)) || unnamed.contains(TextKey(collection))
    guard try isWatched || tells(event: id, of: collection) else { return nil }
    return makeOffer(id, summary, source)
  }

  /// Offers of announced documents that do not match, where the peer relies on hearing of those.
  private func leavers(of group: [AnnouncedDocument]) throws(SyncError) -> [DocumentOffer] {
    var offers: [DocumentOffer] = []
    for document in group where document.leaves && telling[document.collection].isLeading {
      guard try tells(event: document.id, of: document.collection), let hash = document.hash,
        let cleared = gatekeeper?.clear(document.collection)
      else { continue }
      offers.append(DocumentOffer(cleared, item: DocumentHash(id: document.id, hash: hash)))
    }
    return offers
  }

  private func makeOffer(_ id: DocumentID, _ summary: Summary, _ source: Source) -> DocumentOffer? {
    guard let cleared = gatekeeper?.clear(source.collection.name) else { return nil }
    let hash = Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)
    return DocumentOffer(cleared, item: DocumentHash(id: id, hash: hash))
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
      guard places.contains(where: { graph.isRecent($0) }) else { return nil }
      return try announcements(graph.recentClosure(of: places), &sources, transaction)
    }
    guard let documents else { return false }
    guard Announcement.fits(documents) else {
      compareInstead()
      return true
    }
    if !documents.isEmpty { announceFromLog(documents, sequence: group.sequence) }
    return true
  }

  private func announceFromLog(_ documents: [AnnouncedDocument], sequence: UInt64) {
    context.statistics.groupsAnnounced += 1
    announcing.add(documents, sequence: sequence)
    log.resumedThrough = max(log.resumedThrough, sequence)
    log.isAnnouncing = true
  }
}
