import CRDTCore
import DocStore
import Failpoints

/// Encodes documents for the peer, as transactions that become visible together, and queues them.
///
/// A commit, a request or a reconciliation can make a document due. In each case its transaction has
/// everything that transactions bind to it and that the peer may lack (rule 5 in `Documentation/Sync.md`).
final class DocumentSender {
  let context: SessionContext
  let peer: ServedPeer
  let queue: SendQueue
  let batch: TransactionBatch
  /// Which documents transactions bind together.
  var graph = TransactionGraph()
  var motion: DocumentsInMotion
  /// Documents that wait for the other documents of their closure, and why they are sent.
  var deferred: [StoredPlace: Inclusion] = [:]
  /// Requests that wait to be answered.
  var requests = RequestQueue()

  init(_ peer: ServedPeer, _ queue: SendQueue) {
    context = peer.context
    self.peer = peer
    self.queue = queue
    batch = TransactionBatch(peer.context, queue)
    motion = DocumentsInMotion(peer.context.tuning)
  }

  /// Whether there is room for more documents of a reconciliation or of the log.
  var hasRoomToAdd: Bool {
    queue.streamBytes < queue.fragmentBytes && queue.waitingTransferBytes < context.tuning.calls.bytes
  }

  /// Adds a document to the transaction that is being encoded, if the peer is to be sent it.
  func include(
    _ inclusion: Inclusion, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ source: Source
  ) throws {
    guard goesOut(inclusion, id, summary, record, source) else { return }
    var flags = source.flags(id, record)
    var base = VersionVector()
    // Default data is not in the vector, so only the summary shows the receiver that both have the same.
    var reported = record.isDefault ? summary : nil
    var isWhole = false
    switch inclusion {
    case .whole:
      // The peer may have requested it because both have the same version with different contents.
      if !peer.reconciliation.isActive, !requests.isEmpty { (reported, isWhole) = (summary, true) }
    case .requested(let request):
      // Equal vectors with different contents need the full state, with which the receiver settles it.
      if try record.vector(sites: source.tables.sites) != request.vector { base = request.vector }
      reported = summary
      if request.isReply { flags |= TransactionEncoder.replyFlag }
    case .unasked(let reading):
      SyncPoint.sentUnasked.reached()
      base = record.version(
        try record.vector(sites: source.tables.sites), beforeWritesOf: context.store.site, after: reading,
        sites: source.tables.sites)
      reported = summary
    }
    if !peer.reconciliation.isActive {
      motion.insert(
        source.key(of: id), hash: Fingerprint.hash(id: id, summary: summary), transaction: batch.sequence,
        isWhole: isWhole)
    }
    try batch.append(
      id, record, base: base, of: source.collection, source.tables, flags: flags, summary: reported)
  }

  /// Whether a document is sent at all, for the given reason.
  func goesOut(
    _ inclusion: Inclusion, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ source: Source
  ) -> Bool {
    guard !source.matcher.hides(id, record) || isErasedAtHolder(inclusion, record, source) else {
      // As for a document that is not stored here: when too many are watched, the peer notices.
      if case .requested(let request) = inclusion, request.isHeld, !request.isReply {
        peer.watch.insert(source.key(of: id))
        withdraw(request, record, source)
      }
      return false
    }
    let isMatch = source.matcher.matches(id, record)
    let goesOut =
      switch inclusion {
      case .whole: isMatch
      case .requested(let request):
        (isMatch || request.isHeld || motion.isOvertaking(request.name))
          && isLacking(request, id, summary, source)
      case .unasked:
        isMatch
          && !motion.holds(source.key(of: id), hash: Fingerprint.hash(id: id, summary: summary))
      }
    if !isMatch, case .requested = inclusion { peer.watch.insert(source.key(of: id)) }
    guard goesOut, let byteCount = source.oversizeBytes(of: id) else {
      // The peer may have received it another way.
      if case .requested(let request) = inclusion, request.isHeld {
        context.withheld.remove(source.key(of: id))
      }
      return goesOut
    }
    // A peer that has a copy is sent what it lacks.
    if case .requested(let request) = inclusion, request.isHeld || !request.vector.isEmpty,
      byteCount <= SyncLimits.documentBytes
    {
      context.withheld.remove(source.key(of: id))
      return true
    }
    context.withhold(source.key(of: id), in: source.collection.name, byteCount: byteCount)
    return false
  }

