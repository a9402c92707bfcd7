import CRDTCore
import DocStore
import Failpoints

/// The sending half of a session.
///
/// It answers the peer's questions and requests, and sends the peer this store's changes.
///
/// It keeps nothing on disk, and in memory only what is queued or in flight. Its parts share what is known of
/// the peer (``ServedPeer``) and the sender of documents (``DocumentSender``). The parts serve the
/// reconciliation that the peer has begun (``ReconciliationServer``), the changes of this store
/// (``ChangeFeed``), and offers (``OfferSender``).
final class Pusher {
  let context: SessionContext
  let peer: ServedPeer
  let queue: SendQueue
  let sender: DocumentSender
  let offers: OfferSender
  let feed: ChangeFeed
  let server: ReconciliationServer
  var renewal = Renewal()
  var checkpoints = CheckpointMessages()
  /// How many transactions had been sent when the last reconciliation ended.
  private var settledTransactions: UInt64 = 0
  /// Whether a batch from the peer is being applied here: the merged documents may have to be sent back.
  var isApplying = false
  private var selection = 0

  /// Creates the sending half.
  ///
  /// - Parameters:
  ///   - context: What the session's parts share.
  ///   - ownInterest: Returns what this peer itself subscribes to in a collection.
  ///   - ownDigest: Returns what this peer's own reconciliation found for a range.
  init(
    _ context: SessionContext, ownInterest: @escaping (Collection) -> CollectionInterest?,
    ownDigest: @escaping (KeyRange, Interest, UInt64) -> RangeDigest?
  ) {
    self.context = context
    peer = ServedPeer(context, ownInterest: ownInterest)
    queue = SendQueue(context)
    sender = DocumentSender(peer, queue)
    offers = OfferSender(peer, queue)
    feed = ChangeFeed(sender, offers)
    server = ReconciliationServer(sender, ownDigest: ownDigest)
  }

  /// Serves the received interest, once all of its queries are compiled.
  ///
  /// - Returns: Whether it is served, and the peer's resume request, if it sent one.
  func serveDraft() -> (isServed: Bool, resume: ResumeFrame?) {
    guard let whole = peer.subscribed.removeWhole() else { return (false, nil) }
    guard case .new(let interest, let draft) = whole else { return (true, nil) }
    serve(interest, generation: draft.generation, isContinued: draft.isContinued)
    if draft.resume == nil, let site = context.peer?.site {
      context.shared.interests.insert(interest, byteCount: draft.byteCount, of: site)
    }
    return (true, draft.resume)
  }

  /// Serves the peer under an interest from now on.
  ///
  /// If the interest is continued, only the collections that changed are reconciled.
  func serve(_ interest: Interest, generation: UInt64, isContinued: Bool = false) {
    let interest = interest.narrowed(by: context.access)
    let changed = interest.names(changedFrom: peer.interest)
    peer.subscribed.serve(interest, generation: generation)
    feed.changeInterest()
    server.end()
    peer.holding.unsettle()
    if !interest.names.contains(where: peer.concerns) { feed.drop() }
    context.shared.leaves.note(context.id, interest, context.gatekeeper)
    // For unchanged collections, the possible holders and the log position stay valid.
    guard !isContinued else {
      context.withheld.removeAll { changed.contains($0) || !interest.covers($0.text) }
      feed.noteWaiting(in: changed)
      return offers.noticeExchange.reset { changed.contains($0) || !interest.covers($0.text) }
    }
    // Waiting changes belong to the old interest. The peer reconciles everything, or resumes before them.
    context.withheld.removeAll()
    doubt()
    feed.startAnew()
    checkpoints.reset()
    checkpoints.begin(under: 0)
    peer.forgetHolders()
    offers.noticeExchange.reset()
    #if DEBUG || SIMULATION
      // Whatever was lost, the peer reconciles everything, or gets it from the log.
      peer.isLossUnsaid = false
    #endif
  }

