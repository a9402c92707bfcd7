import CRDTCore
public import DocStore
import Failpoints

/// Transactions from the peer, to be applied in one local write transaction.
public struct ApplyBatch: Sendable {
  /// Identifies the batch in `Session.applied`.
  public let ticket: UInt64
  let transactions: [IncomingTransaction]
  /// The site that sent them.
  let sender: SiteID
  /// The checkpoint in the sender's log before these transactions, to be stored with them.
  let checkpoint: [UInt8]?
  /// The store's eviction count when the session began, before any request.
  private let evictionEpoch: UInt64
  /// Documents that may be evicted, because they left the subscriptions.
  let leaving: [EvictionScheduler.Candidate]
  /// Documents that the sender has withdrawn.
  let withdrawn: [Withdrawal]
  /// What the sender is.
  private let senderKind: PeerKind?
  private let shared: SessionShared
  /// The limit on bytes of records; transactions beyond it wait for the next batch.
  private let recordBytes: Int
  /// Collections that accept incoming documents.
  private let accepted: Set<TextKey>
  /// Chunks of large transactions to stage.
  private let pieces: [StagedChunk]
  /// Staged data that is no longer needed.
  private let forgotten: [StagingGarbage.Item]

  init(
    ticket: UInt64, transactions: [IncomingTransaction], sender: SiteID, checkpoint: [UInt8]? = nil,
    withdrawn: [Withdrawal] = [], evictionEpoch: UInt64 = 0,
    leaving: [EvictionScheduler.Candidate] = [], accepted: Set<TextKey> = [],
    pieces: [StagedChunk] = [], forgotten: [StagingGarbage.Item] = [], for context: SessionContext
  ) {
    self.ticket = ticket
    self.transactions = transactions
    self.sender = sender
    self.checkpoint = checkpoint
    self.evictionEpoch = evictionEpoch
    self.leaving = leaving
    self.withdrawn = withdrawn
    senderKind = context.peer?.kind
    shared = context.shared
    recordBytes = context.tuning.applying.recordBytes
    self.accepted = accepted
    self.pieces = pieces
    self.forgotten = forgotten
  }

  #if DEBUG || SIMULATION
    /// The sender's commit up to which this peer has everything, according to the batch's checkpoint.
    package var checkpointSequence: UInt64? { checkpoint.flatMap { SyncCheckpoint($0)?.sequence } }
  #endif

  /// The number of documents in all transactions.
  public var documentCount: Int { transactions.reduce(0) { $0 + $1.documentCount } }

  /// Merges the transactions, each as a whole or not at all (rule 4 in `Documentation/Sync.md`).
  ///
  /// One call merges as much as one local transaction may take. A few bytes may change large documents many
  /// times. After `SyncTuning.Applying.recordBytes` bytes of records were read and written, the remaining
  /// transactions wait for the next batch, and the outcome shows that. A transaction whose base is missing
  /// here is left out, and the outcome lists it. A document with a damaged local record is skipped.
  ///
  /// - Throws: `malformed` for an invalid document; errors of the store. Do not commit the transaction then.
  public func apply(in write: WriteTransaction) throws -> ApplyOutcome {
    var outcome = ApplyOutcome()
    write.noteSender(sender)
    if let checkpoint { try write.setCheckpoint(checkpoint, of: sender) }
    let hasLeft = try write.hasLeavingNotes()
    for item in forgotten { try item.forget(in: write) }
    var first: IncomingTransaction?
    for (index, transaction) in transactions.enumerated() {
      if index > 0, write.recordBytes >= recordBytes { break }
      outcome.transactions = index + 1
      let isJoined = first.map { transaction.changesOnly(documentsOf: $0) } ?? false
      if !isJoined { first = transaction }
      let transaction =
        hasLeft ? try shared.leaves.without(left: transaction, from: senderKind, in: write) : transaction
      let (changed, missing) = (outcome.changedDocuments, outcome.missing.count)
      // Repeated changes of the same documents count as one change, with one state before and one after.
      if !isJoined { try write.beginGroup() }
      if transaction.segment != nil {
        guard let step = transaction.step, try applySegment(transaction, step, in: write, &outcome) else {
          continue
        }
      } else {
        try TransactionMerge(transaction, in: write, hasLeft: hasLeft).run(&outcome)
      }
      if outcome.changedDocuments == changed, outcome.missing.count == missing { outcome.known.insert(index) }
    }
    for piece in pieces { try piece.put(in: write, shared.erased, shared.staged) }
    if !transactions.isEmpty {
      let owed = Set(outcome.owed.map { DocumentName(collection: $0.version.collection, id: $0.version.id) })
      try shared.leaves.look(at: write, hasEvicted: write.evictionEpoch != evictionEpoch) {
        !owed.contains($0)
      }
    }
    try shared.leaves.evict(leaving, in: write)
    try shared.leaves.evict(withdrawn, of: senderKind, in: write)
    outcome.hasMetLaterSelf = write.hasMetLaterSelf
    return outcome
  }
}

