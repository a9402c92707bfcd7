import CRDTCore
import Failpoints

/// Transactions to be sent: small ones are packed into fragments, large ones are cut into chunks between
/// them.
final class SendQueue {
  /// A large transaction that waits or is being sent.
  struct Transfer {
    let number: UInt64
    let bytes: [UInt8]
    let documents: Int
    let sequence: UInt64
    let isBulk: Bool
    let collections: CollectionSet
    /// The bytes that are compressed or being compressed.
    var offset = 0
    /// The remaining ranges that the receiver has staged.
    var reusableRanges: ArraySlice<PeerStages.ReusableRange> = []
  }

  let context: SessionContext
  let packer: Packer
  var window: FlowWindow
  var stream = TransactionStream()
  var transfers = WorkQueue<Transfer>()
  /// Chunks of large transactions in order, up to the last one that is being compressed.
  var packing = PackingLine()
  /// The number of the last large transaction that was queued.
  private(set) var lastQueued: UInt64 = 0
  /// The transaction that is partly sent: some of its chunks are sent, but not the last one.
  var openTransfer: UInt64?
  /// Bytes of that transaction, or of the next one, that the receiver had staged.
  var reusedBytes = 0
  /// The number of the last large transaction of which a chunk was sent.
  var transferNumber: UInt64 = 0
  /// Log sequences of the transactions that are sent and not acknowledged, in sending order.
  private var unacknowledged = WorkQueue<UInt64>()
  private var newlySent: [UInt64] = []
  var waitingTransferBytes = 0
  /// Counts of queued and sent transactions by channel.
  private(set) var added = Progress()
  var gone = Progress()
  private var notices = Waiting<SentNotice, Progress>()
  var scheduler = LinkScheduler()
  /// The last time that something was sent; `nil` once the send buffers and compressors are freed.
  var lastPacked: Duration?
  /// What the receiver has staged of large transactions whose links broke.
  var peerStages = PeerStages()

  struct Progress: Equatable {
    var small: UInt64 = 0
    var large: UInt64 = 0

    #if DEBUG || SIMULATION
      var count: SessionFact.Count { SessionFact.Count(small: small, large: large) }
    #endif

    func covers(_ other: Progress) -> Bool { small >= other.small && large >= other.large }
  }

  init(_ context: SessionContext) {
    self.context = context
    let configuration = context.configuration
    packer = Packer(
      level: configuration.compressionLevel, isLocal: configuration.isLocal,
      patience: context.tuning.transfers.packingPatience)
    let bytes = configuration.isLocal ? SyncLimits.localWindowBytes : configuration.initialWindowBytes
    window = FlowWindow(bytes: bytes, now: context.now)
  }

  /// Adapts to the delay of the peer's hello: on a long link, sending starts with a small window.
  func begin(helloDelay: Duration) {
    packer.policy.isLongLink = helloDelay > SyncLimits.longHello
    guard helloDelay > SyncLimits.longHello else { return }
    window = FlowWindow(
      bytes: min(context.configuration.initialWindowBytes, SyncLimits.longLinkWindowBytes), now: context.now)
  }

  /// Whether large transactions wait that are not entirely in the packing line.
  var hasWaitingTransfers: Bool { !transfers.isEmpty }
  var hasTransfers: Bool { !transfers.isEmpty || !packing.isEmpty }
  var streamBytes: Int { stream.byteCount }
  var isIdle: Bool { streamBytes == 0 && transfers.isEmpty && packing.isEmpty }
  /// Whether the receiver has applied everything that was to be sent.
  var isConfirmed: Bool { isIdle && window.acknowledged.transactions == window.sent.transactions }

  /// The idle time after which the send buffers and compressors are freed.
  static let restAfter = Duration.seconds(8)

  /// Frees the send buffers and compressors after a long idle time.
  ///
  /// The session calls it whenever it reads the clock, at least once per ping.
  ///
  /// - Returns: Whether it did so now.
  func rest(_ now: Duration) throws(SyncError) -> Bool {
    guard let lastPacked, now - lastPacked >= Self.restAfter, isIdle else { return false }
    self.lastPacked = nil
    stream.rest()
    try packer.rest()
    return true
  }

