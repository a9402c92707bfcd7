import CRDTCore
import DocStore

extension Intake {
  /// Starts comparing what is due of what the interest names.
  func beginRound() throws(SyncError) {
    let due = due
    self.due = .nothing
    isFullRound = due == .everything
    if isFullRound { isCaughtUpDue = true }
    round += 1
    // A filter that the sender waits for outlasts the reconciliation in which it was asked for.
    let filters = tasks.map { $0 }.filter(\.outlastsRounds)
    tasks.removeAll()
    for task in filters { tasks.append(task) }
    releaseBulk()
    open = [:]
    digests = RangeDigests()
    listedBytes = [:]
    lookedAt = []
    questions = []
    wants = []
    haves = []
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
    for name in names { tasks.append(.fingerprint(RangeScan(KeyRange(collection: name)), theirs: nil)) }
  }

  func take(_ answers: [RangeAnswer], round: UInt64) throws(SyncError) {
    guard round == self.round, phase == .asking else { return }
    for answer in answers { try take(answer) }
  }

  private func take(_ answer: RangeAnswer) throws(SyncError) {
    guard let question = open[answer.request] else {
      throw SyncError(.outOfOrder, "An answer to what was not asked")
    }
    if case .rest(_, isLast: false) = answer.body {} else { open[answer.request] = nil }
    let range = question.range
    switch (answer.body, question.fingerprint) {
    case (.equal, .some), (.stream, .some): break
    case (.items(let items, let others), .some(let mine)):
      guard items.allSatisfy({ range.contains($0.id.bytes) }) else { throw Self.outside }
      tasks.append(.items(collection: range.collection, items[...]))
      askForOthers(range, mine, items, others)
    case (.split(let parts), .some):
      let bounds = parts.dropLast().map(\.to)
      guard bounds.allSatisfy({ $0 != range.from && range.contains($0) }) else { throw Self.outside }
      if range.isWhole {
        let count = parts.reduce(0 as UInt64) {
          $0.addingReportingOverflow($1.fingerprint.count).partialValue
        }
        guard mayAskForMuch(of: range.collection, count: count) else { break }
      }
      tasks.append(.fingerprint(RangeScan(range, bounds: bounds), theirs: parts.map(\.fingerprint)))
    case (.rest(let items, _), .none):
      guard items.allSatisfy({ range.contains($0.id.bytes) }) else { throw Self.outside }
      tasks.append(.rest(collection: range.collection, items[...]))
    case (.equal, .none), (.stream, .none), (.items, .none), (.split, .none), (.rest, .some):
      throw SyncError(.outOfOrder, "An answer of another kind than its question")
    }
  }

  private static var outside: SyncError {
    SyncError(.malformed, "An answer names what lies outside its range")
  }

  /// What is held here and was not listed may be known to the sender in a newer state: tell it, or have it tell,
  /// whichever is shorter.
  private func askForOthers(
    _ range: KeyRange, _ mine: Fingerprint, _ items: [DocumentHash], _ others: OtherDocuments
  ) {
    guard !others.isEmpty, mine.count > 0 else { return }
    guard mayTell(range.collection) else { return askForRest(range) }
    let all = others.total.adding(others.certificates)
    // Deletions of which only certificates are left cannot be listed.
    if others.certificates == 0, others.count < mine.count {
      let price = UInt64(FilterSize(count: all, others: mine.count, context.tuning).byteCount)
      let notice = Telling.Role.offers.noticeBytes
      let bytes = listedBytes[range.collection, default: 0].adding(others.count.multiplied(by: notice))
      if bytes <= max(price, context.tuning.freeNotices * notice) {
        listedBytes[range.collection, default: 0] = bytes
        return askForRest(range)
      }
    }
    tasks.append(
      .leftovers(range, listed: Set(items.map(\.id)), others: all, cursor: range.from))
  }

  /// The sender has sent all that this reconciliation found.
  func settled(round: UInt64) {
    guard round == self.round, phase == .settling else { return }
    phase = .applying(untilGroup: receivedGroups)
    noteProgress()
  }

  /// Tells when all that was found is applied.
  func noteProgress() {
    guard case .applying(let group) = phase, appliedGroups >= group else { return }
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
    if !Probe.defect(.renewIgnored) { due = .everything }
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
    digests.forget(changedBy: commit)
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
        guard gatekeeper.mayAccept(change.collection.name), !Probe.defect(.evictionNotAnswered) else {
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
