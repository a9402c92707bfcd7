import CRDTCore
import DocStore

/// Requests that wait to be answered.
struct RequestQueue {
  private var waiting = WorkQueue<RequestedTransaction>()
  /// Requests that are answered together and continue in the next frame, and their approximate bytes.
  private var partial: [DocumentRequest] = []
  private var partialCost = 0
  private var waitingCost = 0

  /// Approximate memory in bytes.
  var cost: Int { waitingCost + partialCost }
  /// Whether requests have arrived that continue in the next frame.
  var hasPartial: Bool { !partial.isEmpty }
  var isEmpty: Bool { waiting.isEmpty }
  var count: Int { waiting.count }
  /// The names of the bindings of the requests that wait.
  private(set) var bindings: Set<UInt64> = []

  mutating func append(_ transaction: RequestedTransaction) {
    waitingCost += transaction.cost
    if let binding = transaction.binding { bindings.insert(binding) }
    waiting.append(transaction)
  }

  mutating func removeFirst() -> RequestedTransaction? {
    let transaction = waiting.removeFirst()
    if let binding = transaction?.binding { bindings.remove(binding) }
    if let transaction { waitingCost -= transaction.cost }
    return transaction
  }

  /// Receives the requests of a frame.
  ///
  /// - Returns: All that are answered together; `nil` if more follow.
  /// - Throws: `outOfOrder` if others must come first, `limit` if too many belong together.
  mutating func gather(_ list: WantList) throws(SyncError) -> [DocumentRequest]? {
    guard partial.isEmpty || list.isTransaction && list.reconciliation == 0 else {
      throw SyncError(.outOfOrder, "Wants that belong together are not in order")
    }
    let wants = list.wants.map { DocumentRequest($0, seen: list.seen) }
    partial += wants
    guard list.goesOn, list.isTransaction, list.reconciliation == 0 else {
      defer { (partial, partialCost) = ([], 0) }
      return partial
    }
    partialCost += wants.reduce(0) { $0 + $1.cost }
    guard partial.count <= SyncLimits.transactionDocuments else {
      throw SyncError(.limit, "The peer asks for too many documents at once")
    }
    return nil
  }

  /// Drops the requests that wait for an answer.
  mutating func removeWaiting() {
    let (partial, cost) = (partial, partialCost)
    self = RequestQueue()
    (self.partial, partialCost) = (partial, cost)
  }
}
