import CRDTCore
import DocStore
import Failpoints

/// Received transactions from their first byte until they are applied, and their acknowledgements.
///
/// Transactions are applied in the order in which they became complete. Memory is bounded for this peer and
/// for all sessions together. Beyond the bounds the session stops reading.
final class ReceiveQueue {
  /// What the acknowledgement of one frame returns to the sender's window.
  private struct Receipt {
    var wireBytes: UInt64
    var plainBytes: UInt64
  }

  let assembly: TransactionAssembly
  private let context: SessionContext
  private var drafter: RecordDrafter
  private var incomingSegments = IncomingSegments()
  /// Received transactions that are not decoded yet (`arrived`), or are decoded (`ready`).
  ///
  /// Decoded ones are counted by documents and bytes.
  private var arrived = ArrivedQueue()
  private var ready = WorkQueue<IncomingTransaction>()
  private var readyDocuments = 0
  private var readyBytes = 0
  /// The memory of decoded transactions that are not applied.
  private var decodedBytes = 0
  /// What the next frame takes, if there was no room for it.
  private var refusedBytes = 0
  /// Uncompressed bytes of transactions that wait or are being applied.
  private(set) var unappliedBytes = 0
  private var applying: (ticket: UInt64, transactions: [IncomingTransaction])?
  private var nextTicket: UInt64 = 1
  /// How many transactions were received, and how many of them are applied.
  private(set) var receivedTransactions: UInt64 = 0
  private(set) var appliedTransactions: UInt64 = 0
  /// When a fragment or chunk last arrived.
  private(set) var progressedAt = Duration.zero
  /// Acknowledgements that wait until the transaction with the given number is applied.
  private var unsettled = WorkQueue<(transaction: UInt64, receipt: Receipt)>()
  private var acknowledged = Acknowledgement()
  private var isAcknowledgementDue = false
  private var notices = Waiting<ReceivedNotice, UInt64>()
  #if DEBUG || SIMULATION
    /// How many transactions came before the mark that was processed last.
    private(set) var markPoint: UInt64 = 0
  #endif

  init(_ context: SessionContext) {
    self.context = context
    assembly = TransactionAssembly(context)
    drafter = RecordDrafter(context.store)
  }

  /// Whether the driver is applying a batch.
  var isApplying: Bool { applying != nil }
  /// Whether received transactions wait or are being applied.
  var hasUnapplied: Bool { isApplying || hasReady || !arrived.isEmpty }
  /// Whether decoded transactions wait.
  var hasReady: Bool { !ready.isEmpty }
  /// Whether all received transactions are applied.
  var isApplied: Bool { receivedTransactions == appliedTransactions }
  /// Whether all received transactions are applied, and none is partially received.
  var isQuiet: Bool { isApplied && assembly.isEmpty }
  /// Uncompressed bytes that are received and not applied.
  var pendingBytes: Int { unappliedBytes + assembly.byteCount }
  /// The number of frames that wait to be acknowledged.
  var unsettledCount: Int { unsettled.count }

  // MARK: - Frames

  /// Receives a fragment of the stream of small transactions, and records the interest that applies to them.
  func receive(
    _ head: FragmentHead, _ content: RawSpan, frameBytes: Int, under interest: Interest,
    seen: UInt64
  ) throws(SyncError) {
    let arrival = try assembly.receive(head, content, seen: seen)
    note(packed: content.byteCount, plain: head.plainBytes)
    append(arrival, under: interest)
    acknowledge(frameBytes, plainBytes: head.plainBytes, isSettled: arrival.ranges.isEmpty)
    noteHeld()
  }

  /// Receives a chunk of a large transaction.
  func receive(
    _ head: ChunkHead, _ content: RawSpan, frameBytes: Int, under interest: Interest, seen: UInt64
  ) throws(SyncError) {
    let arrival = try assembly.receive(head, content, seen: seen)
    let isDropped = head.packing == nil
    if !isDropped { note(packed: content.byteCount, plain: head.plainBytes) }
    if let arrival { append(arrival, under: interest) }
    acknowledge(frameBytes, plainBytes: isDropped ? 0 : head.plainBytes, isSettled: arrival == nil)
    noteHeld()
  }

  /// Receives a reference to bytes of a large transaction that an earlier link has delivered.
  func receive(
    _ frame: ReuseFrame, frameBytes: Int, under interest: Interest, seen: UInt64
  ) throws(SyncError) {
    let arrival = try assembly.receive(frame, seen: seen)
    if let arrival { append(arrival, under: interest) }
    acknowledge(frameBytes, plainBytes: 0, isSettled: arrival == nil)
    noteHeld()
  }