  /// Withdraws a document that the peer may not read and has shown to have.
  ///
  /// It has shown that if it names a version of which everything is in the record here: nobody can make up
  /// the writers of a document. A peer that has more is told once this peer has merged that.
  private func withdraw(_ request: DocumentRequest, _ record: borrowing RecordView, _ source: Source) {
    guard source.matcher.canHide, isKnown(request.vector, in: record, source),
      let cleared = context.gatekeeper?.clear(withdrawnFrom: source.collection.name)
    else { return }
    queue.add(.withdrawals([Withdrawal(cleared, id: request.id, known: request.vector)]), documents: 1)
  }

  /// Whether a document was erased of which the peer names a version.
  ///
  /// Nothing is left in the record that would tell whether the peer may read it, or has it. An erasure must
  /// reach whoever has the document, so it is not kept from one who guesses the id.
  private func isErasedAtHolder(
    _ inclusion: Inclusion, _ record: borrowing RecordView, _ source: Source
  ) -> Bool {
    guard case .requested(let request) = inclusion, source.matcher.canHide, !request.vector.isEmpty
    else { return false }
    return (try? record.isErased(sites: source.tables.sites)) ?? false
  }

  private func isKnown(
    _ vector: VersionVector, in record: borrowing RecordView, _ source: Source
  ) -> Bool {
    guard !vector.isEmpty, let here = try? record.vector(sites: source.tables.sites) else { return false }
    return here.dominates(vector)
  }

  private func isLacking(
    _ request: DocumentRequest, _ id: RawSpan, _ summary: Summary, _ source: Source
  ) -> Bool {
    let hash = Fingerprint.hash(id: id, summary: summary)
    guard request.hash != hash else { return false }
    // A document that the peer sent needs no answer if the state here is in flight to the peer. A request
    // needs one.
    return !request.isReply || motion.judge(source.key(of: id), hash: hash, seen: request.seen) == .lacking
  }

  /// Whether a document that the peer sent needs no answer, since the peer converges on this state by itself.
  ///
  /// The state is offered later, when the link is idle: if tombstones were forgotten, the peer may reach
  /// another state.
  func isConverged(
    _ request: DocumentRequest, _ key: DocumentKey, _ source: Source, _ snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    guard request.isReply, case .converged(let hash) = motion.judge(key, hash: 0, seen: request.seen),
      let cleared = context.gatekeeper?.clear(
        source.collection.name,
        all: try context.mayReadCopy(of: request.id, in: request.collection, snapshot))
    else { return false }
    SyncPoint.metInMotion.reached()
    motion.noteConverged(
      DocumentOffer(cleared, item: DocumentHash(id: request.id, hash: hash)), of: key, now: context.now)
    return true
  }

  /// Records the result of merging the peer's documents, whether or not their commit was processed before.
  func noteMerged(_ owed: [OwedDocument]) throws(SyncError) {
    guard !motion.isEmpty, !owed.isEmpty else { return }
    try context.read { snapshot in
      var known: Collection?
      for document in owed {
        let (name, id) = (document.version.collection, document.version.id)
        if known?.name.isSame(as: name) != true { known = try snapshot.collection(name) }
        guard let known else { continue }
        let key = DocumentKey(collection: known.id, id: id)
        guard motion.contains(key) else { continue }
        try snapshot.visitIntactRecord(known, id, damaged: context.reportDamaged) { _, _, summary in
          motion.meet(
            key, from: document.before, to: Fingerprint.hash(id: id.bytes.span.bytes, summary: summary))
        }
      }
    }
  }
}
