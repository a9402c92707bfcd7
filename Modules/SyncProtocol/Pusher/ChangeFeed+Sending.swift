import CRDTCore
import DocStore
import Failpoints

/// What the announcement of a live change contains, beside the change.
struct News {
  let hash: UInt64
  /// Whether the document now matches this peer's own interest, and did not before.
  let isNewlyHeld: Bool
  /// Whether it does not match the other peer's interest.
  let leaves: Bool
}

/// Sending changes, or announcing them.
extension ChangeFeed {
  /// Sends the next change, unless it has to wait.
  ///
  /// - Parameter canAnswer: Whether documents may be sent with only the recent transactions that bind them.
  /// - Returns: `false` when there is none.
  /// - Throws: Errors of the store.
  func sendNext(canAnswer: Bool) throws(SyncError) -> Bool {
    if canAnswer, walk == nil, let transaction = live.removeFirstHeld() {
      try send(transaction)
      return true
    }
    guard let transaction = live.removeFirst() else { return false }
    if !canAnswer || walk != nil, transaction.mustKeepOrder || transaction.leaves && live.hasHeld {
      live.hold(transaction)
      return true
    }
    try send(transaction)
    return true
  }

  private func send(_ transaction: LiveTransaction) throws(SyncError) {
    if try announceBound(transaction) { return removeMotion(of: transaction) }
    if try announce(transaction) { return removeMotion(of: transaction) }
    let mayOvertake = mayOvertake(transaction)
    if mayOvertake, transaction.leaves, sender.queue.hasTransfers { noteOvertaking(transaction) }
    sender.batch.begin(sequence: transaction.sequence, mayOvertake: mayOvertake)
    do throws(CodecError) {
      let (runs, rest) = try self.runs(of: transaction)
      for run in runs { sender.batch.append(run) }
      for document in rest {
        if let operationDelta = document.operationDelta, !sender.batch.isStaged,
          maySendOperationDelta(document, of: transaction)
        {
          sender.batch.append(document, wire: operationDelta.bytes, flags: transaction.flags(of: document))
          continue
        }
        let id = document.id
        try document.record.withView { view throws(CodecError) in
          try sender.batch.append(
            id.bytes.span.bytes, view, base: document.base, of: document.collection,
            RecordTables(keys: document.collection.keys, sites: document.sites),
            flags: transaction.flags(of: document), summary: transaction.summary(of: document, view))
        }
      }
    } catch {
      throw SyncError(store: error)
    }
    let isSent = sender.batch.finish()
    if !isSent { removeMotion(of: transaction) }
    if !isSent || transaction.isSelfContained && !sender.queue.hasTransfers {
      sender.graph.remove(transaction.sequence)
    }
  }

  /// Forgets the documents of a transaction that is not sent after all.
  private func removeMotion(of transaction: LiveTransaction) {
    guard !sender.motion.isEmpty else { return }
    for document in transaction.documents { sender.motion.remove(document.key, of: transaction.sequence) }
  }

  /// Whether the transaction may be sent before waiting large transactions.
  private func mayOvertake(_ transaction: LiveTransaction) -> Bool {
    !transaction.mustKeepOrder && (!transaction.leaves || sender.motion.mayOvertake)
  }

  /// Marks documents with waiting changes as overtaking, in collections whose interest changes.
  func noteWaiting(in collections: Set<TextKey>) {
    for document in live.documents where collections.contains(document.collection.name) {
      sender.motion.noteOvertaking(DocumentName(collection: document.collection.name, id: document.id))
    }
  }

  private func noteOvertaking(_ transaction: LiveTransaction) {
    for document in transaction.documents where document.leaves {
      sender.motion.noteOvertaking(DocumentName(collection: document.collection.name, id: document.id))
    }
  }

  /// Whether an operation delta fits: the peer has the exact state before the change, or gets it before.
  private func maySendOperationDelta(_ document: borrowing LiveDocument, of transaction: LiveTransaction)
    -> Bool
  {
    !peer.reconciliation.isActive && transaction.reconciliation == peer.reconciliation.number
      && !sender.motion.isContended(document.key)
      && !isLarge(transaction)
  }

  /// Whether the transaction may be sent in segments, which cannot contain operation deltas.
  private func isLarge(_ transaction: LiveTransaction) -> Bool {
    transaction.byteCount > context.tuning.transfers.splitBytes
      || transaction.documents.count > context.tuning.transfers.splitDocuments
  }

