import CRDTCore
import DocStore

extension Pusher {
  func beginRound(_ number: UInt64) throws(SyncError) {
    endRound()
    let isVoid = !renewal.begin()
    let isOfAll = !holding.isKnown && !isVoid
    if !isVoid { holding.follow() }
    let (sequence, last) = try context.read { ($0.sequence, $0.lastNumber) }
    reconciliation = ServedReconciliation(number, isVoid: isVoid, lastDocument: last)
    if isOfAll { log.settled = sequence }
    log.compared = sequence
    log.policyPrint = context.policyPrint
    // Changes that were not queued must still be found, whatever the peer reconciles.
    if !log.isBehind { log.walk = nil }
    log.resumedThrough = 0
    stopTelling()
    // Transactions in flight bind their documents, too: the peer may skip one and be sent a part of it with
    // something else.
    let bound = firstUnconfirmed.map { $0 - 1 } ?? .max
    graph.begin(
      at: sequence, boundAfter: min(bound, log.walk?.place ?? .max), limit: context.tuning.groupRuns)
  }

  /// Ends the reconciliation; the peer begins another one if it needs to.
  func endRound() {
    reconciliation.breakOff()
    deferred = [:]
    graph.end()
  }

  /// Queues the peer's requests; those outside of a reconciliation wait until it ends.
  func take(_ list: WantList) throws(SyncError) {
    log.asksTaken += 1
    if list.isGraft { announcing.graft() }
    let wants = try requests.gather(list)
    guard let wants else {
      guard askedCost <= SyncLimits.wantedBytes else {
        throw SyncError(.limit, "The peer asks for too many documents at once")
      }
      return
    }
    try take(wants, round: list.round, isGroup: list.isGroup, isPull: list.isGraft)
  }

  func take(_ haves: [DocumentHave], round: UInt64, seen: UInt64) throws(SyncError) {
    log.asksTaken += 1
    for have in haves where concerns(have.collection) {
      telling.receive(told: have.id, of: have.collection)
    }
    try take(haves.map { DocumentRequest($0, seen: seen) }, round: round, isGroup: false)
  }

  private func take(
    _ asked: [DocumentRequest], round: UInt64, isGroup: Bool, isPull: Bool = false
  ) throws(SyncError) {
    guard generation != nil else { throw SyncError(.outOfOrder, "Wants before an interest") }
    // Looked up once for consecutive documents of a collection.
    var last: (collection: String, isConcerned: Bool)?
    var relevant = asked.filter { request in
      if last?.collection.isSame(as: request.collection) != true {
        last = (request.collection, concerns(request.collection))
      }
      return last?.isConcerned ?? false
    }
    if motion.hasOvertaking {
      for index in relevant.indices where motion.isOvertaking(relevant[index].name) {
        relevant[index].isHeld = true
      }
    }
    let cost = relevant.reduce(0) { $0 + $1.cost }
    guard askedCost + cost <= SyncLimits.wantedBytes else {
      throw SyncError(.limit, "The peer asks for too many documents at once")
    }
    if round != 0 {
      guard round == reconciliation.number, reconciliation.isActive, !reconciliation.isVoid else { return }
      guard !reconciliation.isAsked else { throw SyncError(.outOfOrder, "Wants after the last one") }
      reconciliation.wantedCost += cost
      for request in relevant { reconciliation.wanted.append(request) }
    } else {
      let binding = isGroup && !isPull && relevant.count > 1 ? try bind(relevant) : nil
      enqueue(relevant, isGroup: isGroup, isPull: isPull, binding: binding)
    }
  }

  /// Binds the documents of a group that the peer skipped and requests as a whole.
  private func bind(_ asked: [DocumentRequest]) throws(SyncError) -> UInt64 {
    let places = try context.read { transaction in
      try asked.compactMap { request -> StoredPlace? in
        guard let collection = try transaction.collection(request.collection) else { return nil }
        var number: DocumentNumber?
        try transaction.visitIntactRecord(collection, request.id, damaged: context.tellDamaged) {
          found, _, _ in
          number = found?.number
        }
        return number.map { StoredPlace(collection: collection.id, number: $0) }
      }
    }
    return graph.bind(places)
  }

  /// Queues what the peer was found to lack of the documents that it sent or announced.
  func owe(_ found: [DocumentRequest], isGroup: Bool) {
    if !found.isEmpty { subscribed.noteOwed() }
    enqueue(found.filter { concerns($0.collection) }, isGroup: isGroup)
  }

  func enqueue(_ asked: [DocumentRequest], isGroup: Bool, isPull: Bool = false, binding: UInt64? = nil) {
    guard holding.isKnown, !asked.isEmpty else { return }
    let cost = asked.reduce(0) { $0 + $1.cost }
    // The other peer keeps sending outdated documents, and does not read the answers. Its next reconciliation
    // finds what it lacks.
    guard askedCost + cost <= SyncLimits.wantedBytes else { return compareInstead() }
    if isGroup {
      requests.append(RequestGroup(requests: asked, isPull: isPull, binding: binding))
    } else {
      for request in asked { requests.append(RequestGroup(requests: [request], isPull: isPull)) }
    }
  }

