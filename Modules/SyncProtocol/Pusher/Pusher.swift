import CRDTCore
import DocStore
import Failpoints
import QueryEngine

/// The sending half of a session: answers the peer's reconciliation questions and sends it changes.
///
/// It keeps nothing on disk, and in memory only what is queued or in flight.
final class Pusher {
  let context: SessionContext
  let queue: SendQueue
  let batch: GroupBatch
  let ownInterest: (Collection) -> CollectionInterest?
  /// Returns the digest of a range from this peer's own reconciliation, if it was computed under an equal
  /// interest and not before the given commit.
  let ownDigest: (KeyRange, Interest, UInt64) -> RangeDigest?
  /// What the peer subscribes to.
  var subscribed = PeerInterest()

  /// The current reconciliation.
  var reconciliation = ServedReconciliation()
  /// Whether answers to this peer's own reconciliation questions are still outstanding.
  var isAsking = false
  /// Documents that wait for the other documents of their closure, and why they are sent.
  var deferred: [StoredPlace: Inclusion] = [:]
  /// Which documents transactions bind together.
  var graph = TransactionGraph()
  /// How many groups had been sent when the last reconciliation ended.
  var settledGroups: UInt64 = 0
  var renewal = Renewal()
  /// Documents too large to be sent whole.
  ///
  /// Reconciliation includes them, since the peer may have writes that they lack.
  var oversize = OversizeSizes()

  /// The receiver's position in this store's log.
  var log = LogPlace()
  /// Whether a batch from the peer is being applied here: the merged documents may have to be sent back.
  var isApplying = false

