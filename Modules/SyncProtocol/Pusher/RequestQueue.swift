import CRDTCore
import DocStore

/// Requests that wait, and documents that were sent in full with another answer meanwhile: those need no
/// second answer.
struct RequestQueue {
  private var waiting = WorkQueue<RequestGroup>()
  /// The number of requests that have arrived.
  private var total: UInt64 = 0
  /// Documents sent in full, with the number of requests that had arrived by then and the name of the group
  /// that contains them.
  private var answered: [DocumentKey: (total: UInt64, group: UInt64)] = [:]
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
    var group = group
    group.number = total
    total += 1
    waitingCost += group.cost
    if let binding = group.binding { bindings.insert(binding) }
    waiting.append(group)
  }

  mutating func removeFirst() -> RequestGroup? {
    let group = waiting.removeFirst()
    if let binding = group?.binding { bindings.remove(binding) }
    if let group { waitingCost -= group.cost } else { answered = [:] }
    return group
  }

  /// Receives the requests of a frame.
  ///
  /// - Returns: All that are answered together; `nil` if more follow.
  /// - Throws: `outOfOrder` if others must come first, `limit` if too many belong together.
  mutating func gather(_ list: WantList) throws(SyncError) -> [DocumentRequest]? {
    guard partial.isEmpty || list.isGroup && list.round == 0 else {
      throw SyncError(.outOfOrder, "Wants that belong together are not in order")
    }
    let wants = list.wants.map { DocumentRequest($0) }
    partial += wants
    guard list.goesOn, list.isGroup, list.round == 0 else {
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

  /// Records that a document is sent in full, with a group.
  mutating func noteWhole(_ key: DocumentKey, with group: UInt64) { answered[key] = (total, group) }

  /// Whether any document was sent in full since requests began to wait.
  var hasAnswered: Bool { !answered.isEmpty }

  /// Returns the group with which a document was sent in full after it was requested.
  func answer(to key: DocumentKey, of group: RequestGroup) -> UInt64? {
    answered[key].flatMap { group.number < $0.total ? $0.group : nil }
  }
}