  /// Queues a transaction.
  ///
  /// - Parameters:
  ///   - transaction: Documents that become visible together.
  ///   - sequence: The commit that it carries, or the binding of an answer; 0 when it is neither.
  ///   - isBulk: Whether nobody waits for it in particular.
  ///   - mayOvertake: Whether it may be sent before waiting large transactions.
  func add(_ transaction: borrowing TransactionEncoder, sequence: UInt64, isBulk: Bool, mayOvertake: Bool) {
    let isLarge = transaction.byteCount + 8 > smallTransactionBytes || !mayOvertake && hasTransfers
    // Segments keep their order, whatever their sizes.
    guard isLarge || transaction.segment != nil else {
      added.small += 1
      return stream.append(transaction, sequence: sequence, isBulk: isBulk)
    }
    let plain = transaction.bytes
    let bytes = isSlow(plain.count) ? ColumnarTransaction.split(plain) ?? plain : plain
    waitingTransferBytes += bytes.count
    added.large += 1
    lastQueued += 1
    transfers.append(
      Transfer(
        number: lastQueued, bytes: bytes, documents: transaction.documentCount, sequence: sequence,
        isBulk: isBulk, collections: transaction.collections))
  }

  /// Whether a transaction takes so long that its link may well break meanwhile, or resumes an earlier
  /// transfer.
  private func isSlow(_ byteCount: Int) -> Bool {
    guard !context.configuration.isLocal else { return false }
    let span = context.tuning.transfers.slowSpan
    guard peerStages.isEmpty, span > .zero else { return true }
    guard let rate = window.rate else { return packer.policy.isLongLink }
    return Double(scheduler.chunks.wireBytes(byteCount)) > rate * (span / .seconds(1))
  }

  /// The size limit of transactions in the stream.
  ///
  /// The limit is lower on a slow link, so that other transactions need not wait long.
  private var smallTransactionBytes: Int {
    guard let rate = window.rate, rate < SyncLimits.slowLinkRate else {
      return SyncLimits.smallTransactionBytes
    }
    return SyncLimits.slowSmallTransactionBytes
  }

  // MARK: - Notices

  /// The number of documents in notices that wait.
  var noticedDocuments: Int { notices.documentCount }

  /// Queues a notice behind everything that was queued before.
  func add(_ notice: SentNotice, documents: Int = 0) {
    #if DEBUG || SIMULATION
      context.watch?(.noticeQueued(notice.frameType, after: added.count))
    #endif
    notices.append(notice, documents: documents, until: added)
  }

  /// Removes and returns the first notice if everything before it is sent.
  func dequeueNotice() -> SentNotice? {
    guard let (notice, _) = notices.removeFirst(where: { gone.covers($0) }) else { return nil }
    #if DEBUG || SIMULATION
      context.watch?(.noticeDequeued(notice.frameType))
    #endif
    return notice
  }

  /// Drops the offers and withdrawals that wait; a comparison of everything replaces them.
  func removeOffers() {
    #if DEBUG || SIMULATION
      context.watch?(.noticesDropped(.offer))
    #endif
    notices.removeAll {
      switch $0 {
      case .offers, .withdrawals: true
      case .settled, .mark, .renew: false
      }
    }
  }

  /// Records the receiver's acknowledged totals.
  func receive(_ totals: Acknowledgement) throws(SyncError) {
    let settled = totals.transactions &- window.acknowledged.transactions
    try window.receive(totals, now: context.now)
    for _ in 0..<settled { _ = unacknowledged.removeFirst() }
  }

  /// Removes and returns the names of the transactions that were sent completely since the last call.
  ///
  /// The result also has the place of the first one among all transactions, from 1.
  func removeSent() -> (names: [UInt64], first: UInt64) {
    defer { newlySent = [] }
    return (newlySent, window.sent.transactions - UInt64(newlySent.count) + 1)
  }

  /// Records a transaction that was sent completely, by the sequence that it carries.
  func noteSent(_ sequence: UInt64) {
    unacknowledged.append(sequence)
    newlySent.append(sequence)
  }

  /// The lowest sequence of a live transaction that is not acknowledged.
  func firstUnacknowledged() -> UInt64? {
    sequences.filter { (1..<RecentTransactions.firstBinding).contains($0) }.min()
  }

  /// The bindings of the unacknowledged transactions that were requested as a whole.
  var bindings: [UInt64] { sequences.filter { $0 >= RecentTransactions.firstBinding } }

  private var sequences: [UInt64] {
    unacknowledged.map { $0 } + stream.transactions.map(\.sequence) + packing.sequences
      + transfers.map(\.sequence)
  }
}

/// The collections of a transaction's documents; nearly always one.
struct CollectionSet {
  private var first: String?
  private var others: [String] = []

  mutating func insert(_ name: String) {
    guard let first else {
      self.first = name
      return
    }
    if !first.isSame(as: name), !others.contains(where: name.isSame) { others.append(name) }
  }

  func contains(where isForbidden: (String) -> Bool) -> Bool {
    guard let first else { return false }
    return isForbidden(first) || others.contains(where: isForbidden)
  }
}