  private func runs(
    of transaction: LiveTransaction
  ) throws(CodecError) -> (runs: [OutgoingRun], rest: [LiveDocument]) {
    guard transaction.documents.count >= OutgoingRun.minimum, !isLarge(transaction) else {
      return ([], transaction.documents)
    }
    let gatekeeper = context.gatekeeper
    return try OutgoingRun.gather(transaction.documents, flags: transaction.flags(of:)) {
      maySendOperationDelta($0, of: transaction)
    } isReadable: {
      gatekeeper?.mayRead($0.collection, $0.id, $0.record) ?? false
    }
  }

  /// Returns what to keep of a change for its announcement.
  func news(of change: Change, _ summary: Summary, matches: Bool, isHeld: Bool) -> News {
    let wasHeld =
      isHeld && change.before != nil
      && peer.ownInterest(change.collection)?.matches(change.id, change.before) ?? false
    let id = change.id
    return News(
      hash: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary),
      isNewlyHeld: isHeld && !wasHeld, leaves: !matches)
  }

  /// Announces a live transaction instead of sending it, if the peer is likely to get it from another peer.
  ///
  /// A transaction that must keep its order is announced, too, while earlier announcements are unanswered.
  /// The answer to a request includes everything that belongs to it.
  ///
  /// - Returns: `false` when it is to be sent.
  func announce(_ transaction: LiveTransaction) throws(SyncError) -> Bool {
    // A receiver has no use for a notice that a document leaves if the document has not arrived yet.
    guard !transaction.leaves || sender.queue.isIdle else { return false }
    let isLazy = transaction.isForwarded ? !announcing.sendsForwards : !announcing.sendsOwn
    guard isLazy || transaction.mustKeepOrder && announcing.firstOpen != nil,
      announcing.openDocuments + transaction.documents.count <= context.tuning.announcedDocuments
    else { return false }
    var documents: [AnnouncedDocument] = []
    var announcedBytes = 0
    var sentBytes = 0
    for document in transaction.documents {
      guard let cleared = context.gatekeeper?.clear(document.collection, document.id, document.record)
      else { continue }
      let announced = try announcement(cleared, of: document)
      announcedBytes += announced.byteCount
      let body = document.operationDelta?.bytes ?? document.record.bytes
      sentBytes += announced.id.bytes.count + 3 + body.count
      documents.append(announced)
    }
    guard !documents.isEmpty else {
      sender.graph.remove(transaction.sequence)
      return true
    }
    if announcedBytes >= sentBytes, !transaction.mustKeepOrder { return false }
    guard Announcement.fits(documents) else { return false }
    announcing.add(documents, sequence: transaction.sequence)
    context.statistics.transactionsAnnounced += 1
    return true
  }

  private func announcement(
    _ cleared: consuming Cleared, of document: LiveDocument
  ) throws(SyncError) -> AnnouncedDocument {
    let vector: VersionVector
    let exceedsVector: Bool
    do {
      (vector, exceedsVector) = try document.record.withView { view throws(CodecError) in
        let tables = RecordTables(keys: document.collection.keys, sites: document.sites)
        return (try view.vector(sites: document.sites), try view.exceedsVector(tables: tables))
      }
    } catch {
      throw SyncError(store: error)
    }
    let (base, news) = (document.base, document.news)
    let added = VersionVector(vector.elements.filter { $0.reading > base[$0.writer] })
    // A document that is newly held may have earlier changes, and default data may have come with a write.
    // In both cases the same version need not mean the same state.
    let reportsVersion =
      news.isNewlyHeld || base.isEmpty && document.change.before != nil || exceedsVector && !added.isEmpty
    return AnnouncedDocument(
      cleared, id: document.id, vector: reportsVersion ? vector : added,
      hash: reportsVersion || added.isEmpty ? news.hash : nil, isHeld: news.isNewlyHeld, leaves: news.leaves)
  }

  /// Sends the gathered announcements.
  func flushAnnouncements() {
    let waiting = announcing.removeWaiting()
    guard !waiting.isEmpty else { return }
    for announcement in Announcement.frames(waiting) {
      context.send(.announce) { announcement.encode(to: &$0) }
    }
    let byteCount = waiting.reduce(0) { $0 + $1.byteCount }
    guard let nonce = pace.sent(byteCount, nonce: context.configuration.random) else { return }
    context.send(.ping) { $0.writeFixed(nonce) }
  }

  func receive(_ prune: Prune) throws(SyncError) { try announcing.receive(prune) }
}

extension LiveTransaction {
  /// The flags of a document in the transaction's frame.
  func flags(of document: borrowing LiveDocument) -> UInt8 {
    TransactionEncoder.liveFlag | (document.isHeld ? TransactionEncoder.heldFlag : 0)
      | (isForwarded ? TransactionEncoder.forwardedFlag : 0)
  }
}