  /// Discards what is known of the peer until it reconciles.
  ///
  /// Reconciliation finds again what the peer has requested.
  private func doubt() {
    peer.holding.doubt()
    feed.doubt()
    sender.requests.removeWaiting()
    sender.motion.doubt()
    queue.removeOffers()
  }

  /// Drops queued transactions that may no longer leave under the policy, and what depends on them.
  func revoke() {
    guard let gatekeeper = context.gatekeeper else { return }
    queue.revoke { !gatekeeper.maySend($0) }
    // A waiting change may precede a withheld one: drop it, and reconcile the current state instead.
    feed.drop()
  }

  /// Asks the peer to reconcile everything again.
  func renew() {
    guard peer.generation != nil else { return }
    doubt()
    offers.noticeExchange.reset()
    feed.renew()
    checkpoints.reset()
    // Reconciliation finds withheld documents again.
    context.withheld.removeAll()
    context.shared.leaves.note(context.id, confirmed: 0)
    queue.add(.renew)
    renewal.noteSent()
    #if DEBUG || SIMULATION
      peer.isLossUnsaid = false
    #endif
  }

  /// Records the totals that the peer acknowledged.
  func receive(_ totals: Acknowledgement) throws(SyncError) {
    try queue.receive(totals)
    sender.motion.noteApplied(totals.transactions)
    // The peer requests the transactions that it skipped before it acknowledges them.
    if sender.graph.hasBindings, queue.isConfirmed {
      sender.graph.removeBindings(except: sender.requests.bindings)
    }
  }

  // MARK: - Working

  var hasWork: Bool {
    peer.reconciliation.responder.questionCount > 0 && server.mayAnswerQuestions
      || offers.noticeExchange.hasTasks
      || queue.canSend
      || feed.walk != nil && feed.canWalk
      || queue.window.hasRoom
        && (hasLive && queue.waitingTransferBytes < context.tuning.transfers.waitingBytes
          || peer.reconciliation.isActive && server.canProduce && sender.hasRoomToAdd)
  }

  /// Whether the peer has applied everything that was queued, sent or announced.
  var isDrained: Bool { feed.isDrained && queue.isConfirmed }

  private var hasLive: Bool {
    feed.live.hasReady
      || canAnswer
        && (!sender.requests.isEmpty && !queue.hasWaitingTransfers || feed.walk == nil && feed.live.hasHeld)
  }

  /// Whether documents may be sent with only the recent transactions that bind them.
  ///
  /// Three conditions must hold: it is known what the peer has, no reconciliation runs, and the peer has
  /// acknowledged all transactions of the last one. By then it has requested again, as a whole, each
  /// transaction that it skipped. That request binds the transaction.
  private var canAnswer: Bool {
    peer.holding.isKnown && !peer.reconciliation.isRunning
      && queue.window.acknowledged.transactions >= settledTransactions
  }

  /// Processes pending work, within the budget of records and the flow window.
  func work(budget: inout Int) throws(SyncError) {
    if sender.motion.hasOvertaking, isDrained { sender.motion.noteDrained() }
    if queue.noticedDocuments > context.tuning.waitingOffers {
      // Also if the peer was asked to reconcile and has not begun: offers are made meanwhile, too.
      queue.removeOffers()
      feed.compareInstead()
    }
    try server.answerQuestions(budget: &budget)
    try feed.walkLog(budget: &budget)
    try offers.noticeExchange.work(budget: &budget)
    feed.flushAnnouncements()
    var plain = context.bytesPerCall
    while plain > 0, queue.window.hasRoom || queue.canSend {
      try fill(budget: &budget)
      let sent = try queue.sendNext()
      selection &+= 1
      if sent == 0 { break }
      plain -= sent
    }
    queue.noteEnd(isExhausted: plain <= 0)
    let sent = queue.removeSent()
    sender.motion.noteSent(sent.names, from: sent.first)
    #if DEBUG || SIMULATION
      // A renew frame that the peer has not answered already shows it.
      if renewal.isOpen { peer.isLossUnsaid = false }
    #endif
    if peer.holding.isAwaited, !renewal.isOpen { renew() }
    try sendNotices()
    feed.flushAnnouncements()
    settleAnnouncements()
    offerConverged()
    try makeMark()
    try sendNotices()
  }