  private func note(packed: Int, plain: Int) {
    progressedAt = context.now
    context.statistics.packedBytesReceived += UInt64(packed)
    context.statistics.plainBytesReceived += UInt64(plain)
  }

  private func append(_ arrival: TransactionArrival, under interest: Interest) {
    receivedTransactions += UInt64(arrival.ranges.count)
    context.statistics.transactionsReceived += UInt64(arrival.ranges.count)
    unappliedBytes += arrival.byteCount
    arrived.append(arrival.ranges, of: arrival.block, seen: arrival.seen, interest)
  }

  // MARK: - Notices

  /// The number of documents in notices that wait.
  var noticedDocuments: Int { notices.documentCount }

  /// Receives a notice, which waits until everything received before it is applied.
  func receive(_ notice: ReceivedNotice) {
    notices.append(notice, documents: notice.documentCount, until: receivedTransactions)
  }

  /// Removes and returns the first notice if everything received before it is applied.
  func dequeueNotice() -> ReceivedNotice? {
    let next = notices.removeFirst { $0 <= appliedTransactions || SyncDefect.noticeReadEarly.isPlanted }
    guard let (notice, point) = next else { return nil }
    check(
      .sync(1), point <= appliedTransactions, phase: "receiving",
      "a notice is processed after \(appliedTransactions) transactions, and \(point) came before it")
    #if DEBUG || SIMULATION
      if case .mark = notice { markPoint = point }
    #endif
    return notice
  }

  // MARK: - Bounds

  /// Bytes in memory that are received and not applied, with copies that are on their way into the store.
  var heldBytes: Int { pendingBytes + arrived.indexBytes + decodedBytes + assembly.pieceBytes }

  /// Returns whether more bytes may be held for this peer.
  ///
  /// If progress depends on them, they may exceed this peer's limit. The limit of all sessions still applies.
  private func mayHold(_ more: Int, isNeeded: Bool) -> Bool {
    (isNeeded || heldBytes + more <= context.configuration.arrivedBytes)
      && context.shared.memory.mayReceive(more, context.id, limit: context.configuration.allArrivedBytes)
  }

  /// Whether the session must stop reading until its own or other sessions' transactions are applied.
  var isFull: Bool {
    !mayHold(refusedBytes, isNeeded: !hasUnapplied)
      || noticedDocuments >= context.tuning.waitingOffers && hasUnapplied
  }

  /// Returns whether a frame that takes so many bytes of memory may be received now.
  ///
  /// If not, the queue is full until there is room for it. The frame's own length counts, so a peer with
  /// little to say goes on while others wait.
  func mayReceive(_ bytes: Int) -> Bool {
    refusedBytes = bytes
    guard !isFull else { return false }
    refusedBytes = 0
    return true
  }

  /// Returns whether the queue waits only for memory that other sessions use.
  func waitsForMemory(_ isFull: Bool) -> Bool { !isApplying && (isFull || !arrived.isEmpty) }

  /// Ends a session whose peer stops within a transaction while other sessions wait for its memory.
  func checkHold() throws(SyncError) {
    guard heldBytes > 0, !hasUnapplied, context.now - progressedAt > SyncLimits.holdSpan,
      context.shared.memory.arrivedBytes > context.configuration.allArrivedBytes
    else { return }
    throw SyncError(
      .limit, "The peer does not go on with a group, and others wait for the memory that it takes")
  }

  /// Reports to the other sessions how much memory this one holds.
  ///
  /// Called after each frame of data: a step may receive megabytes, and meanwhile others step.
  func noteHeld() { context.shared.memory.noteArrived(heldBytes, of: context.id) }

  // MARK: - Applying

  /// Decodes the next transactions while the driver may apply others.
  ///
  /// It decodes as many as one store transaction applies.
  func prepare() throws(SyncError) {
    while readyDocuments < context.tuning.applying.documents, readyBytes < context.tuning.applying.bytes,
      let next = arrived.first, mayHold(next.cost, isNeeded: !hasReady && !isApplying)
    {
      arrived.removeFirst()
      let transaction = try transaction(next)
      context.statistics.documentsReceived += UInt64(transaction.documentCount)
      ready.append(transaction)
      readyDocuments += transaction.documentCount
      readyBytes += transaction.byteCount
      decodedBytes += transaction.cost
      noteHeld()
    }
  }

