import CRDTCore
import DocStore
import Failpoints

/// Sending documents with everything that transactions bind to them.
extension DocumentSender {
  /// Reads a snapshot after the transactions that were committed up to it.
  func readSources<R>(
    _ body: (_ snapshot: borrowing ReadTransaction, _ sources: inout Sources) throws -> R
  ) throws(SyncError) -> R {
    let concerned = try peer.concernedCollections()
    return try context.read { snapshot in
      try refreshRecent(snapshot, concerned)
      var sources = Sources(peer)
      return try body(snapshot, &sources)
    }
  }

  /// Reads the transactions that were committed up to the snapshot.
  func refreshRecent(_ snapshot: borrowing ReadTransaction, _ concerned: Set<UInt32>) throws {
    try graph.refresh(
      snapshot, concerns: { concerned.contains($0) }, access: context.access,
      damaged: context.reportUnreadable)
  }

  /// Sends the documents of a closure that the peer lacks, as one transaction in ascending order of numbers.
  func send(
    _ boundDocuments: BoundDocuments, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction,
    budget: inout Int
  ) throws {
    batch.begin()
    let places = try include(boundDocuments, &sources, snapshot, budget: &budget)
    bind(places)
    batch.finish()
  }

  /// Binds documents that are sent together until they are acknowledged, if the peer may skip the
  /// transaction.
  ///
  /// The transaction builds on state that the peer may have evicted. One of its documents might then be sent
  /// alone, with something else.
  private func bind(_ places: [StoredPlace]) {
    guard batch.hasBases, 2...SyncLimits.transactionDocuments ~= places.count,
      !SyncDefect.sentBindsNothing.isPlanted
    else { return }
    batch.name(graph.bind(places))
    if peer.reconciliation.isActive { graph.noteBound(places) }
  }

  /// Adds the documents of a closure that the peer lacks to the transaction.
  ///
  /// - Returns: Those documents, if one of them may build on what the peer has.
  @discardableResult
  private func include(
    _ boundDocuments: BoundDocuments, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction,
    budget: inout Int
  ) throws -> [StoredPlace] {
    var places = boundDocuments.places
    var included: [StoredPlace] = []
    let mayHaveBases = !deferred.isEmpty
    if peer.reconciliation.isActive { graph.noteSent(places) }
    for closure in boundDocuments.closures.sorted() {
      graph.noteSent(closure: closure)
      for run in graph.runs(of: closure) {
        guard let source = try sources.source(run.collection, snapshot) else { continue }
        try snapshot.forEachIntactRecord(
          in: source.collection, numbers: run.numbers, damaged: context.reportDamaged
        ) { number, id, summary, record in
          budget -= 1
          let place = StoredPlace(collection: run.collection, number: number)
          let isRecent = !places.isEmpty && places.remove(place) != nil
          if mayHaveBases { included.append(place) }
          if let inclusion = removeDeferred(place) {
            try include(inclusion, id, summary, record, source)
          } else if isRecent || source.streamed.contains(id) {
            try include(.whole, id, summary, record, source)
          } else if mayHaveBases {
            included.removeLast()
          }
          return true
        }
      }
    }
    try sources.forEachIntactRecord(at: places, snapshot) { source, place, id, summary, record in
      if mayHaveBases { included.append(place) }
      try include(removeDeferred(place) ?? .whole, id, summary, record, source)
    }
    // Drop the requests: these documents were evicted or are damaged.
    for place in places { _ = removeDeferred(place) }
    return included
  }

  /// Answers requests outside of a reconciliation.
  ///
  /// The answer includes everything that recent transactions bind to the documents.
  func answer(_ transaction: RequestedTransaction) throws(SyncError) {
    try readSources { snapshot, sources in
      if try isAnswered(transaction, &sources, snapshot) { return }
      batch.begin(sequence: transaction.binding ?? graph.makeName(), mayOvertake: false)
      var places: [StoredPlace] = []
      for request in transaction.requests {
        guard let source = try sources.source(request.collection, snapshot) else { continue }
        let key = DocumentKey(collection: source.collection.id, id: request.id)
        if try isConverged(request, key, source, snapshot) { continue }
        let isKnown = try snapshot.visitIntactRecord(
          source.collection, request.id, damaged: context.reportDamaged
        ) { found, record, summary in
          let id = request.id.bytes.span.bytes
          guard let found else { return try include(.requested(request), id, summary, record, source) }
          // A document that is not sent must not pull in others: two peers could answer each other with
          // those forever.
          guard goesOut(.requested(request), id, summary, record, source) else { return }
          if !transaction.isPull { motion.contend(key) }
          let place = StoredPlace(collection: source.collection.id, number: found.number)
          places.append(place)
          deferred[place] = .requested(request)
        }
        if !isKnown, request.isHeld { peer.watch.insert(key) }
      }
      var budget = Int.max
      try include(graph.boundDocuments(around: places), &sources, snapshot, budget: &budget)
      batch.finish()
    }
  }

  /// Whether every document of a request is in flight with another answer.
  ///
  /// The peer had not applied that answer when it sent the request.
  private func isAnswered(
    _ transaction: RequestedTransaction, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    guard !motion.isEmpty, transaction.requests.allSatisfy({ !$0.isReply }) else { return false }
    var answers: Set<UInt64> = []
    for request in transaction.requests {
      guard let source = try sources.source(request.collection, snapshot) else { continue }
      let key = DocumentKey(collection: source.collection.id, id: request.id)
      var answer: UInt64?
      if motion.contains(key) {
        try snapshot.visitIntactRecord(source.collection, request.id, damaged: context.reportDamaged) {
          _, _, summary in
          let hash = Fingerprint.hash(id: request.id.bytes.span.bytes, summary: summary)
          answer = motion.transaction(with: key, hash: hash, seen: request.seen)
        }
      }
      guard let answer else { return false }
      answers.insert(answer)
    }
    // They stay bound: the peer may skip the other answer, too.
    if let binding = transaction.binding { graph.bind(binding, with: answers) }
    return true
  }

  private func removeDeferred(_ place: StoredPlace) -> Inclusion? {
    deferred.isEmpty ? nil : deferred.removeValue(forKey: place)
  }
}
