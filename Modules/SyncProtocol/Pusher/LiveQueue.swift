import CRDTCore
import DocStore

/// Commits that concern the peer and are not sent yet, in order.
///
/// Some wait until it is known what the peer has.
struct LiveQueue {
  private var ready = WorkQueue<LiveTransaction>()
  /// Transactions that wait for the end of a reconciliation or of a log walk.
  private var held = WorkQueue<LiveTransaction>()
  private(set) var byteCount = 0
  /// Documents evicted here while their changes waited.
  ///
  /// Each has the version that the peer has once these changes are sent.
  private var evicted: [DocumentKey: DocumentRequest] = [:]

  var isEmpty: Bool { ready.isEmpty && held.isEmpty }
  /// Whether a transaction is ready to be sent.
  var hasReady: Bool { !ready.isEmpty }
  var hasHeld: Bool { !held.isEmpty }
  var heldCount: Int { held.count }
  /// The number of transactions that wait.
  var count: Int { ready.count + held.count }
  /// The lowest sequence of the transactions that wait.
  var firstSequence: UInt64? { (ready.map(\.sequence) + held.map(\.sequence)).min() }
  /// The documents of the transactions that wait.
  var documents: some Sequence<LiveDocument> { (ready.map(\.documents) + held.map(\.documents)).joined() }

  mutating func append(_ transaction: LiveTransaction) {
    byteCount += transaction.byteCount
    ready.append(transaction)
  }

  mutating func removeFirst() -> LiveTransaction? {
    let transaction = ready.removeFirst()
    byteCount -= transaction?.byteCount ?? 0
    return transaction
  }

  mutating func removeFirstHeld() -> LiveTransaction? {
    let transaction = held.removeFirst()
    byteCount -= transaction?.byteCount ?? 0
    return transaction
  }

  /// Appends a transaction that was taken out to those that are held.
  mutating func hold(_ transaction: LiveTransaction) {
    byteCount += transaction.byteCount
    held.append(transaction)
  }

  mutating func removeAll() { self = LiveQueue() }

  /// Records the version that the peer has of an evicted document once everything that waits is sent.
  mutating func noteEvicted(_ key: DocumentKey, _ request: DocumentRequest) { evicted[key] = request }

  /// Removes and returns the follow-up requests for evicted documents, once no transaction waits.
  ///
  /// They are sorted by collection and id.
  mutating func removeEvicted() -> [DocumentRequest] {
    guard !evicted.isEmpty, isEmpty else { return [] }
    defer { evicted = [:] }
    return evicted.values.sorted { ($0.collection, $0.id) < ($1.collection, $1.id) }
  }
}