  private func transaction(_ arrived: ArrivedTransaction) throws(SyncError) -> IncomingTransaction {
    var transaction: IncomingTransaction
    do throws(CodecError) {
      transaction = try IncomingTransaction(arrived.block, arrived.range) {
        accepts($0, under: arrived.interest)
      }
    } catch {
      throw SyncError(error, in: "a group", base: 0)
    }
    transaction.seen = arrived.seen
    if let segment = transaction.segment {
      transaction.step = incomingSegments.step(for: segment) {
        context.shared.segments.makeName(
          context.configuration.random(), erasedCount: context.shared.erased.count,
          isKept: context.shared.stage.keepsSegments)
      }
      // If a segment is missing, nothing of its transaction is accepted.
      if transaction.step == nil {
        transaction.removeDocuments { _ in true }
      } else if segment.isLast {
        assembly.forgetSegments()
      }
    } else {
      transaction.makeDrafts(with: &drafter)
    }
    return transaction
  }

  /// Returns whether a collection's documents are subscribed to, and accepted by the policy.
  private func accepts(_ collection: String, under interest: Interest) -> Bool {
    guard interest.covers(collection) else { return false }
    guard context.gatekeeper?.mayAccept(collection) ?? false else {
      context.reportRefused(collection, "The collection is not accepted from this peer")
      return false
    }
    return true
  }

  /// Removes and returns the transactions that one store transaction is to apply.
  func removeBatch() -> [IncomingTransaction] {
    var transactions: [IncomingTransaction] = []
    var documents = 0
    var bytes = 0
    while bytes < context.tuning.applying.bytes, documents < context.tuning.applying.documents,
      let transaction = ready.removeFirst()
    {
      let isTooMuch =
        documents + transaction.documentCount > context.tuning.applying.documents
        || bytes + transaction.byteCount > context.tuning.applying.bytes
      if isTooMuch, !transactions.isEmpty {
        ready.prepend(transaction)
        break
      }
      transactions.append(transaction)
      documents += transaction.documentCount
      bytes += transaction.byteCount
    }
    readyDocuments -= documents
    readyBytes -= bytes
    return transactions
  }

  /// Records that transactions are with the driver, or an eviction or checkpoint without any.
  ///
  /// - Returns: The ticket with which the driver reports the outcome.
  func begin(_ transactions: [IncomingTransaction]) -> UInt64 {
    defer { nextTicket += 1 }
    applying = (nextTicket, transactions)
    return nextTicket
  }

  /// Records the outcome of a batch: the first `count` transactions are applied, the others are queued again.
  ///
  /// - Returns: The applied transactions; `nil` if the batch had none.
  /// - Throws: `outOfOrder` if no batch with this ticket is with the driver.
  func end(_ ticket: UInt64, applied count: Int) throws(SyncError) -> [IncomingTransaction]? {
    guard let applying, applying.ticket == ticket else {
      throw SyncError(.outOfOrder, "An outcome of a batch that was not handed out")
    }
    self.applying = nil
    assembly.didStage()
    let transactions = Array(applying.transactions.prefix(count))
    for transaction in applying.transactions[transactions.count...].reversed() {
      ready.prepend(transaction)
      readyDocuments += transaction.documentCount
      readyBytes += transaction.byteCount
    }
    unappliedBytes -= transactions.reduce(0) { $0 + $1.byteCount }
    decodedBytes -= transactions.reduce(0) { $0 + $1.cost }
    guard !applying.transactions.isEmpty else { return nil }
    appliedTransactions += UInt64(transactions.count)
    return transactions
  }

  // MARK: - Acknowledging

  private func acknowledge(_ wireBytes: Int, plainBytes: Int, isSettled: Bool) {
    let receipt = Receipt(wireBytes: UInt64(wireBytes), plainBytes: UInt64(plainBytes))
    if isSettled { add(receipt) } else { unsettled.append((receivedTransactions, receipt)) }
  }

  private func add(_ receipt: Receipt) {
    acknowledged.wireBytes += receipt.wireBytes
    acknowledged.plainBytes += receipt.plainBytes
    isAcknowledgementDue = true
  }

  /// Acknowledges the frames whose transactions are all applied.
  func settle() {
    while let next = unsettled.removeFirst() {
      guard next.transaction <= appliedTransactions else {
        unsettled.prepend(next)
        break
      }
      add(next.receipt)
    }
    acknowledged.transactions = appliedTransactions
    isAcknowledgementDue = true
  }

  func sendAcknowledgement() {
    guard isAcknowledgementDue, !SyncDefect.acknowledgementLost.isPlanted else { return }
    isAcknowledgementDue = false
    acknowledged.room = UInt64(max(0, context.tuning.applying.creditBytes - unappliedBytes))
    #if DEBUG || SIMULATION
      context.watch?(.acknowledged(acknowledged.transactions))
    #endif
    context.send(.acknowledge) { acknowledged.encode(to: &$0) }
  }
}
