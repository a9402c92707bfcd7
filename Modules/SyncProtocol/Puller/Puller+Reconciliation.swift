import CRDTCore
import DocStore
import Failpoints

extension Puller {
  /// Begins a reconciliation of the collections that are due and in the interest.
  func beginReconciliation() throws(SyncError) {
    let due = pull.due
    pull.due = .nothing
    isFullReconciliation = due == .everything
    if isFullReconciliation { isCaughtUpDue = true }
    pull.reconciliation += 1
    #if DEBUG || SIMULATION
      context.watch?(.reconciling(isFull: isFullReconciliation))
    #endif
    bulk.release()
    noteReconciliation()
    reconciler.begin([])
    guard let gatekeeper = context.gatekeeper else { return }
    var names = pull.interest.names.filter(gatekeeper.mayAccept)
    if case .collections(let some) = due { names.removeAll { !some.contains($0) } }
    guard !pull.interest.isEmpty else {
      pull.enter(.done)
      return reportCaughtUp()
    }
    if isFullReconciliation { noteFullReconciliation(at: try context.read { $0.sequence }) }
    pull.enter(.asking)
    // An empty list of questions still shows the sender that this peer has everything.
    if names.isEmpty { sendQuestions([]) }
    reconciler.begin(names, cutsByContent: context.access.reading != .everything)
    // What the sender itself may not read is in no fingerprint of this peer. So a removal of that by the
    // sender shows in no comparison.
    for name in names where context.access.partialRule(of: name) != nil { reconciler.listRest(of: name) }
  }

  func receive(_ answers: [RangeAnswer], reconciliation: UInt64) throws(SyncError) {
    guard reconciliation == pull.reconciliation, pull.phase == .asking else { return }
    for answer in answers { try reconciler.receive(answer, HeldDocuments(self), context.tuning) }
  }

  /// Ends the reconciliation: everything that it found is applied here.
  func settled(reconciliation: UInt64) {
    guard reconciliation == pull.reconciliation, pull.phase == .settling else { return }
    pull.enter(.done)
    bulk.release()
    pull.due.add(early.settle(pull.interest))
    reportCaughtUp()
    if isFullReconciliation, pull.due == .nothing { noteCompared() }
  }

  func reportCaughtUp() {
    guard isCaughtUpDue, pull.isDone, !context.unreadable.isAnywhere, !context.withheld.isAnywhere else {
      return
    }
    isCaughtUpDue = false
    context.report(.caughtUp(generation: pull.generation))
  }

  /// Schedules a full reconciliation, because the sender asked for it or this peer needs it.
  func renew() {
    if !SyncDefect.renewIgnored.isPlanted { pull.due = .everything }
    switch pull.phase {
    // The checkpoint no longer matters, and the sender may not know the interest yet.
    case .resuming:
      sendInterest()
      pull.enter(.idle)
    case .following: pull.enter(.idle)
    case .idle, .asking, .settling, .done: break
    }
    following.interestHash = interestHash(pull.interest)
  }

  /// Processes a local commit: sends notices of documents that are new here, and requests evicted ones again.
  ///
  /// If `isSent` is true for a change, the pusher sends it to the sender anyway, flagged as held here.
  func committed(_ commit: Commit, isSent: (Int) -> Bool) throws(SyncError) {
    following.reported = max(following.reported, commit.sequence)
    // Another session may have brought these documents, so the digests are outdated.
    reconciler.forgetDigests { name in commit.changes.contains { $0.collection.name.isSame(as: name) } }
    guard commit.origin != .remote(context.id), let gatekeeper = context.gatekeeper else { return }
    if commit.origin == .user { evicted.noteUnwanted(commit) }
    guard !pull.interest.isEmpty else { return }
    var asked: [DocumentWant] = []
    var events: [DocumentHave] = []
    for (index, change) in commit.changes.enumerated() {
      guard pull.interest.covers(change.collection.name) else { continue }
      switch change.kind {
      case .evict:
        // Documents that left the subscriptions are not requested again.
        guard commit.origin == .user else { continue }
        // The evicted copy did not match, but the older copy at the sender may.
        guard gatekeeper.mayAccept(change.collection.name), !SyncDefect.evictionNotAnswered.isPlanted else {
          continue
        }
        // It could not be requested without showing that it was here.
        guard gatekeeper.mayRead(change.collection.name, change.id) else { continue }
        if let before = change.before, !gatekeeper.mayRead(change.collection, change.id, before) {
          // The same for a copy that the sender may not read now, of which it may have an earlier state.
          pull.due.add(change.collection.name)
          evicted.note(unnamedIn: change.collection.name)
          continue
        }
        guard gatekeeper.maySend(change.collection.name) else {
          pull.due.add(change.collection.name)
          // The sender may apply changes sent before the eviction only after the comparison.
          evicted.note(DocumentName(collection: change.collection.name, id: change.id))
          continue
        }
        asked.append(DocumentWant(whole: change.id, in: change.collection.name))
      case .write:
        guard let after = change.after, let summary = change.afterSummary, !isSent(index),
          holds(change, after) && !holds(change, change.before)
        else { continue }
        guard let cleared = gatekeeper.clear(change.collection, change.id, after) else {
          // The sender must not learn of any document, so it has to list what it holds. One that it may not
          // read does not count: a copy that the sender wrote differs whenever they compare.
          if gatekeeper.mayRead(change.collection, change.id, after) { pull.due.add(change.collection.name) }
          continue
        }
        events.append(try have(cleared, change, after, summary))
      }
    }
    // Before the first comparison or log scan nothing is sent, since these find the changes. But changes to
    // evicted documents may be in flight, and the sender may apply them only after the comparison.
    guard !pull.isBeginning else { return evicted.noteEvicted(asked) }
    try report(events)
    evicted.evict(asked)
  }

