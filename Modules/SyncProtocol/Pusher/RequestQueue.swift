import CRDTCore
import DocStore

/// Requests that wait, and what went out whole beside an answer while they did: that need not be answered again.
struct RequestQueue {
  private var waiting = WorkQueue<RequestGroup>()
  /// How many have come.
  private var total: UInt64 = 0
  /// Documents, with how many requests had come when they went out, and what the group is called with which they did.
  private var answered: [DocumentKey: (total: UInt64, group: UInt64)] = [:]
  /// Wants that are to be answered together, of which more are to come, and about their bytes.
  private var partial: [DocumentRequest] = []
  private var partialCost = 0
  private var waitingCost = 0

  /// About how many bytes all of them take.
  var cost: Int { waitingCost + partialCost }
  /// Whether wants have come that go on in the next frame.
  var hasPartial: Bool { !partial.isEmpty }
  var isEmpty: Bool { waiting.isEmpty }
  var count: Int { waiting.count }
  /// What binds those that wait.
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

  /// Takes the wants of a frame.
  ///
  /// - Returns: All that are to be answered together; `nil` where more are to come.
  /// - Throws: `outOfOrder` where others are to come first, `limit` where too many belong together.
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

  /// Forgets those that wait to be answered.
  mutating func removeWaiting() {
    let (partial, cost) = (partial, partialCost)
    self = RequestQueue()
    (self.partial, partialCost) = (partial, cost)
  }

  /// Takes note that a document goes out whole, with a group.
  mutating func noteWhole(_ key: DocumentKey, with group: UInt64) { answered[key] = (total, group) }

  /// Whether it is worth looking whether anything is answered.
  var hasAnswered: Bool { !answered.isEmpty }

  /// The group with which a document went out whole after it was asked for.
  func answer(to key: DocumentKey, of group: RequestGroup) -> UInt64? {
    answered[key].flatMap { group.number < $0.total ? $0.group : nil }
  }
}