  /// Collects transactions until a fragment is full: live changes first, the reconciliation on every fourth
  /// turn.
  private func fill(budget: inout Int) throws(SyncError) {
    while queue.streamBytes < queue.fragmentBytes {
      if selection % 4 != 3, try addLive() { continue }
      if try server.addOfReconciliation(budget: &budget) { continue }
      if try addLive() { continue }
      return
    }
  }

  /// Sends the next waiting transaction: requested documents first, then live changes.
  ///
  /// - Returns: `false` when there is none.
  private func addLive() throws(SyncError) -> Bool {
    guard queue.waitingTransferBytes < context.tuning.transfers.waitingBytes else { return false }
    // A log walk waits for requests, but requests do not wait for a walk: an answer includes all that is
    // bound to it.
    if canAnswer, !queue.hasWaitingTransfers, let transaction = sender.requests.removeFirst() {
      forgetConfirmed(answering: transaction.binding)
      try sender.answer(transaction)
      return true
    }
    guard try feed.sendNext(canAnswer: canAnswer) else { return false }
    enqueue(feed.live.removeEvicted(), isTransaction: false)
    return true
  }

  /// Sends the notices whose preceding transactions are all sent.
  private func sendNotices() throws(SyncError) {
    feed.sendWithdrawals()
    while let notice = queue.dequeueNotice() {
      switch notice {
      case .offers(let documents): offers.sendNow(documents)
      case .withdrawals(let documents): send(documents)
      case .settled(let reconciliation): if peer.reconciliation.close(reconciliation) { settle() }
      case .mark(let mark): try send(mark)
      case .renew: context.send(.renew)
      }
    }
  }

  private func send(_ withdrawals: [Withdrawal]) {
    for chunk in withdrawals.chunks(
      of: 48 << 10,
      size: { $0.known.elements.count * 34 + 64 + $0.id.bytes.count + $0.collection.utf8.count })
    {
      context.send(.withdraw) { Withdrawal.encode(Array(chunk), to: &$0) }
    }
  }

  /// Sends the settled frame: everything that the reconciliation found to be missing has been sent.
  private func settle() {
    settledTransactions = queue.window.sent.transactions
    context.reportWithheld()
    context.send(.settled) { $0.writeVarint(peer.reconciliation.number) }
    guard !renewal.isOpen else { return }
    peer.holding.settle()
    feed.settle()
  }

  /// Offers the converged states for verification.
  ///
  /// It does so when the session is idle, or when the states are too old or too many.
  private func offerConverged() {
    guard sender.motion.convergedCount > 0 else { return }
    let isQuiet =
      sender.requests.isEmpty && feed.walk == nil
      && (queue.isConfirmed || context.now >= sender.motion.convergedSince + .seconds(1))
    if isQuiet || sender.motion.convergedCount >= context.tuning.waitingOffers / 2 {
      offers.send(sender.motion.removeConverged())
    }
  }

  /// Forgets the documents in flight once everything is acknowledged and no request waits.
  func noteQuiet() {
    if !sender.motion.isEmpty, sender.requests.isEmpty, isDrained { sender.motion.removeSent() }
  }

  /// Forgets recent transactions that the peer has acknowledged, and bindings of answers that it has.
  ///
  /// The binding that is about to be answered is kept.
  private func forgetConfirmed(answering binding: UInt64?) {
    var open = sender.requests.bindings.union(queue.bindings)
    if let binding { open.insert(binding) }
    sender.graph.removeBindings(except: open)
    feed.forgetConfirmed()
  }
}
