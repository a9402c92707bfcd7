import CRDTCore
import DocStore
import Failpoints

/// Answers the peer's reconciliation questions, and sends what it turns out to lack.
///
/// Documents of old transactions are sent as whole closures, once no further request of the peer can
/// concern them.
final class ReconciliationServer {
  let context: SessionContext
  let peer: ServedPeer
  let sender: DocumentSender
  /// Returns the digest of a range from this peer's own reconciliation.
  ///
  /// The digest must be computed under an equal interest and not before the given commit.
  let ownDigest: (KeyRange, Interest, UInt64) -> RangeDigest?
  /// Whether answers to this peer's own reconciliation questions are still outstanding.
  var isAsking = false

  init(
    _ sender: DocumentSender, ownDigest: @escaping (KeyRange, Interest, UInt64) -> RangeDigest?
  ) {
    context = sender.context
    peer = sender.peer
    self.sender = sender
    self.ownDigest = ownDigest
  }

  /// Bytes of everything that the peer has requested and not received yet.
  var askedCost: Int {
    sender.requests.cost + reconciliation.wantedCost + reconciliation.gatheredCost
  }

  /// Ends the reconciliation; the peer begins another one if it needs to.
  func end() {
    reconciliation.breakOff()
    sender.deferred = [:]
    sender.graph.end()
  }

  var reconciliation: ServedReconciliation {
    get { peer.reconciliation }
    _modify { yield &peer.reconciliation }
  }

  /// Whether the reconciliation has work that does not wait for the peer.
  var canProduce: Bool {
    needsIndex && !sender.graph.isReady || !reconciliation.wanted.isEmpty || !reconciliation.pass.due.isEmpty
      || !reconciliation.streamWalks.isEmpty
      || hasReadyClosures
      || reconciliation.isAsked && reconciliation.responder.questionCount == 0 && waitsUntil == nil
  }

  /// The time until which many bound documents wait for answers to this peer's own questions.
  ///
  /// It is `nil` if they do not wait.
  ///
  /// Gathering them takes long and blocks other work. Once both peers have sent their last question, both
  /// have work.
  var waitsUntil: Duration? {
    guard isAsking, sender.deferred.count >= SyncLimits.gatheredDocuments,
      let askedAt = reconciliation.askedAt
    else { return nil }
    let end = askedAt + SyncLimits.gatheringDelay
    return context.now < end ? end : nil
  }

  /// Adds the next documents of the reconciliation.
  ///
  /// - Returns: `false` when there are none now.
  func addOfReconciliation(budget: inout Int) throws(SyncError) -> Bool {
    guard reconciliation.isActive, budget > 0, sender.hasRoomToAdd else { return false }
    if !sender.graph.isReady, needsIndex {
      try buildIndex(budget: &budget)
      return sender.graph.isReady
    }
    if !reconciliation.wanted.isEmpty {
      try addWanted(budget: &budget)
      return true
    }
    if !reconciliation.pass.due.isEmpty {
      try addDue(budget: &budget)
      return true
    }
    if try addClosures(budget: &budget) { return true }
    if let walk = reconciliation.streamWalks.removeFirst() {
      try addStream(walk, budget: &budget)
      return true
    }
    guard reconciliation.isAsked || SyncDefect.settledBeforeAsked.isPlanted,
      reconciliation.responder.questionCount == 0, waitsUntil == nil
    else { return false }
    if !reconciliation.pass.isLast {
      reconciliation.pass.isLast = true
      reconciliation.pass.next = 0
      return true
    }
    if try addDeferred(budget: &budget) { return true }
    reconciliation.finish()
    sender.queue.add(.settled(reconciliation: reconciliation.number))
    sender.graph.end()
    return false
  }

  /// Whether the index of transactions is needed; two peers that agree do not need it.
  var needsIndex: Bool { !reconciliation.wanted.isEmpty || !reconciliation.streams.isEmpty }

  private func buildIndex(budget: inout Int) throws(SyncError) {
    let concerned = try peer.concernedCollections()
    // Changed in place: taking it out and putting it back would copy it at each call.
    try context.read { snapshot in
      try sender.graph.read(
        snapshot, concerns: { concerned.contains($0) }, access: context.access,
        damaged: context.reportUnreadable, budget: &budget)
    }
    guard sender.graph.isReady else { return }
    if let sequence = sender.graph.forgottenThrough { context.report(.groupsForgotten(through: sequence)) }
  }

  /// Answers requests; documents that belong to no transaction are sent immediately.
  private func addWanted(budget: inout Int) throws(SyncError) {
    try sender.readSources { snapshot, sources in
      while budget > 0, sender.hasRoomToAdd, let request = reconciliation.wanted.removeFirst() {
        budget -= 1
        reconciliation.wantedCost -= request.cost
        guard let source = try sources.source(request.collection, snapshot) else { continue }
        var bound = seenPlace(of: request, in: source.collection)
        if let place = bound, mayGather {
          wait(for: place, request)
          continue
        }
        sender.batch.begin()
        let isKnown = try snapshot.visitIntactRecord(
          source.collection, request.id, damaged: context.reportDamaged
        ) {
          found, record, summary in
          let place = found.map { StoredPlace(collection: source.collection.id, number: $0.number) }
          if let place, sender.graph.isBound(place), mayGather {
            bound = place
          } else {
            try sender.include(.requested(request), request.id.bytes.span.bytes, summary, record, source)
          }
        }
        // The peer may hold it, and it may arrive here later in a state that does not match.
        if !isKnown, request.isHeld { peer.watch.insert(source.key(of: request.id.bytes.span.bytes)) }
        sender.batch.finish()
        if let bound, mayGather { wait(for: bound, request) }
      }
    }
  }

  /// Whether there is room for more requests that wait for their closure.
  ///
  /// Without room, a document is sent alone.
  private var mayGather: Bool { reconciliation.gatheredCost < SyncLimits.gatheredBytes }

  /// Returns the place of a document that a transaction binds, if this reconciliation has seen it.
  ///
  /// A document that has moved to another place was written since, and is sent for that reason.
  private func seenPlace(of request: DocumentRequest, in collection: Collection) -> StoredPlace? {
    guard let number = reconciliation.responder.number(of: request.id, in: request.collection) else {
      return nil
    }
    let place = StoredPlace(collection: collection.id, number: number)
    return sender.graph.isBound(place) ? place : nil
  }

  /// Makes a requested document wait for its closure; it counts as requested until the reconciliation ends.
  private func wait(for place: StoredPlace, _ request: DocumentRequest) {
    reconciliation.gatheredCost += request.cost
    if !mayGather { context.report(.groupsForgotten(through: reconciliation.start)) }
    sender.deferred[place] = .requested(request)
    // The other documents of its closure may still be requested.
    if sender.graph.isOpen(place) { reconciliation.pass.due.append(place) }
  }
}
