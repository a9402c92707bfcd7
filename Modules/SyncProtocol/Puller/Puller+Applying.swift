import CRDTCore
import DocStore
import Failpoints

/// Applies received transactions and handles the outcome.
extension Puller {
  /// Receives a fragment of the stream of small transactions.
  func receive(_ head: FragmentHead, _ content: RawSpan, frameBytes: Int) throws(SyncError) {
    try pull.queue.receive(head, content, frameBytes: frameBytes, under: pull.interest, seen: pull.seen())
  }

  /// Receives a chunk of a large transaction.
  func receive(_ head: ChunkHead, _ content: RawSpan, frameBytes: Int) throws(SyncError) {
    try pull.queue.receive(head, content, frameBytes: frameBytes, under: pull.interest, seen: pull.seen())
  }

  /// Receives a reference to bytes of a large transaction that an earlier link has delivered.
  func receive(_ frame: ReuseFrame, frameBytes: Int) throws(SyncError) {
    try pull.queue.receive(frame, frameBytes: frameBytes, under: pull.interest, seen: pull.seen())
  }

  /// Hands the next transactions to the driver, unless it is already applying some.
  func applyNext() throws(SyncError) {
    try pull.queue.prepare()
    guard !pull.queue.isApplying, pull.queue.hasReady || pull.queue.assembly.hasPieces else { return }
    handOut(pull.queue.removeBatch())
    try pull.queue.prepare()
  }

  /// Hands transactions to the driver, together with the checkpoint that is valid before them.
  func handOut(_ transactions: [IncomingTransaction]) {
    guard let peer = context.peer else { return }
    let withdrawn = pull.withdrawn.prefix(EvictionScheduler.batch)
    // A checkpoint must not pass what is still to be evicted.
    let checkpoint = withdrawn.count == pull.withdrawn.count ? checkpointToStore() : nil
    if checkpoint != nil { checkCheckpoint() }
    // The policy is checked again for staged segments when they become visible.
    let gatekeeper = context.gatekeeper
    let accepted =
      transactions.contains { $0.step != nil }
      ? pull.interest.names.filter { gatekeeper?.mayAccept($0) ?? false } : []
    let batch = ApplyBatch(
      ticket: pull.queue.begin(transactions), transactions: transactions, sender: peer.site,
      checkpoint: checkpoint?.bytes, withdrawn: Array(withdrawn),
      evictionEpoch: evicted.epoch, accepted: Set(accepted.map { TextKey($0) }),
      pieces: pull.queue.assembly.removeChunks(), forgotten: context.shared.stage.garbage.removeAll(),
      for: context)
    pull.withdrawn.removeFirst(withdrawn.count)
    context.ask(.apply(batch))
  }

  /// Checks that a checkpoint is written after its data, and passes nothing that must be sent again.
  private func checkCheckpoint() {
    #if DEBUG || SIMULATION
      check(
        .sync(7), pull.queue.appliedTransactions >= pull.queue.markPoint, phase: "pull \(pull.phase)",
        "a checkpoint is written before what came before its mark")
      check(
        .sync(7),
        !following.isSpoiled && !context.unreadable.isAnywhere && context.withheld.byPeer == 0,
        phase: "pull \(pull.phase)",
        "a checkpoint passes what was refused, is withheld or cannot be read")
    #endif
  }

  /// Evicts documents that were withdrawn or have left all subscriptions, while nothing waits to be applied.
  func letGo() {
    guard let peer = context.peer, !pull.queue.isApplying, !pull.queue.hasReady,
      !pull.queue.assembly.hasPieces
    else {
      return
    }
    if !pull.withdrawn.isEmpty { return handOut([]) }
    let leaving = context.shared.leaves.dequeue(for: context.id)
    guard !leaving.isEmpty else { return }
    let batch = ApplyBatch(
      ticket: pull.queue.begin([]), transactions: [], sender: peer.site, leaving: leaving, for: context)
    context.ask(.apply(batch))
  }

  /// Processes the outcome of a batch.
  ///
  /// - Returns: The documents of which the peer lacks something, and how many transactions it had applied
  ///   when the last of these came.
  func applied(_ ticket: UInt64, _ result: Result<ApplyOutcome, any Error>) throws(SyncError)
    -> (owed: [OwedDocument], seen: UInt64)
  {
    let outcome: ApplyOutcome
    switch result {
    case .success(let value): outcome = value
    case .failure(let error): throw SyncError(store: error)
    }
    let transactions = try pull.queue.end(ticket, applied: outcome.transactions)
    if outcome.hasMetLaterSelf, !SyncDefect.siteNotRenewed.isPlanted { throw context.laterSelfMet }
    guard let transactions else {
      context.shared.leaves.finished(context.id)
      return ([], 0)
    }
    updatedAt = context.now
    announcements.noteApplied()
    #if DEBUG || SIMULATION
      reportLacking(outcome)
    #endif
    if SyncDefect.acknowledgedBeforeAsking.isPlanted {
      pull.queue.settle()
      pull.queue.sendAcknowledgement()
    }
    try note(outcome)
    announcements.prune(transactions, known: outcome.known)
    try evicted.reportReturned(transactions)
    pull.queue.settle()
    return (outcome.owed, transactions.reduce(0) { max($0, $1.seen) })
  }

  #if DEBUG || SIMULATION
    /// Reports to an observer which documents are to be requested by name because of what was applied.
    private func reportLacking(_ outcome: ApplyOutcome) {
      guard let watch = context.watch else { return }
      let missing = outcome.missing.filter { $0.count <= SyncLimits.transactionDocuments }.joined()
      let names = (missing + outcome.differing).map { ($0.collection, $0.id) }
      if !names.isEmpty { watch(.lacking(names, after: pull.queue.appliedTransactions)) }
    }
  #endif

  /// Requests what could not be applied, and reports errors.
  private func note(_ outcome: ApplyOutcome) throws(SyncError) {
    if outcome.refusedDocuments > 0 { following.isSpoiled = true }
    context.statistics.documentsChanged += UInt64(outcome.changedDocuments)
    if let torn = outcome.torn {
      context.report(.groupSplit(documents: torn.documents, byteCount: torn.byteCount))
    }
    if outcome.hasLostSegments { pull.due = .everything }
    context.statistics.transactionsMissingBase += UInt64(outcome.missing.count)
    for record in outcome.damaged { context.reportDamage(named: record) }
    for document in outcome.exceeding { context.reportExceeding(document) }
    for versions in outcome.missing {
      guard versions.count <= SyncLimits.transactionDocuments else {
        // Reconciliation finds transactions that are too large to request by name.
        for version in versions { pull.due.add(version.collection) }
        continue
      }
      let wants = try versions.map { version throws(SyncError) in
        DocumentWant(
          version, isHeld: version.isDefault,
          isReadable: try context.mayReadCopy(of: version.id, in: version.collection), context.gatekeeper)
      }
      pull.sendWants(wants, reconciliation: 0, isTransaction: true)
    }
    pull.sendWants(
      outcome.differing.map { DocumentWant(whole: $0.id, in: $0.collection, isHeld: true) },
      reconciliation: 0,
      isTransaction: false)
  }
}