  /// Live changes that wait to be sent.
  var live = LiveQueue()
  var requests = RequestQueue()
  /// What is known of what the peer has under its interest.
  var holding = PeerHolding.unknown
  var lastCommitted: UInt64 = 0
  var watch: WatchList
  /// The rule that decides which peer offers the documents that are stored here and not sent.
  private(set) lazy var telling = NoticeExchange(.offers, OfferNotices(self), context)
  /// Collections whose document ids the peer must not disclose.
  ///
  /// Each change that does not match may concern the peer.
  var unnamed: Set<TextKey> = []
  var motion: DocumentsInMotion
  var announcing = Announcing()
  private var turn = 0

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
    self.ownInterest = ownInterest
    self.ownDigest = ownDigest
    queue = SendQueue(context)
    watch = WatchList(context.tuning)
    motion = DocumentsInMotion(context.tuning)
    batch = GroupBatch(context, queue)
  }

  /// The interest under which the peer is served.
  var interest: Interest { subscribed.served }
  /// The generation number that the peer has given to the served interest; `nil` while none is served.
  var generation: UInt64? { subscribed.generation }

  /// Whether queries of a received interest must be compiled before other input of the peer is processed.
  var isDrafting: Bool { subscribed.nextQueryBytes != nil }

  /// Serves the received interest, once all of its queries are compiled.
  ///
  /// - Returns: Whether it is served, and the peer's resume request, if it sent one.
  func serveDraft() -> (isServed: Bool, resume: ResumeFrame?) {
    guard let whole = subscribed.takeWhole() else { return (false, nil) }
    guard case .new(let interest, let draft) = whole else { return (true, nil) }
    serve(interest, generation: draft.generation, isContinued: draft.isContinued)
    if draft.resume == nil, let peer = context.peer {
      context.shared.interests.insert(interest, byteCount: draft.byteCount, of: peer.site)
    }
    return (true, draft.resume)
  }

  /// Serves the peer under an interest from now on.
  ///
  /// If the interest is continued, only the collections that changed are reconciled.
  func serve(_ interest: Interest, generation: UInt64, isContinued: Bool = false) {
    let changed = interest.names(changedFrom: self.interest)
    subscribed.serve(interest, generation: generation)
    stopTelling()
    endRound()
    holding.unsettle()
    log.isAnnouncing = false
    if !interest.names.contains(where: concerns) { dropLive() }
    context.shared.leaves.note(context.id, interest, gatekeeper)
    // For unchanged collections, the possible holders and the log position stay valid.
    guard !isContinued else {
      context.withheld.removeAll { changed.contains($0) || !interest.covers($0.text) }
      noteWaiting(in: changed)
      return telling.reset { changed.contains($0) || !interest.covers($0.text) }
    }
    // Waiting changes belong to the old interest. The peer reconciles everything, or resumes before them.
    context.withheld.removeAll()
    dropLive()
    doubt()
    log = LogPlace(asksTaken: log.asksTaken, fellBehindAt: log.fellBehindAt)
    watch = WatchList(context.tuning)
    unnamed = []
    telling.reset()
  }

  /// Discards what is known of the peer until it reconciles; that finds again whatever the peer has
  /// requested.
  func doubt() {
    holding.doubt()
    log.settled = 0
    requests.removeWaiting()
    motion.doubt()
    queue.removeOffers()
  }

  /// Records the totals that the peer acknowledged.
  func take(_ totals: Acknowledgement) throws(SyncError) {
    let first = queue.window.acknowledged.groups + 1
    motion.applied(try queue.take(totals), from: first)
    // The peer requests the groups that it skipped before it acknowledges them.
    if graph.hasBindings, queue.isConfirmed { graph.removeBindings(except: requests.bindings) }
  }

  /// Bytes of everything that the peer has requested and not received yet.
  var askedCost: Int { requests.cost + reconciliation.wantedCost + reconciliation.gatheredCost }

  /// Approximate memory of the peer's interest, questions, requests and filters, in bytes.
  var heldBytes: Int {
    subscribed.memoryBytes + askedCost
      + reconciliation.responder.pendingCount * 256 + deferred.count * 64 + telling.heldBytes
  }

  /// Checks that the peer's requests fit in memory, beside those of the other peers.
  ///
  /// - Throws: `limit` when they do not, which ends the session.
  func checkAsked(beside answerBytes: Int) throws(SyncError) {
    let (bytes, configuration) = (heldBytes + answerBytes, context.configuration)
    guard
      context.shared.memory.noteAsked(bytes, of: context.id, limit: configuration.allPeersMemoryBytes / 2),
      bytes <= configuration.peerMemoryBytes
    else {
      throw SyncError(.limit, "What the peer asks for takes \(bytes) bytes, more than there is room for")
    }
  }

  var gatekeeper: Gatekeeper? { context.gatekeeper }

  /// Whether the session sends a collection: the peer subscribes to it and the policy lets it flow out.
  func concerns(_ collection: String) -> Bool {
    interest.covers(collection) && gatekeeper?.maySend(collection) ?? false
  }

  var hasWork: Bool {
    reconciliation.responder.questionCount > 0 && mayAnswerQuestions || telling.hasTasks
      || queue.canSend
      || log.walk != nil && canWalk
      || queue.window.hasRoom
        && (hasLive && queue.waitingTransferBytes < context.tuning.waitingBytes
          || reconciliation.isActive && canProduce && hasRoomToAdd)
  }

  /// Whether the peer has applied everything that was queued, sent or announced.
  var isDrained: Bool {
    live.isEmpty && log.walk == nil && queue.isConfirmed && announcing.firstOpen == nil
  }

  var hasLive: Bool {
    live.hasReady
      || canAnswer
        && (!requests.isEmpty && !queue.hasWaitingTransfers || log.walk == nil && live.hasHeld)
  }

  /// Whether documents may be sent with only the recent transactions that bind them.
  ///
  /// Three conditions must hold: it is known what the peer has, no reconciliation runs, and the peer has
  /// acknowledged all groups of the last one. By then it has requested again, as a whole, each group that
  /// it skipped. That request binds the group.
  var canAnswer: Bool {
    holding.isKnown && !reconciliation.isActive && !reconciliation.isClosing
      && queue.window.acknowledged.groups >= settledGroups
  }

  /// Whether the reconciliation has work that does not wait for the peer.
  private var canProduce: Bool {
    needsIndex && !graph.isReady || !reconciliation.wanted.isEmpty || !reconciliation.pass.due.isEmpty
      || !reconciliation.streamWalks.isEmpty
      || hasReadyComponents
      || reconciliation.isAsked && reconciliation.responder.questionCount == 0 && waitsUntil == nil
  }

  /// Processes pending work, within the budget of records and the flow window.
  func work(budget: inout Int) throws(SyncError) {
    if motion.hasOvertaking, isDrained { motion.noteDrained() }
    if queue.noticedDocuments > context.tuning.waitingOffers { compareInstead() }
    try answerQuestions(budget: &budget)
    try walkLog(budget: &budget)
    try telling.work(budget: &budget)
    flushAnnouncements()
    var plain = context.bytesPerCall
    while plain > 0, queue.window.hasRoom || queue.canSend {
      try fill(budget: &budget)
      let sent = try queue.sendNext()
      turn &+= 1
      if sent == 0 { break }
      plain -= sent
    }
    queue.noteEnd(isExhausted: plain <= 0)
    try sendNotices()
    flushAnnouncements()
    settleAnnouncements()
    sendMet()
    try setMark()
    try sendNotices()
  }

  /// Sends the notices before which everything is sent.
  private func sendNotices() throws(SyncError) {
    while let notice = queue.takeNotice() {
      switch notice {
      case .offers(let offers): sendNow(offers)
      case .settled(let round): if reconciliation.close(round) { settle() }
      case .mark(let mark): try send(mark)
      case .renew: context.send(.renew)
      }
    }
  }

  /// Sends the settled frame: everything that the reconciliation found to be missing has been sent.
  private func settle() {
    settledGroups = queue.window.sent.groups
    context.tellWithheld()
    context.send(.settled) { $0.writeVarint(reconciliation.number) }
    guard !renewal.isOpen else { return }
    holding.settle()
    // A later reconciliation may have covered some collections only.
    log.followed = log.followed ?? log.compared
  }

  /// Collects groups until a fragment is full: live changes first, the reconciliation on every fourth turn.
  private func fill(budget: inout Int) throws(SyncError) {
    while queue.streamBytes < queue.fragmentBytes {
      if turn % 4 != 3, try addLive() { continue }
      if try addOfRound(budget: &budget) { continue }
      if try addLive() { continue }
      return
    }
  }
}
