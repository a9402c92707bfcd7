import CRDTCore
import DocStore

/// The transaction that is being encoded; it is cut into segments if it gets too large for a receiver's
/// memory.
///
/// A session has one and reuses it, so that a transaction needs no allocation of its own.
final class TransactionBatch {
  private let context: SessionContext
  private let queue: SendQueue
  private var transaction = TransactionEncoder()
  private(set) var sequence: UInt64 = 0
  private var mayOvertake = true
  /// Whether nobody waits for this transaction in particular.
  private var isBulk = true
  private var segmentCount = 0
  private var documents = 0
  private var bytes = 0
  /// The number of the last transaction that was sent in segments.
  private var transactionNumber: UInt64 = 0
  /// Whether the transaction has changes that fit only one state, so that it cannot be sent in staged
  /// segments.
  private var hasSteps = false
  /// Whether segments were sent that become visible with the last one.
  ///
  /// Such a transaction may have no operation deltas.
  private(set) var isStaged = false
  /// Whether the receiver needs an earlier state to apply the transaction.
  private(set) var hasBases = false
  #if DEBUG || SIMULATION
    /// The documents of this transaction or segment, if an observer is set.
    private var reported: [SessionFact.SentDocument] = []
  #endif

  init(_ context: SessionContext, _ queue: SendQueue) {
    self.context = context
    self.queue = queue
  }

  /// Begins a transaction, and drops what an error left of an earlier one.
  ///
  /// Unless it `mayOvertake`, it is sent after the large transactions that wait.
  func begin(sequence: UInt64 = 0, mayOvertake: Bool = true) {
    transaction.removeAll()
    #if DEBUG || SIMULATION
      reported = []
    #endif
    self.sequence = sequence
    self.mayOvertake = mayOvertake
    (segmentCount, documents, bytes) = (0, 0, 0)
    (hasSteps, isStaged, hasBases) = (false, false, false)
    isBulk = sequence == 0
  }

  /// Frees the memory that is kept for the next transaction.
  func rest() { transaction.rest() }

  /// Names a transaction that was begun without a name; segments already sent have none.
  func name(_ sequence: UInt64) { self.sequence = sequence }

  /// Adds what `base` lacks of a document, unless the policy withholds it or it is too large.
  ///
  /// With the `summary`, the receiver can check whether its merged state is equal.
  func append(
    _ id: RawSpan, _ record: borrowing RecordView, base: VersionVector, of collection: Collection,
    _ tables: RecordTables, flags: UInt8, summary: Summary?
  ) throws(CodecError) {
    guard let gatekeeper = context.gatekeeper else { return }
    let cleared: Cleared?
    if gatekeeper.dependsOnFields(of: collection.name), try record.isErased(sites: tables.sites) {
      cleared = gatekeeper.clear(erasureIn: collection.name)
    } else {
      cleared = gatekeeper.clear(collection, id, record)
    }
    guard let cleared else { return }
    makeRoom()
    if !base.isEmpty { hasBases = true }
    let before = transaction.byteCount
    let tooLarge = try transaction.append(
      cleared, id: id, flags: flags, record: record, base: base,
      check: summary?.check, tables: tables, limit: SyncLimits.documentBytes)
    guard let tooLarge else {
      #if DEBUG || SIMULATION
        if context.watch != nil {
          reported.append(
            SessionFact.SentDocument(
              collection: collection.name, id: DocumentID(trusted: id.copied), base: base,
              vector: try record.vector(sites: tables.sites)))
        }
      #endif
      return count(from: before)
    }
    let key = DocumentKey(collection: collection.id, id: DocumentID(trusted: id.copied))
    context.withhold(key, in: collection.name, byteCount: tooLarge)
  }

  /// Adds a run of similar changes.
  func append(_ run: OutgoingRun) {
    guard let cleared = context.gatekeeper?.clear(run.collection, all: run.areReadable) else { return }
    let before = transaction.byteCount
    hasSteps = true
    transaction.append(cleared, run)
    #if DEBUG || SIMULATION
      if context.watch != nil { for id in run.ids { reportStep(run.collection, id) } }
    #endif
    documents += run.count
    bytes += transaction.byteCount - before
  }

  /// Adds a document that is already encoded.
  func append(_ document: LiveDocument, wire: [UInt8], flags: UInt8) {
    guard let cleared = context.gatekeeper?.clear(document.collection, document.id, document.record)
    else { return }
    makeRoom()
    let before = transaction.byteCount
    hasSteps = true
    let id = document.id
    transaction.append(cleared, id: id.bytes.span.bytes, flags: flags, wire: wire)
    #if DEBUG || SIMULATION
      if context.watch != nil { reportStep(document.collection.name, id) }
    #endif
    count(from: before)
  }

  #if DEBUG || SIMULATION
    private func reportStep(_ collection: String, _ id: DocumentID) {
      reported.append(SessionFact.SentDocument(collection: collection, id: id, base: nil, vector: nil))
    }
  #endif

  private func count(from before: Int) {
    documents += 1
    bytes += transaction.byteCount - before
  }

  private func makeRoom() {
    if transaction.byteCount >= context.tuning.transfers.splitBytes
      || transaction.documentCount >= context.tuning.transfers.splitDocuments
    {
      flush(isLast: false)
    }
  }

  private func flush(isLast: Bool) {
    if segmentCount == 0, !isLast, !hasSteps {
      isStaged = true
      transactionNumber += 1
    }
    if isStaged {
      transaction.segment = Segment(
        transaction: transactionNumber, index: UInt64(segmentCount), isLast: isLast)
    }
    guard isStaged || !transaction.isEmpty else { return }
    #if DEBUG || SIMULATION
      if let watch = context.watch { watch(.queued(reported, isLast: isLast || !isStaged)) }
      reported = []
    #endif
    queue.add(transaction, sequence: sequence, isBulk: isBulk, mayOvertake: mayOvertake && segmentCount == 0)
    transaction.removeAll()
    segmentCount += 1
  }

  /// Queues the transaction for sending.
  ///
  /// - Returns: Whether anything is sent.
  @discardableResult
  func finish() -> Bool {
    flush(isLast: true)
    if segmentCount > 1, !isStaged { context.report(.groupSplit(documents: documents, byteCount: bytes)) }
    return segmentCount > 0
  }
}
