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
    // What changed and was not queued is still to be found, whatever the peer compares.
    if !log.isBehind { log.walk = nil }
    log.resumedThrough = 0
    stopTelling()
    // What is under way binds, too: the peer may leave it out and be sent a part of it in answer to something else.
    let bound = firstUnconfirmed.map { $0 - 1 } ?? .max
    graph.begin(
      at: sequence, boundAfter: min(bound, log.walk?.place ?? .max), limit: context.tuning.groupRuns)
  }

  /// Forgets the reconciliation; the peer begins another one if it needs to.
  func endRound() {
    reconciliation.breakOff()
    deferred = [:]
    graph.end()
  }

  /// Takes the peer's wants; those outside of a reconciliation wait for its end.
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

  func take(_ haves: [DocumentHave], round: UInt64) throws(SyncError) {
    log.asksTaken += 1
    for have in haves where concerns(have.collection) {
      telling[have.collection].receive(told: IDFilter.hash(have.id))
    }
    try take(haves.map { DocumentRequest($0) }, round: round, isGroup: false)
  }

  private func take(
    _ asked: [DocumentRequest], round: UInt64, isGroup: Bool, isPull: Bool = false
  ) throws(SyncError) {
    guard generation != nil else { throw SyncError(.outOfOrder, "Wants before an interest") }
    // Looked up once for documents of one collection that follow each other.
    var last: (collection: String, isConcerned: Bool)?
    var relevant = asked.filter { request in
      if last?.collection.isSame(as: request.collection) != true {
        last = (request.collection, concerns(request.collection))
      }
      return last?.isConcerned ?? false
    }
    if !overtaking.isEmpty {
      for index in relevant.indices where overtaking.contains(relevant[index].name) {
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

  /// Binds what the peer has left out and asks for as a whole.
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

  /// Takes what the peer is found to lack of what it has sent or announced.
  func owe(_ found: [DocumentRequest], isGroup: Bool) {
    if !found.isEmpty { subscribed.noteOwed() }
    enqueue(found.filter { concerns($0.collection) }, isGroup: isGroup)
  }

  func enqueue(_ asked: [DocumentRequest], isGroup: Bool, isPull: Bool = false, binding: UInt64? = nil) {
    guard holding.isKnown, !asked.isEmpty else { return }
    let cost = asked.reduce(0) { $0 + $1.cost }
    // A peer that sends what it has less of and takes no answer: comparing finds what it is owed.
    guard askedCost + cost <= SyncLimits.wantedBytes else { return compareInstead() }
    if isGroup {
      requests.append(RequestGroup(requests: asked, isPull: isPull, binding: binding))
    } else {
      for request in asked { requests.append(RequestGroup(requests: [request], isPull: isPull)) }
    }
  }

  /// The peer has asked and wanted all it will in this reconciliation.
  func asked(round: UInt64) throws(SyncError) {
    guard round == reconciliation.number, reconciliation.isActive else { return }
    guard !reconciliation.isAsked else { throw SyncError(.outOfOrder, "The last question came before") }
    reconciliation.noteAsked(now: context.now)
  }

  /// Until when much that goes out together waits for the answers to this peer's own questions; `nil` where it does not.
  ///
  /// To gather it takes long, in which nothing else is done. Once both peers have asked all, both have work.
  var waitsUntil: Duration? {
    guard isAsking, deferred.count >= SyncLimits.gatheredDocuments, let askedAt = reconciliation.askedAt
    else { return nil }
    let end = askedAt + SyncLimits.gatheringDelay
    return context.now < end ? end : nil
  }

  /// Adds what the reconciliation has next.
  ///
  /// - Returns: `false` when it has nothing now.
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
    reconciliation.finish(after: queue.taken)
    graph.end()
    return false
  }

  /// Two peers that agree have no use for it.
  var needsIndex: Bool { !reconciliation.wanted.isEmpty || !reconciliation.streams.isEmpty }

  private func buildIndex(budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    // Changed where it stands: taken out and put back, it would be copied at each call.
    try context.read { transaction in
      try graph.read(
        transaction, concerns: { concerned.contains($0) }, damaged: context.tellUnreadable, budget: &budget)
    }
    guard graph.isReady else { return }
    if let sequence = graph.forgottenThrough { context.tell(.groupsForgotten(through: sequence)) }
  }

  /// The numbers of the collections that this session has to do with.
  func concernedCollections() throws(SyncError) -> Set<UInt32> {
    let names = interest.names.filter(concerns)
    return try context.read { transaction in Set(try names.compactMap { try transaction.collection($0)?.id })
    }
  }

  var hasRoomToAdd: Bool {
    queue.streamBytes < queue.fragmentBytes
      && queue.waitingTransferBytes < context.tuning.bytesPerCall
  }

  /// Answers wants, those of documents that belong to no group at once.
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
        // It may come from elsewhere in a state that does not match.
        if !isKnown, request.isHeld { watch.insert(source.key(of: request.id.bytes.span.bytes)) }
        batch.finish()
        if let bound, mayGather { wait(for: bound, request) }
      }
    }
  }

  /// Whether there is room for more that waits for those that it belongs to; else it goes out alone.
  private var mayGather: Bool { reconciliation.gatheredCost < SyncLimits.gatheredBytes }

  /// Where a document stands that belongs to others, as far as this reconciliation has seen it.
  ///
  /// One that has got another place since was written since, and goes out for that.
  private func seenPlace(of request: DocumentRequest, in collection: Collection) -> StoredPlace? {
    guard let number = reconciliation.responder.number(of: request.id, in: request.collection) else {
      return nil
    }
    let place = StoredPlace(collection: collection.id, number: number)
    return graph.isBound(place) ? place : nil
  }

  /// Has a document that was asked for wait for what it belongs to; until the reconciliation ends it counts as wanted.
  private func wait(for place: StoredPlace, _ request: DocumentRequest) {
    reconciliation.gatheredCost += request.cost
    if !mayGather { context.tell(.groupsForgotten(through: log.compared)) }
    deferred[place] = .requested(request)
    // The others of its component may be asked for yet.
    if graph.isOpen(place) { reconciliation.pass.due.append(place) }
  }
}
