import CRDTCore
import DocStore
import Failpoints

extension Puller {
  /// Begins a reconciliation of the collections that are due and in the interest.
  func beginRound() throws(SyncError) {
    let due = pull.due
    pull.due = .nothing
    isFullRound = due == .everything
    if isFullRound { isCaughtUpDue = true }
    pull.round += 1
    bulk.release()
    reconciler.begin([])
    guard let gatekeeper = context.gatekeeper else { return }
    var names = pull.interest.names.filter(gatekeeper.mayAccept)
    if case .collections(let some) = due { names.removeAll { !some.contains($0) } }
    guard !pull.interest.isEmpty else {
      pull.phase = .done
      return tellCaughtUp()
    }
    if isFullRound { noteFullRound(at: try context.read { $0.sequence }) }
    pull.phase = .asking
    // An empty list of questions still tells the sender that this peer has everything.
    if names.isEmpty { sendQuestions([]) }
    reconciler.begin(names)
  }

  func take(_ answers: [RangeAnswer], round: UInt64) throws(SyncError) {
    guard round == pull.round, pull.phase == .asking else { return }
    for answer in answers { try reconciler.take(answer, HeldDocuments(self), context.tuning) }
  }

  /// Ends the reconciliation: everything that it found is applied here.
  func settled(round: UInt64) {
    guard round == pull.round, pull.phase == .settling else { return }
    pull.phase = .done
    bulk.release()
    pull.due.add(early.settle(pull.interest))
    tellCaughtUp()
    if isFullRound, pull.due == .nothing { noteCompared() }
  }

  func tellCaughtUp() {
    guard isCaughtUpDue, pull.phase == .done, pull.due == .nothing, !context.unreadable.isAnywhere,
      !context.withheld.isAnywhere
    else { return }
    isCaughtUpDue = false
    context.tell(.caughtUp(generation: pull.generation))
  }

  /// Schedules a full reconciliation, because the sender asked for it or this peer needs it.
  func renew() {
    if !SyncDefect.renewIgnored.isPlanted { pull.due = .everything }
    switch pull.phase {
    // The checkpoint no longer matters, and the sender may not know the interest yet.
    case .resuming:
      sendInterest()
      pull.phase = .idle
    case .following: pull.phase = .idle
    case .idle, .asking, .settling, .done: break
    }
    following.interestPrint = interestPrint(pull.interest)
  }

  /// Processes a local commit: sends notices of documents that are new here, and requests evicted ones again.
  ///
  /// If `isSent` is true for a change, the pusher sends it to the sender anyway, flagged as held here.
  func committed(_ commit: Commit, isSent: (Int) -> Bool) throws(SyncError) {
    following.told = max(following.told, commit.sequence)
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
        guard gatekeeper.maySend(change.collection.name) else {
          pull.due.add(change.collection.name)
          // The sender may apply changes sent before the eviction only after the comparison.
          evicted.note(DocumentName(collection: change.collection.name, id: change.id))
          continue
        }
        asked.append(DocumentWant(whole: change.id, in: change.collection.name))
      case .write:
        guard let after = change.after, let summary = change.afterSummary, !holds(change, change.before),
          holds(change, after),
          !isSent(index)
        else { continue }
        guard let cleared = gatekeeper.clear(change.collection.name) else {
          // The sender must not learn of the document, so it has to list what it holds.
          pull.due.add(change.collection.name)
          continue
        }
        events.append(try have(cleared, change, after, summary))
      }
    }
    // Before the first comparison or log scan nothing is sent, since these find the changes. But changes to
    // evicted documents may be in flight, and the sender may apply them only after the comparison.
    guard !pull.isBeginning else { return evicted.noteEvicted(asked) }
    try tell(events)
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
}
