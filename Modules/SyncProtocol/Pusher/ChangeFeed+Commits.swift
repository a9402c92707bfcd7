import CRDTCore
import DocStore
import Failpoints

/// Processing commits.
extension ChangeFeed {
  /// Queues the changes of a commit that concern the peer.
  ///
  /// Documents for which `holds` is true match this peer's own interest, and are flagged as held.
  ///
  /// - Returns: For each change whether it is sent; empty if none is.
  func committed(_ commit: Commit, holds: (Change) -> Bool) throws(SyncError) -> [Bool] {
    lastCommitted = max(lastCommitted, commit.sequence)
    guard peer.generation != nil, !peer.interest.isEmpty else { return [] }
    if commit.origin != .user, SyncDefect.notForwarded.isPlanted { return [] }
    if peer.reconciliation.isActive, SyncDefect.commitMissedInRound.isPlanted { return [] }
    var found = CommitFindings(
      isOwn: commit.origin == .remote(context.id), isForwarded: commit.origin != .user,
      reconciliation: peer.reconciliation.isActive ? nil : peer.reconciliation.number)
    // Looked up once for consecutive changes of a collection.
    var concern: (collection: UInt32, matcher: CollectionInterest?)?
    for (number, change) in zip(0..., commit.changes) {
      if concern?.collection != change.key.collection {
        let collection = change.collection
        concern = (
          collection.id, peer.concerns(collection.name) ? peer.interest.matcher(for: collection) : nil
        )
      }
      guard let matcher = concern?.matcher, try look(at: change, matcher, holds: holds, &found) else {
        continue
      }
      if found.sent.isEmpty { found.sent = [Bool](repeating: false, count: commit.changes.count) }
      found.sent[number] = true
    }
    if !found.evicted.isEmpty { try noteEvicted(found.evicted) }
    for transaction in found.transactions { try enqueue(transaction) }
    followMotion(commit, found.sent)
    if !isBehind { noteMotion(found.transactions) }
    offers.send(found.offers)
    return isBehind ? [] : found.sent
  }

  /// Gathers what a change means to the peer.
  ///
  /// - Returns: Whether the change is sent.
  private func look(
    at change: Change, _ matcher: CollectionInterest, holds: (Change) -> Bool,
    _ found: inout CommitFindings
  ) throws(SyncError) -> Bool {
    let wasReadable = !matcher.hides(change.id, change.before)
    let isReadable =
      !matcher.hides(change.id, change.after) || wasReadable && (change.kind == .evict || change.isErasure)
    guard isReadable else {
      if found.isOwn { isMoved = true }
      if matcher.canHide { try withdraw(change, wasReadable: wasReadable, isOwn: found.isOwn) }
      return false
    }
    let matched =
      (matcher.matches(change.id, change.before) || matcher.matchedErased(change))
      && !SyncDefect.leaveNotTold.isPlanted
    let matches = matcher.matches(change.id, change.after)
    if change.kind == .evict || !change.oversize || !matches { context.withheld.remove(change.key) }
    // A commit that does not concern the receiver needs no checkpoint message soon.
    if matches || matched || found.isOwn { isMoved = true }
    if !matches, matched || found.isOwn { peer.watch.insert(change.key) }
    if change.kind == .evict { found.evicted.insert(change.key) }
    guard change.kind == .write, let after = change.after, let summary = change.afterSummary else {
      return false
    }
    if !matches,
      let offer = try offers.offer(
        change, summary, matched: matched, isOwn: found.isOwn, appears: change.before == nil || !wasReadable)
    {
      found.offers.append(offer)
    }
    guard !found.isOwn, matches || matched, !peer.holding.isAwaited, !isBehind else { return false }
    if change.oversize, try !hasBase(change, matched) {
      if matches { context.withhold(change.key, in: change.collection.name, byteCount: after.bytes.count) }
      if let offer = offers.offer(oversize: change, summary) { found.offers.append(offer) }
      return false
    }
    let isHeld = holds(change)
    let place = found.place(of: change)
    try append(
      change, after, matched: matched, leaves: !matches, isHeld: isHeld,
      news(of: change, summary, matches: matches, isHeld: isHeld), to: &found.transactions[place])
    return true
  }

