import CRDTCore
import DocStore

/// What the peer asks for: reconciliations, requests and notices of what it holds.
extension Pusher {
  private var askedCost: Int { server.askedCost }

  /// Approximate memory of the peer's interest, questions, requests and filters, in bytes.
  var heldBytes: Int {
    peer.subscribed.memoryBytes + askedCost + peer.reconciliation.responder.pendingCount * 256
      + sender.deferred.count * 64 + offers.noticeExchange.heldBytes
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

  /// Receives questions of the receiver; those of a new reconciliation end the one before.
  func receive(_ asked: [RangeQuestion], reconciliation: UInt64) throws(SyncError) {
    guard peer.generation != nil else { throw SyncError(.outOfOrder, "Questions before an interest") }
    guard reconciliation >= peer.reconciliation.number else { return }
    if reconciliation > peer.reconciliation.number { try beginReconciliation(reconciliation) }
    try server.receive(asked)
  }

  private func beginReconciliation(_ number: UInt64) throws(SyncError) {
    server.end()
    // The peer began before it could read that it must reconcile everything: rule 8 in
    // `Documentation/Sync.md`.
    if peer.holding.isAwaited, !renewal.isOpen { renew() }
    let isVoid = !renewal.begin()
    let isOfAll = !peer.holding.isKnown && !isVoid
    if !isVoid { peer.holding.follow() }
    let (sequence, last) = try context.read { ($0.sequence, $0.lastNumber) }
    peer.reconciliation.begin(
      number, isVoid: isVoid, start: sequence, lastDocument: last,
      cutsByContent: context.access.reading != .everything)
    checkpoints.begin(under: context.policyHash)
    feed.reconcile(isOfAll: isOfAll)
  }

  /// Records that the peer has sent its last question and request of this reconciliation.
  func asked(reconciliation: UInt64) throws(SyncError) {
    guard reconciliation == peer.reconciliation.number, peer.reconciliation.isActive else { return }
    guard !peer.reconciliation.isAsked else { throw SyncError(.outOfOrder, "The last question came before") }
    peer.reconciliation.noteAsked(now: context.now)
  }

  /// Queues the peer's requests; those outside of a reconciliation wait until it ends.
  func receive(_ list: WantList) throws(SyncError) {
    checkpoints.countAsk()
    if list.isGraft { feed.announcing.graft() }
    let wants = try sender.requests.gather(list)
    guard let wants else {
      guard askedCost <= SyncLimits.wantedBytes else {
        throw SyncError(.limit, "The peer asks for too many documents at once")
      }
      return
    }
    try receive(
      wants, reconciliation: list.reconciliation, isTransaction: list.isTransaction, isPull: list.isGraft)
  }

  /// Queues answers to the documents that the peer holds.
  func receive(_ haves: [DocumentHave], reconciliation: UInt64, seen: UInt64) throws(SyncError) {
    checkpoints.countAsk()
    for have in haves where peer.concerns(have.collection) {
      offers.noticeExchange.receive(reported: have.id, of: have.collection)
    }
    try receive(
      haves.map { DocumentRequest($0, seen: seen) }, reconciliation: reconciliation, isTransaction: false)
  }

  private func receive(
    _ asked: [DocumentRequest], reconciliation: UInt64, isTransaction: Bool, isPull: Bool = false
  ) throws(SyncError) {
    guard peer.generation != nil else { throw SyncError(.outOfOrder, "Wants before an interest") }
    var relevant = concerned(asked)
    if sender.motion.hasOvertaking {
      for index in relevant.indices where sender.motion.isOvertaking(relevant[index].name) {
        relevant[index].isHeld = true
      }
    }
    let cost = relevant.reduce(0) { $0 + $1.cost }
    guard askedCost + cost <= SyncLimits.wantedBytes else {
      throw SyncError(.limit, "The peer asks for too many documents at once")
    }
    guard reconciliation != 0 else {
      let binding = isTransaction && !isPull && relevant.count > 1 ? try bind(relevant) : nil
      return enqueue(relevant, isTransaction: isTransaction, isPull: isPull, binding: binding)
    }
    guard reconciliation == peer.reconciliation.number, peer.reconciliation.isActive,
      !peer.reconciliation.isVoid
    else {
      return
    }
    guard !peer.reconciliation.isAsked else { throw SyncError(.outOfOrder, "Wants after the last one") }
    peer.reconciliation.wantedCost += cost
    for request in relevant { peer.reconciliation.wanted.append(request) }
  }

  /// Returns the requests for documents of collections that this session sends.
  private func concerned(_ asked: [DocumentRequest]) -> [DocumentRequest] {
    // Looked up once for consecutive documents of a collection.
    var last: (collection: String, isConcerned: Bool)?
    return asked.filter { request in
      if last?.collection.isSame(as: request.collection) != true {
        last = (request.collection, peer.concerns(request.collection))
      }
      return last?.isConcerned ?? false
    }
  }

  /// Binds the documents of a transaction that the peer skipped and requests as a whole.
  private func bind(_ asked: [DocumentRequest]) throws(SyncError) -> UInt64 {
    let places = try context.read { snapshot in
      try asked.compactMap { request -> StoredPlace? in
        guard let gatekeeper = context.gatekeeper,
          let collection = try snapshot.collection(request.collection)
        else { return nil }
        var number: DocumentNumber?
        let id = request.id.bytes.span.bytes
        try snapshot.visitIntactRecord(collection, request.id, damaged: context.reportDamaged) {
          found, record, _ in
          if gatekeeper.mayRead(collection, id, record) { number = found?.number }
        }
        return number.map { StoredPlace(collection: collection.id, number: $0) }
      }
    }
    return sender.graph.bind(places)
  }

  /// Queues what the peer was found to lack of the documents that it sent or announced.
  func owe(_ found: [DocumentRequest], isTransaction: Bool) throws(SyncError) {
    // What the peer may not read is not sent, so it must not delay, restart or exceed anything either.
    // A document of which it has announced a version is withdrawn, as far as its fields decide.
    var owed: [DocumentRequest] = []
    for request in found {
      let isReadable = try context.mayReadCopy(of: request.id, in: request.collection)
      if isReadable || !request.isReply && context.access.dependsOnFields(of: request.collection) {
        owed.append(request)
      }
    }
    if !owed.isEmpty { peer.subscribed.noteOwed() }
    enqueue(concerned(owed), isTransaction: isTransaction)
  }

  func enqueue(_ asked: [DocumentRequest], isTransaction: Bool, isPull: Bool = false, binding: UInt64? = nil)
  {
    guard peer.holding.isKnown, !asked.isEmpty else { return }
    let cost = asked.reduce(0) { $0 + $1.cost }
    // The other peer keeps sending outdated documents, and does not read the answers. Its next reconciliation
    // finds what it lacks.
    guard askedCost + cost <= SyncLimits.wantedBytes else { return feed.compareInstead() }
    if isTransaction {
      sender.requests.append(RequestedTransaction(requests: asked, isPull: isPull, binding: binding))
    } else {
      for request in asked {
        sender.requests.append(RequestedTransaction(requests: [request], isPull: isPull))
      }
    }
  }

  /// The number of requests and changes that wait.
  var pendingRequests: Int {
    sender.requests.count + peer.reconciliation.wanted.count + sender.deferred.count + feed.live.heldCount
  }

  /// The number of questions and tasks that wait.
  var pendingTasks: Int {
    peer.reconciliation.responder.pendingCount + peer.reconciliation.streamWalks.count
      + offers.noticeExchange.taskCount
  }
}
