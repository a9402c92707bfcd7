import CRDTCore
import DocStore
import Failpoints

extension Puller {
  /// Starts comparing what is due of what the interest names.
  func beginRound() throws(SyncError) {
    let due = due
    self.due = .nothing
    isFullRound = due == .everything
    if isFullRound { isCaughtUpDue = true }
    round += 1
    releaseBulk()
    reconciler.begin([])
    guard let gatekeeper = context.gatekeeper else { return }
    var names = interest.names.filter(gatekeeper.mayAccept)
    if case .collections(let some) = due { names.removeAll { !some.contains($0) } }
    guard !interest.isEmpty else {
      phase = .done
      return tellCaughtUp()
    }
    if isFullRound { noteFullRound(at: try context.read { $0.sequence }) }
    phase = .asking
    // Where there is nothing to ask the sender hears that, too: only so it knows that this peer has everything.
    if names.isEmpty { sendQuestions([]) }
    reconciler.begin(names)
  }

  func take(_ answers: [RangeAnswer], round: UInt64) throws(SyncError) {
    guard round == self.round, phase == .asking else { return }
    for answer in answers { try reconciler.take(answer, HeldDocuments(self), context.tuning) }
  }

  /// The sender has sent all that this reconciliation found.
  func settled(round: UInt64) {
    guard round == self.round, phase == .settling else { return }
    phase = .applying(untilGroup: queue.receivedGroups)
    noteProgress()
  }

  /// Tells when all that was found is applied.
  func noteProgress() {
    guard case .applying(let group) = phase, queue.appliedGroups >= group else { return }
    phase = .done
    releaseBulk()
    due.add(early.settle(interest))
    tellCaughtUp()
    if isFullRound, due == .nothing { noteCompared() }
  }

  func tellCaughtUp() {
    guard isCaughtUpDue, phase == .done, due == .nothing, !context.unreadable.isAnywhere,
      !context.withheld.isAnywhere
    else { return }
    isCaughtUpDue = false
    context.tell(.caughtUp(generation: generation))
  }

  /// The sender asks to be compared with anew, or this peer has reason to.
  func renew() {
    if !SyncDefect.renewIgnored.isPlanted { due = .everything }
    early.startAnew()
    switch phase {
    // Where the cursor stood does not matter any more; the sender may not know yet what is asked for.
    case .resuming:
      sendInterest()
      phase = .idle
    case .following: phase = .idle
    case .idle, .asking, .settling, .applying, .done: break
    }
    following.interestPrint = interestPrint(interest)
  }

  /// Takes note of what is evicted while nobody here asks for its collection.
  private func noteUnwanted(_ commit: Commit) {
    for change in commit.changes where change.kind == .evict && !interest.covers(change.collection.name) {
      evicted.unwanted.insert(change.collection.name)
    }
  }

  /// What a local commit means for what this peer is owed.
  ///
  /// A change at a place for which `isSent` goes to the sender anyway, marked as held here.
  func committed(_ commit: Commit, isSent: (Int) -> Bool) throws(SyncError) {
    following.told = max(following.told, commit.sequence)
    // What another session has brought is not asked for once more.
    reconciler.forgetDigests { name in commit.changes.contains { $0.collection.name.isSame(as: name) } }
    guard commit.origin != .remote(context.id), let gatekeeper = context.gatekeeper else { return }
    if commit.origin == .user { noteUnwanted(commit) }
    guard !interest.isEmpty else { return }
    var asked: [DocumentWant] = []
    var events: [DocumentHave] = []
    for (index, change) in commit.changes.enumerated() {
      guard interest.covers(change.collection.name) else { continue }
      switch change.kind {
      case .evict:
        // What left the subscriptions is not wanted back.
        guard commit.origin == .user else { continue }
        // What did not match here may match at the sender, whose copy was too old to be of interest until now.
        guard gatekeeper.mayAccept(change.collection.name), !SyncDefect.evictionNotAnswered.isPlanted else {
          continue
        }
        guard gatekeeper.maySend(change.collection.name) else {
          due.add(change.collection.name)
          // What went there before may be applied after it is compared.
          evicted.before.append(DocumentName(collection: change.collection.name, id: change.id))
          continue
        }
        asked.append(DocumentWant(whole: change.id, in: change.collection.name))
      case .write:
        guard let after = change.after, let summary = change.afterSummary, !holds(change, change.before),
          holds(change, after),
          !isSent(index)
        else { continue }
        guard let cleared = gatekeeper.clear(change.collection.name) else {
          // The sender must not hear of it, so it has to list what it knows.
          due.add(change.collection.name)
          continue
        }
        events.append(try have(cleared, change, after, summary))
      }
    }
    // What is compared first, or found in this store's log, is not told before. But what was evicted may have gone to the
    // sender just before, and be applied there after it is compared.
    guard !isBeginning else { return noteEvicted(asked) }
    try tell(events)
    evict(asked)
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
