import CRDTCore
import DocStore

/// Requests that wait to be answered.
struct RequestQueue {
  private var waiting = WorkQueue<RequestGroup>()
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

  mutating func append(_ group: RequestGroup) {
    waitingCost += group.cost
    if let binding = group.binding { bindings.insert(binding) }
    waiting.append(group)
  }

  mutating func removeFirst() -> RequestGroup? {
    let group = waiting.removeFirst()
    if let binding = group?.binding { bindings.remove(binding) }
    if let group { waitingCost -= group.cost }
    return group
  }

  /// Receives the requests of a frame.
  ///
  /// - Returns: All that are answered together; `nil` if more follow.
  /// - Throws: `outOfOrder` if others must come first, `limit` if too many belong together.
  mutating func gather(_ list: WantList) throws(SyncError) -> [DocumentRequest]? {
    guard partial.isEmpty || list.isGroup && list.reconciliation == 0 else {
      throw SyncError(.outOfOrder, "Wants that belong together are not in order")
    }
    let wants = list.wants.map { DocumentRequest($0, seen: list.seen) }
    partial += wants
    guard list.goesOn, list.isGroup, list.reconciliation == 0 else {
      defer { (partial, partialCost) = ([], 0) }
      return partial
    }
    partialCost += wants.reduce(0) { $0 + $1.cost }
    guard partial.count <= SyncLimits.groupDocuments else {
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