extension ApplyBatch {
  /// Stages a segment of a large transaction, or publishes the whole transaction with the last segment.
  ///
  /// If the segments do not fit, even after dropping those of earlier links, the segments received so far
  /// become visible, and then each that follows.
  ///
  /// - Returns: Whether there was anything to merge.
  private func applySegment(
    _ transaction: IncomingTransaction, _ step: SegmentStep, in write: WriteTransaction,
    _ outcome: inout ApplyOutcome
  ) throws -> Bool {
    let segments = shared.segments
    if step.segment.index == 0 {
      if try write.stagedChunks(of: step.id).isEmpty { shared.staged.begin(step.id) }
      try write.unstage(step.id)
    }
    // The policy may have changed since the segment was received.
    var transaction = transaction
    transaction.removeDocuments { !accepted.contains($0.collection) }
    let staged = StagedSegments(
      step.id, accepts: { accepted.contains($0) },
      select: { try shared.leaves.without(left: $0, from: senderKind, in: write) })
    guard !segments.isTorn(step.id), !SyncDefect.componentPublishedInParts.isPlanted else {
      check(
        .sync(4), segments.isTorn(step.id), phase: "applying",
        "segment \(step.segment.index) of a transaction becomes visible before the last one")
      try staged.publish(with: transaction, in: write, &outcome)
      return true
    }
    if !step.segment.isLast {
      if try put(transaction, step, staged, in: write) { return false }
      segments.noteTorn(step.id)
    }
    guard try staged.isWhole(before: step.segment.index, in: write),
      try staged.isIntact(in: write)
    else {
      // Segments or their session are gone, or the staged data is damaged.
      try write.unstage(step.id)
      outcome.hasLostSegments = true
      return false
    }
    if step.segment.isLast {
      segments.finish(step.id)
      shared.staged.forget(step.id)
    }
    if !step.segment.isLast { outcome.torn = try staged.extent(with: transaction, in: write) }
    SyncPoint.stagedPublished.reached()
    try staged.publish(with: transaction, in: write, &outcome)
    return true
  }

  /// Stages a segment, and drops segments of earlier links if that is necessary to make room.
  private func put(
    _ transaction: IncomingTransaction, _ step: SegmentStep, _ staged: StagedSegments,
    in write: WriteTransaction
  ) throws -> Bool {
    // Noted first: what is staged must never name more than is known.
    shared.staged.note(
      transaction.block[transaction.range], of: step.id, segment: step.segment.index)
    if try staged.put(transaction, as: step.segment.index, from: sender, in: write) { return true }
    let forgotten = try StagedSegments.makeRoom(write, except: shared.segments.isUsed)
    shared.stage.forget(forgotten)
    return try !forgotten.isEmpty && staged.put(transaction, as: step.segment.index, from: sender, in: write)
  }
}

/// The result of applying a batch.
public struct ApplyOutcome: Sendable {
  /// How many transactions were processed; the next batch applies the others.
  var transactions = 0
  /// Documents that have changed.
  public internal(set) var changedDocuments = 0
  /// Positions of the transactions that were applied and changed nothing.
  var known: Set<Int> = []
  /// Documents that the store rejected, such as those from the far future.
  var refusedDocuments = 0
  /// Documents that would exceed the size limit when merged with the local ones.
  var exceeding: Set<ExceedingDocument> = []
  /// For each transaction left out, the versions to request instead.
  var missing: [[DocumentVersion]] = []
  /// Documents with the peer's version and other content, or that lack what was evicted here.
  ///
  /// They are requested again as full states.
  var differing: [DocumentVersion] = []
  /// Documents of which the peer lacks something, according to its delta.
  var owed: [OwedDocument] = []
  /// Damaged records, which cannot be merged.
  var damaged: Set<DamagedRecord> = []
  /// The size of the segments received when there was no room for more.
  var torn: TransactionExtent?
  /// Whether staged segments were dropped before the last one arrived.
  ///
  /// Reconciliation then has to find the transaction.
  var hasLostSegments = false
  /// Whether a write of this store's site was received that this store has not made.
  var hasMetLaterSelf = false

  public init() {}
}

extension ApplyOutcome {
  mutating func note(_ error: DocumentError, of id: DocumentID, in collection: String) {
    exceeding.insert(ExceedingDocument(collection: collection, id: id, reason: error.message))
  }
}

/// A document that cannot be merged: together with the local one it exceeds the size limit.
struct ExceedingDocument: Hashable, Sendable {
  @TextKey private(set) var collection: String
  let id: DocumentID
  /// Which limit is exceeded.
  @TextKey private(set) var reason: String
}

/// A document of which this store has more than the peer announced, or other content.
struct OwedDocument: Sendable {
  /// The peer's version.
  let version: DocumentVersion
  /// Whether the peer holds it under its own interest.
  let isHeld: Bool
  /// The hash of the local state before the merge.
  let before: UInt64
}