  /// Withdraws a document that a commit has hidden from the peer, or that the peer itself has changed.
  private func withdraw(_ change: Change, wasReadable: Bool, isOwn: Bool) throws(SyncError) {
    guard change.kind == .write, wasReadable || isOwn, !peer.holding.isAwaited else { return }
    isMoved = true
    context.withheld.remove(change.key)
    // Of its own change, the peer knows best which version that was. So it is asked.
    var known = VersionVector()
    if !isOwn, let before = change.before { known = try vector(of: before, change.sites) }
    guard let cleared = context.gatekeeper?.clear(withdrawnFrom: change.collection.name) else { return }
    guard withdrawn.count < context.tuning.waitingOffers else { return compareInstead() }
    withdrawn.append((change.sequence, Withdrawal(cleared, id: change.id, known: known)))
  }

  /// Queues the withdrawals before which nothing waits to be sent.
  func sendWithdrawals() {
    guard !withdrawn.isEmpty else { return }
    let first = live.firstSequence ?? .max
    let ready = withdrawn.prefix { $0.sequence < first }.map(\.withdrawal)
    guard !ready.isEmpty else { return }
    withdrawn.removeFirst(ready.count)
    sender.queue.add(.withdrawals(ready), documents: ready.count)
  }

  /// Updates the documents in flight that a commit has changed; `sent` shows which changes the peer is sent.
  private func followMotion(_ commit: Commit, _ sent: [Bool]) {
    guard !sender.motion.isEmpty else { return }
    for (index, change) in commit.changes.enumerated() where sender.motion.contains(change.key) {
      let isSent = index < sent.count && sent[index]
      let (before, after) = (
        hash(of: change, as: change.beforeSummary), hash(of: change, as: change.afterSummary)
      )
      if commit.origin == .remote(context.id) {
        sender.motion.meet(change.key, from: before, to: after)
      } else {
        sender.motion.follow(change.key, from: before, to: isSent ? after : nil, transaction: change.sequence)
      }
    }
  }

  /// Records as in flight the documents that this peer also holds.
  ///
  /// The peer may be about to send its own changes of them.
  private func noteMotion(_ transactions: [LiveTransaction]) {
    for transaction in transactions {
      for document in transaction.documents where document.isHeld && !sender.motion.contains(document.key) {
        sender.motion.insert(
          document.key, hash: document.news.hash, transaction: transaction.sequence, isWhole: false)
      }
    }
  }

  private func hash(of change: Change, as summary: Summary?) -> UInt64? {
    guard let summary else { return nil }
    let id = change.id
    return Fingerprint.hash(id: id.bytes.span.bytes, summary: summary)
  }

  private func append(
    _ change: Change, _ after: Record, matched: Bool, leaves: Bool, isHeld: Bool, _ news: News,
    to transaction: inout LiveTransaction
  ) throws(SyncError) {
    var base = VersionVector()
    var operationDelta: WireOperationDelta?
    // The peer has no base for a document that was too large to be sent.
    if matched, !change.wasOversize, let before = change.before {
      if transaction.reconciliation != nil, !sender.motion.countContended(change.key) {
        operationDelta = try context.shared.encoding.form(of: change.key, in: change.sequence) {
          () throws(SyncError) in try self.operationDelta(change)
        }
      }
      if let operationDelta {
        base = operationDelta.base
      } else {
        base = try vector(of: before, change.sites)
      }
      // The peer may have another state of default data, so an operation delta would not fit.
      if base.isEmpty { operationDelta = nil }
    }
    if !base.isEmpty { transaction.isSelfContained = false }
    if base.isEmpty, change.before != nil { transaction.mustKeepOrder = true }
    if leaves { transaction.leaves = true }
    transaction.byteCount += after.bytes.count + 256 + (operationDelta?.bytes.count ?? 0)
    transaction.documents.append(
      LiveDocument(
        change: change, record: after, base: base, leaves: leaves, isHeld: isHeld,
        operationDelta: operationDelta, news: news))
  }