  private func have(
    _ cleared: consuming Cleared, _ change: Change, _ record: Record, _ summary: Summary
  ) throws(SyncError) -> DocumentHave {
    let id = change.id
    do {
      let vector = try record.withView { view throws(CodecError) in try view.vector(sites: change.sites) }
      return DocumentHave(
        cleared, id: id, hash: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary), vector: vector)
    } catch {
      throw SyncError(store: error)
    }
  }

  // MARK: - Notices

  /// Interprets the notices whose preceding transactions are all applied.
  ///
  /// - Returns: The documents of which the sender lacks something.
  func processNotices() throws(SyncError) -> [DocumentRequest] {
    var owed: [DocumentRequest] = []
    while let notice = pull.queue.dequeueNotice() {
      switch notice {
      case .offers(let offers): try receive(offers)
      case .withdrawals(let withdrawals): try receive(withdrawals)
      case .announcement(let announcement): owed += try announcements.receive(announcement)
      case .settled(let reconciliation): settled(reconciliation: reconciliation)
      case .mark(let frame, let own): following.mark = Following.Mark(frame: frame, own: own)
      case .renew:
        noticeExchange.reset()
        renew()
        context.send(.renewed)
      }
    }
    return owed
  }

  /// Takes documents as withdrawn, and names those of which the sender does not know the version here.
  private func receive(_ withdrawals: [Withdrawal]) throws(SyncError) {
    pull.withdrawn += withdrawals.filter { !$0.known.isEmpty && pull.obeys($0) }
    if pull.withdrawn.count > context.tuning.waitingOffers {
      // They are withdrawn again when this peer names what it has.
      (pull.withdrawn, pull.due) = ([], .everything)
    }
    let unknown = withdrawals.filter { $0.known.isEmpty && pull.interest.covers($0.collection) }
    let names = unknown.map { DocumentName(collection: $0.collection, id: $0.id) }
    guard !names.isEmpty else { return }
    pull.sendHaves(try evicted.haves(of: names, matchingOnly: false), reconciliation: 0)
  }

  /// Requests offered documents of which this peer holds another state.
  private func receive(_ offers: [DocumentOffer]) throws(SyncError) {
    guard !SyncDefect.offersIgnored.isPlanted else { return }
    for offer in offers where pull.interest.covers(offer.collection) {
      noticeExchange.receive(reported: offer.item.id, of: offer.collection)
    }
    pull.sendWants(
      try differing(offers.map { ($0.collection, $0.item) }), reconciliation: 0, isTransaction: false)
  }

  /// Sends notices of documents that are new under the interest, as far as the rule requires them.
  func report(_ events: [DocumentHave]) throws(SyncError) {
    var haves: [DocumentHave] = []
    for have in events where try noticeExchange.reports(event: have.id, of: have.collection) {
      haves.append(have)
    }
    pull.sendHaves(haves, reconciliation: 0)
  }

  /// Returns requests for the listed documents that are held here under the interest in another state.
  func differing(_ items: [(collection: String, item: DocumentHash)]) throws(SyncError) -> [DocumentWant] {
    let interest = pull.interest
    let gatekeeper = context.gatekeeper
    return try context.read { snapshot in
      let sites = snapshot.sites
      var wants: [DocumentWant] = []
      for (name, item) in items {
        let known = try snapshot.collection(name)
        if let gatekeeper, !gatekeeper.mayRead(name, item.id) {
          // Requested whether it is stored here or not, so that the request does not show that. Only who has
          // the very same state can name its hash.
          guard interest.covers(name) else { continue }
          var isSame = false
          if let known {
            try snapshot.visitIntactRecord(known, item.id, damaged: context.reportDamaged) { _, _, summary in
              isSame = Fingerprint.hash(id: item.id.bytes.span.bytes, summary: summary) == item.hash
            }
          }
          if !isSame { wants.append(DocumentWant(whole: item.id, in: name, isHeld: true)) }
          continue
        }
        guard let collection = known,
          let matcher = interest.matcher(for: collection)
        else { continue }
        try snapshot.visitIntactRecord(collection, item.id, damaged: context.reportDamaged) {
          _, record, summary in
          let id = item.id.bytes.span.bytes
          // An offer proves nothing of a state that the sender may not read.
          guard matcher.matches(id, record), Fingerprint.hash(id: id, summary: summary) != item.hash,
            gatekeeper?.mayRead(collection, id, record) ?? true
          else { return }
          let version = DocumentVersion(
            collection: name, id: item.id, vector: try record.vector(sites: sites))
          wants.append(DocumentWant(version, isHeld: true, isReadable: true, gatekeeper))
        }
      }
      return wants
    }
  }
}
