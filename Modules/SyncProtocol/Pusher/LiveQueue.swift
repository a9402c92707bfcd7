import CRDTCore
import DocStore

/// Commits that concern the peer and have not gone out, in their order; some wait until it is known what the peer has.
struct LiveQueue {
  private var ready = WorkQueue<LiveGroup>()
  /// Groups that wait for the end of a reconciliation, or of a walk through the log.
  private var held = WorkQueue<LiveGroup>()
  private(set) var byteCount = 0
  /// Documents that were evicted here while changes of them waited, with what the peer has when all of those have gone out.
  private var evicted: [DocumentKey: DocumentRequest] = [:]

  var isEmpty: Bool { ready.isEmpty && held.isEmpty }
  /// Whether a group waits for nothing but its turn.
  var hasReady: Bool { !ready.isEmpty }
  var hasHeld: Bool { !held.isEmpty }
  var heldCount: Int { held.count }
  /// The least sequence of a group that waits.
  var firstSequence: UInt64? { (ready.map(\.sequence) + held.map(\.sequence)).min() }
  /// The documents of the groups that wait.
  var documents: some Sequence<LiveDocument> { (ready.map(\.documents) + held.map(\.documents)).joined() }

  mutating func append(_ group: LiveGroup) {
    byteCount += group.byteCount
    ready.append(group)
  }

  mutating func removeFirst() -> LiveGroup? {
    let group = ready.removeFirst()
    byteCount -= group?.byteCount ?? 0
    return group
  }

  mutating func removeFirstHeld() -> LiveGroup? {
    let group = held.removeFirst()
    byteCount -= group?.byteCount ?? 0
    return group
  }

  /// Has a group that was taken out wait behind those that are held.
  mutating func hold(_ group: LiveGroup) {
    byteCount += group.byteCount
    held.append(group)
  }

  mutating func removeAll() { self = LiveQueue() }

  /// Takes note of what the peer has of an evicted document when all that waits has gone out.
  mutating func noteEvicted(_ key: DocumentKey, _ request: DocumentRequest) { evicted[key] = request }

  /// Hands out what evicted documents are to be followed by, once nothing waits: by collection and id.
  mutating func takeEvicted() -> [DocumentRequest] {
    guard !evicted.isEmpty, isEmpty else { return [] }
    defer { evicted = [:] }
    return evicted.values.sorted { ($0.collection, $0.id) < ($1.collection, $1.id) }
  }
}