  /// Records that the peer has sent its last question and request of this reconciliation.
  func asked(round: UInt64) throws(SyncError) {
    guard round == reconciliation.number, reconciliation.isActive else { return }
    guard !reconciliation.isAsked else { throw SyncError(.outOfOrder, "The last question came before") }
    reconciliation.noteAsked(now: context.now)
  }

  /// The time until which many bound documents wait for answers to this peer's own questions; `nil` if they
  /// do not wait.
  ///
  /// Gathering them takes long and blocks other work. Once both peers have sent their last question, both
  /// have work.
  var waitsUntil: Duration? {
    guard isAsking, deferred.count >= SyncLimits.gatheredDocuments, let askedAt = reconciliation.askedAt
    else { return nil }
    let end = askedAt + SyncLimits.gatheringDelay
    return context.now < end ? end : nil
  }

  /// Adds the next documents of the reconciliation.
  ///
  /// - Returns: `false` when there are none now.
  func addOfRound(budget: inout Int) throws(SyncError) -> Bool {
    guard reconciliation.isActive, budget > 0, hasRoomToAdd else { return false }
    if !graph.isReady, needsIndex {
      try buildIndex(budget: &budget)
      return graph.isReady
    }
    if !reconciliation.wanted.isEmpty {
      try addWanted(budget: &budget)
      return true
    }
    if !reconciliation.pass.due.isEmpty {
      try addDue(budget: &budget)
      return true
    }
    if try addComponents(budget: &budget) { return true }
    if let walk = reconciliation.streamWalks.removeFirst() {
      try addStream(walk, budget: &budget)
      return true
    }
    guard reconciliation.isAsked, reconciliation.responder.questionCount == 0, waitsUntil == nil else {
      return false
    }
    if !reconciliation.pass.isLast {
      reconciliation.pass.isLast = true
      reconciliation.pass.next = 0
      return true
    }
    if try addDeferred(budget: &budget) { return true }
    reconciliation.finish()
    queue.add(.settled(round: reconciliation.number))
    graph.end()
    return false
  }

  /// Whether the index of transactions is needed; two peers that agree do not need it.
  var needsIndex: Bool { !reconciliation.wanted.isEmpty || !reconciliation.streams.isEmpty }

  private func buildIndex(budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    // Changed in place: taking it out and putting it back would copy it at each call.
    try context.read { transaction in
      try graph.read(
        transaction, concerns: { concerned.contains($0) }, damaged: context.tellUnreadable, budget: &budget)
    }
    guard graph.isReady else { return }
    if let sequence = graph.forgottenThrough { context.tell(.groupsForgotten(through: sequence)) }
  }

  /// The numbers of the collections that this session sends.
  func concernedCollections() throws(SyncError) -> Set<UInt32> {
    let names = interest.names.filter(concerns)
    return try context.read { transaction in Set(try names.compactMap { try transaction.collection($0)?.id })
    }
  }

  var hasRoomToAdd: Bool {
    queue.streamBytes < queue.fragmentBytes
      && queue.waitingTransferBytes < context.tuning.bytesPerCall
  }

  /// Answers requests; documents that belong to no transaction are sent immediately.
  private func addWanted(budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    try context.read { transaction in
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      while budget > 0, hasRoomToAdd, let request = reconciliation.wanted.removeFirst() {
        budget -= 1
        reconciliation.wantedCost -= request.cost
        guard let source = try sources.source(request.collection, transaction) else { continue }
        var bound = seenPlace(of: request, in: source.collection)
        if let place = bound, mayGather {
          wait(for: place, request)
          continue
        }
        batch.begin()
        let isKnown = try transaction.visitIntactRecord(
          source.collection, request.id, damaged: context.tellDamaged
        ) {
          found, record, summary in
          let place = found.map { StoredPlace(collection: source.collection.id, number: $0.number) }
          if let place, graph.isBound(place), mayGather {
            bound = place
          } else {
            try include(.requested(request), request.id.bytes.span.bytes, summary, record, source)
          }
        }
        // The peer may hold it, and it may arrive here later in a state that does not match.
        if !isKnown, request.isHeld { watch.insert(source.key(of: request.id.bytes.span.bytes)) }
        batch.finish()
        if let bound, mayGather { wait(for: bound, request) }
      }
    }
  }

  /// Whether there is room for more requests that wait for their closure; otherwise a document is sent
  /// alone.
  private var mayGather: Bool { reconciliation.gatheredCost < SyncLimits.gatheredBytes }

  /// Returns the place of a document that a transaction binds, if this reconciliation has seen it.
  ///
  /// A document that has moved to another place was written since, and is sent for that reason.
  private func seenPlace(of request: DocumentRequest, in collection: Collection) -> StoredPlace? {
    guard let number = reconciliation.responder.number(of: request.id, in: request.collection) else {
      return nil
    }
    let place = StoredPlace(collection: collection.id, number: number)
    return graph.isBound(place) ? place : nil
  }

  /// Makes a requested document wait for its closure; it counts as requested until the reconciliation ends.
  private func wait(for place: StoredPlace, _ request: DocumentRequest) {
    reconciliation.gatheredCost += request.cost
    if !mayGather { context.tell(.groupsForgotten(through: log.compared)) }
    deferred[place] = .requested(request)
    // The other documents of its component may still be requested.
    if graph.isOpen(place) { reconciliation.pass.due.append(place) }
  }
}
