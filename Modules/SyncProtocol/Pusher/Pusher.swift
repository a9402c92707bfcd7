import CRDTCore
import DocStore
import Failpoints
import QueryEngine

/// The sending half of a session: answers the peer's questions, and tells it what changes.
///
/// It keeps nothing on disk, and in memory only what is on its way.
final class Pusher {
  let context: SessionContext
  let queue: SendQueue
  let batch: GroupBatch
  let ownInterest: (Collection) -> CollectionInterest?
  /// What this peer has seen of a range, under an interest of its own that is the same, not before a commit.
  let ownDigest: (KeyRange, Interest, UInt64) -> RangeDigest?
  /// What the peer subscribes to.
  var subscribed = PeerInterest()

  /// The current reconciliation.
  var reconciliation = ServedReconciliation()
  /// Whether answers to this peer's own questions are still to come.
  var isAsking = false
  /// Documents that wait for those they belong with, and why they go out.
  var deferred: [StoredPlace: Inclusion] = [:]
  /// What transactions bind together.
  var graph = TransactionGraph()
  /// How many groups had gone out when the last reconciliation was over.
  var settledGroups: UInt64 = 0
  var renewal = Renewal()
  /// Documents too large to be sent: they are compared like others, as the peer may have what they lack.
  var oversize = OversizeSizes()

  /// Where the receiver stands in this store's log.
  var log = LogPlace()
  /// Whether a batch of the peer's is being applied here: what comes of it may have to be sent back.
  var isApplying = false

  /// Live changes.
  var live = LiveQueue()
  var requests = RequestQueue()
  /// What is known of what the peer has under its interest.
  var holding = PeerHolding.unknown
  var lastCommitted: UInt64 = 0
  var watch: WatchList
  /// Who tells whom of what is held here and not sent.
  var telling: Tellings
  var tellingTasks = WorkQueue<TellingTask>()
  /// Collections of which the peer must not say what it holds: each change that does not match may concern it.
  var unnamed: Set<TextKey> = []
  /// Offers that are not to overtake what was queued before them.
  var waitingOffers = Waiting<DocumentOffer, SendQueue.Progress>()
  /// What documents came to that both peers changed, to be told.
  var met = MetDocuments()
  var contention: Contention
  var underWay: UnderWay
  /// What left the interest and went out before groups that may hold it as it was, or may have left it as the interest
  /// changed, until all is acknowledged: who lacks it now may hold it soon.
  var overtaking: Set<DocumentName> = []
  var announcing = Announcing()
  private var turn = 0

  /// Makes the half; `ownInterest` tells what of a collection this peer subscribes to itself, and `ownDigest` what it
  /// has seen of that.
  init(
    _ context: SessionContext, ownInterest: @escaping (Collection) -> CollectionInterest?,
    ownDigest: @escaping (KeyRange, Interest, UInt64) -> RangeDigest?
  ) {
    self.context = context
    self.ownInterest = ownInterest
    self.ownDigest = ownDigest
    queue = SendQueue(context)
    watch = WatchList(context.tuning)
    telling = Tellings(.offers, context.tuning)
    contention = Contention(limit: context.tuning.contendedDocuments)
    underWay = UnderWay(limit: context.tuning.documentsUnderWay)
    batch = GroupBatch(context, queue)
  }

  /// What is served.
  var interest: Interest { subscribed.served }
  /// The number that the peer has given to it; `nil` while nothing is served.
  var generation: UInt64? { subscribed.generation }

  /// Whether what has come of an interest is to be taken apart before anything else that the peer has sent.
  var isDrafting: Bool { subscribed.nextQueryBytes != nil }

  /// Serves the interest that has come, if all of it is taken apart.
  ///
  /// - Returns: Whether it is served, and how the peer goes on where it said that.
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
  /// One that is continued differs in some collections from the one before, and those only are compared.
  func serve(_ interest: Interest, generation: UInt64, isContinued: Bool = false) {
    let changed = interest.names(changedFrom: self.interest)
    subscribed.serve(interest, generation: generation)
    stopTelling()
    endRound()
    holding.unsettle()
    if !interest.names.contains(where: concerns) { dropLive() }
    context.shared.leaves.note(context.id, interest, gatekeeper)
    // What the peer may hold, and up to where it was served, still holds for what has not changed.
    guard !isContinued else {
      context.withheld.removeAll { changed.contains($0) || !interest.covers($0.text) }
      noteWaiting(in: changed)
      return resetTelling { changed.contains($0) || !interest.covers($0.text) }
    }
    // What waits is of the interest before: the peer compares all that there is by then, or goes on from before it.
    context.withheld.removeAll()
    dropLive()
    doubt()
    log = LogPlace(asksTaken: log.asksTaken, fellBehindAt: log.fellBehindAt)
    watch = WatchList(context.tuning)
    unnamed = []
    resetTelling()
  }

