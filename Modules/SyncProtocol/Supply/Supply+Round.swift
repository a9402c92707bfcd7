import CRDTCore
import DocStore

extension Supply {
  func beginRound(_ number: UInt64) throws(SyncError) {
    endRound()
    round = number
    isRoundActive = true
    isRoundVoid = !renewal.begin()
    let isOfAll = !hasBegun && !isRoundVoid
    if !isRoundVoid { (isAwaitingRound, hasBegun) = (false, true) }
    let sequence = try context.read { transaction in
      walkThrough = transaction.lastNumber
      return transaction.sequence
    }
    responder = RangeResponder(records: Int(walkThrough.rawValue))
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
    isRoundActive = false
    askedAt = nil
    responder = RangeResponder()
    streams = RangeSet()
    streamWalks.removeAll()
    wanted.removeAll()
    deferred = [:]
    (wantedCost, gatheredCost) = (0, 0)
    graph.end()
    pass = ComponentPass()
    settledAfter = nil
  }

  /// Takes the peer's wants; those outside of a reconciliation wait for its end.
  func take(_ list: WantList) throws(SyncError) {
    log.asksTaken += 1
    if list.isGraft { announcing.graft() }
    guard partialWants.isEmpty || list.isGroup && list.round == 0 else {
      throw SyncError(.outOfOrder, "Wants that belong together are not in order")
    }
    partialWants += list.wants.map { DocumentRequest($0) }
    guard list.goesOn, list.isGroup, list.round == 0 else {
      let wants = partialWants
      (partialWants, partialCost) = ([], 0)
      return try take(wants, round: list.round, isGroup: list.isGroup, isPull: list.isGraft)
    }
    partialCost += partialWants.suffix(list.wants.count).reduce(0) { $0 + $1.cost }
    guard partialWants.count <= SyncLimits.groupDocuments,
      askedCost <= SyncLimits.wantedBytes
    else {
      throw SyncError(.limit, "The peer asks for too many documents at once")
    }
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
      guard round == self.round, isRoundActive, !isRoundVoid else { return }
      guard !isAsked else { throw SyncError(.outOfOrder, "Wants after the last one") }
      wantedCost += cost
      for request in relevant { wanted.append(request) }
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
    guard hasBegun, !asked.isEmpty else { return }
    let cost = asked.reduce(0) { $0 + $1.cost }
    // A peer that sends what it has less of and takes no answer: comparing finds what it is owed.
    guard askedCost + cost <= SyncLimits.wantedBytes else { return compareInstead() }
    requestCost += cost
    if isGroup {
      requests.append(RequestGroup(requests: asked, isPull: isPull, binding: binding))
    } else {
      for request in asked { requests.append(RequestGroup(requests: [request], isPull: isPull)) }
    }
  }

  /// The peer has asked and wanted all it will in this reconciliation.
  func asked(round: UInt64) throws(SyncError) {
    guard round == self.round, isRoundActive else { return }
    guard !isAsked else { throw SyncError(.outOfOrder, "The last question came before") }
    askedAt = context.now
  }

  /// Whether the peer has asked and wanted all it will.
  var isAsked: Bool { askedAt != nil }

  /// Until when much that goes out together waits for the answers to this peer's own questions; `nil` where it does not.
  ///
  /// To gather it takes long, in which nothing else is done. Once both peers have asked all, both have work.
  var waitsUntil: Duration? {
    guard isAsking, deferred.count >= SyncLimits.gatheredDocuments, let askedAt else { return nil }
    let end = askedAt + SyncLimits.gatheringDelay
    return context.now < end ? end : nil
  }

  /// Adds what the reconciliation has next.
  ///
  /// - Returns: `false` when it has nothing now.
  func addOfRound(budget: inout Int) throws(SyncError) -> Bool {
    guard isRoundActive, budget > 0, hasRoomToAdd else { return false }
    if !graph.isReady, needsIndex {
      try buildIndex(budget: &budget)
      return graph.isReady
    }
    if !wanted.isEmpty {
      try addWanted(budget: &budget)
      return true
    }
    if !pass.due.isEmpty {
      try addDue(budget: &budget)
      return true
    }
    if try addComponents(budget: &budget) { return true }
    if let walk = streamWalks.removeFirst() {
      try addStream(walk, budget: &budget)
      return true
    }
    guard isAsked, responder.questionCount == 0, waitsUntil == nil else { return false }
    if !pass.isLast {
      pass.isLast = true
      pass.next = 0
      return true
    }
    if try addDeferred(budget: &budget) { return true }
    isRoundActive = false
    responder.forgetDigests()
    graph.end()
    pass = ComponentPass()
    settledAfter = outgoing.taken
    return false
  }

  /// Two peers that agree have no use for it.
  var needsIndex: Bool { !wanted.isEmpty || !streams.isEmpty }

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
    outgoing.streamBytes < outgoing.fragmentBytes
      && outgoing.waitingTransferBytes < context.tuning.bytesPerCall
  }

  /// Answers wants, those of documents that belong to no group at once.
  private func addWanted(budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    try context.read { transaction in
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      while budget > 0, hasRoomToAdd, let request = wanted.removeFirst() {
        budget -= 1
        wantedCost -= request.cost
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
  private var mayGather: Bool { gatheredCost < SyncLimits.gatheredBytes }

  /// Where a document stands that belongs to others, as far as this reconciliation has seen it.
  ///
  /// One that has got another place since was written since, and goes out for that.
  private func seenPlace(of request: DocumentRequest, in collection: Collection) -> StoredPlace? {
    guard let number = responder.number(of: request.id, in: request.collection) else { return nil }
    let place = StoredPlace(collection: collection.id, number: number)
    return graph.isBound(place) ? place : nil
  }

  /// Has a document that was asked for wait for what it belongs to; until the reconciliation ends it counts as wanted.
  private func wait(for place: StoredPlace, _ request: DocumentRequest) {
    gatheredCost += request.cost
    if !mayGather { context.tell(.groupsForgotten(through: log.compared)) }
    deferred[place] = .requested(request)
    // The others of its component may be asked for yet.
    if graph.isOpen(place) { pass.due.append(place) }
  }
}