  /// Whether the peer has the state before a change, so that it need not be sent the full state.
  private func hasBase(_ change: Change, _ matched: Bool) throws(SyncError) -> Bool {
    guard matched, !change.wasOversize, let before = change.before else { return false }
    return try !vector(of: before, change.sites).isEmpty
  }

  private func vector(of record: Record, _ sites: SiteTable) throws(SyncError) -> VersionVector {
    do {
      return try record.withView { view throws(CodecError) in try view.vector(sites: sites) }
    } catch {
      throw SyncError(store: error)
    }
  }

  /// Returns the change as an operation delta, if it was one write and its records are small enough to try.
  private func operationDelta(_ change: Change) throws(SyncError) -> WireOperationDelta? {
    guard let before = change.before, let after = change.after,
      let formerSummary = change.beforeSummary, let summary = change.afterSummary
    else { return nil }
    guard before.bytes.count + after.bytes.count <= context.tuning.operationDeltaRecordBytes else {
      return nil
    }
    do {
      return try WireDocument.operationDelta(
        of: StoredDocument(before.bytes.span.bytes, summary: formerSummary),
        to: StoredDocument(after.bytes.span.bytes, summary: summary),
        tables: RecordTables(keys: change.collection.keys, sites: change.sites))
    } catch {
      throw SyncError(store: error)
    }
  }

  private func enqueue(_ transaction: LiveTransaction) throws(SyncError) {
    guard !isBehind, !peer.holding.isAwaited else { return }
    if live.byteCount + transaction.byteCount > context.configuration.liveQueueBytes, live.byteCount > 0,
      !SyncDefect.queueNotDropped.isPlanted
    {
      context.report(.overflow)
      return try fallBehind(from: transaction.sequence - 1)
    }
    live.append(transaction)
    check(
      .sync(9), live.count == 1 || live.byteCount <= context.configuration.liveQueueBytes,
      phase: "holding \(peer.holding.state)", "\(live.byteCount) bytes of changes wait for the link")
  }

  /// Schedules evicted documents with waiting changes for another look, once these changes are sent.
  ///
  /// The peer then gets the state that is stored here at that time. Changes in the meantime are handled as
  /// usual.
  private func noteEvicted(_ keys: Set<DocumentKey>) throws(SyncError) {
    for document in live.documents where keys.contains(document.key) {
      live.noteEvicted(
        document.key,
        DocumentRequest(
          collection: document.collection.name, id: document.id,
          vector: try vector(of: document.record, document.sites), isHeld: true))
    }
  }
}

/// What a commit means to a peer.
private struct CommitFindings {
  /// Whether the peer itself had sent the changes.
  let isOwn: Bool
  /// Whether any peer had sent them.
  let isForwarded: Bool
  /// The reconciliation under which the peer follows the changes; `nil` while one runs.
  let reconciliation: UInt64?
  /// The changes to be sent, by the transactions of the commit.
  var transactions: [LiveTransaction] = []
  var offers: [DocumentOffer] = []
  /// For each change whether it is sent; empty if none is.
  var sent: [Bool] = []
  var evicted: Set<DocumentKey> = []
  private var places: [Int: Int] = [:]
  private var latest: (transaction: Int, place: Int)?

  init(isOwn: Bool, isForwarded: Bool, reconciliation: UInt64?) {
    (self.isOwn, self.isForwarded, self.reconciliation) = (isOwn, isForwarded, reconciliation)
  }

  /// Returns the index of the transaction that a change belongs to; its first change begins it.
  mutating func place(of change: Change) -> Int {
    let known = latest?.transaction == change.group ? latest?.place : places[change.group]
    let place: Int
    if let known, !SyncDefect.groupSentInParts.isPlanted {
      place = known
    } else {
      place = transactions.count
      transactions.append(
        LiveTransaction(sequence: change.sequence, reconciliation: reconciliation, isForwarded: isForwarded))
      places[change.group] = place
    }
    latest = (change.group, place)
    return place
  }
}