  /// Takes what the peer has for unknown until it is compared: whatever it has asked for comes up again then.
  func doubt() {
    holding.doubt()
    log.settled = 0
    requests.removeWaiting()
    underWay.removeAll()
    waitingOffers.removeAll()
    met = MetDocuments()
  }

  /// Takes the peer's totals, when so many of its frames have come.
  func take(_ totals: Acknowledgement, frames: UInt64) throws(SyncError) {
    underWay.applied(try queue.take(totals), frames: frames)
    // What the peer has left out it has asked for before it acknowledged.
    if graph.hasBindings, queue.isConfirmed { graph.removeBindings(except: requests.bindings) }
  }

  /// Bytes of all that the peer has asked for and is yet to get.
  var askedCost: Int { requests.cost + reconciliation.wantedCost + reconciliation.gatheredCost }

  /// About how many bytes what the peer subscribes to, asks, wants and tells takes in memory.
  var heldBytes: Int {
    subscribed.memoryBytes + askedCost
      + reconciliation.responder.pendingCount * 256 + deferred.count * 64 + telling.heldBytes
  }

  /// Ends a session whose peer asks for more than there is room for, beside what others ask for.
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

  /// Whether a collection has to do with this session.
  func concerns(_ collection: String) -> Bool {
    interest.covers(collection) && gatekeeper?.maySend(collection) ?? false
  }

  var hasWork: Bool {
    reconciliation.responder.questionCount > 0 && mayAnswerQuestions || !tellingTasks.isEmpty
      || queue.canSend
      || log.walk != nil && canWalk
      || queue.window.hasRoom
        && (hasLive && queue.waitingTransferBytes < context.tuning.waitingBytes
          || reconciliation.isActive && canProduce && hasRoomToAdd)
  }

  /// Whether the peer has applied everything that was ever on its way to it.
  var isDrained: Bool {
    live.isEmpty && log.walk == nil && queue.isConfirmed && announcing.firstOpen == nil
  }

  var hasLive: Bool {
    live.hasReady
      || canAnswer
        && (!requests.isEmpty && !queue.hasWaitingTransfers || log.walk == nil && live.hasHeld)
  }

  /// Whether documents may go out with no more than recent transactions bind to them.
  ///
  /// Not before it is known what the peer has, during a reconciliation, nor before all that it has sent is acknowledged: by then the peer has asked for what
  /// it has left out of that, as a whole, which binds it.
  var canAnswer: Bool {
    holding.isKnown && !reconciliation.isActive && !reconciliation.isClosing
      && queue.window.acknowledged.groups >= settledGroups
  }

  /// Whether the reconciliation has something to do that does not wait for the peer.
  private var canProduce: Bool {
    needsIndex && !graph.isReady || !reconciliation.wanted.isEmpty || !reconciliation.pass.due.isEmpty
      || !reconciliation.streamWalks.isEmpty
      || hasReadyComponents
      || reconciliation.isAsked && reconciliation.responder.questionCount == 0 && waitsUntil == nil
  }

  /// Does what waits, as far as the budget of records and the window go.
  func work(budget: inout Int) throws(SyncError) {
    if !overtaking.isEmpty, isDrained { overtaking = [] }
    if waitingOffers.count > context.tuning.waitingOffers { compareInstead() }
    try answerQuestions(budget: &budget)
    try walkLog(budget: &budget)
    while budget > 0, let task = tellingTasks.removeFirst() { try run(task, budget: &budget) }
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
    if reconciliation.close(gone: queue.gone) {
      settledGroups = queue.window.sent.groups
      settle()
    }
    flushAnnouncements()
    sendMet()
    sendOffers()
    closeAnnouncements()
    settleAnnouncements()
    try setMark()
  }

  /// Tells the peer that all it was found to lack has gone out.
  private func settle() {
    context.tellWithheld()
    context.send(.settled) { $0.writeVarint(reconciliation.number) }
    guard !renewal.isOpen else { return }
    holding.settle()
    // A later one need not have been of everything.
    log.followed = log.followed ?? log.compared
  }

  /// Gathers groups until a piece is full: live changes first, every fourth time the reconciliation.
  private func fill(budget: inout Int) throws(SyncError) {
    while queue.streamBytes < queue.fragmentBytes {
      if turn % 4 != 3, try addLive() { continue }
      if try addOfRound(budget: &budget) { continue }
      if try addLive() { continue }
      return
    }
  }
}
