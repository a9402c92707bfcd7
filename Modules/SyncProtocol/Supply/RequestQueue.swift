import CRDTCore
import DocStore

/// Requests that wait, and what went out whole beside an answer while they did: that need not be answered again.
struct RequestQueue {
  private var waiting = WorkQueue<RequestGroup>()
  /// How many have come.
  private var total: UInt64 = 0
  /// Documents, with how many requests had come when they went out, and what the group is called with which they did.
  private var answered: [DocumentKey: (total: UInt64, group: UInt64)] = [:]

  var isEmpty: Bool { waiting.isEmpty }
  var count: Int { waiting.count }
  /// What binds those that wait.
  private(set) var bindings: Set<UInt64> = []

  mutating func append(_ group: RequestGroup) {
    var group = group
    group.number = total
    total += 1
    if let binding = group.binding { bindings.insert(binding) }
    waiting.append(group)
  }

  mutating func removeFirst() -> RequestGroup? {
    let group = waiting.removeFirst()
    if let binding = group?.binding { bindings.remove(binding) }
    if group == nil { answered = [:] }
    return group
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
