import CRDTCore
import DocStore

/// Requests that wait, and what went out whole beside an answer while they did: that need not be answered again.
struct RequestQueue {
  private var waiting = WorkQueue<RequestGroup>()
  /// How many have come.
  private var total: UInt64 = 0
  /// Documents, with how many requests had come when they went out.
  private var answered: [DocumentKey: UInt64] = [:]

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

  /// Takes note that a document goes out whole.
  mutating func noteWhole(_ key: DocumentKey) { answered[key] = total }

  /// Whether it is worth looking: what the peer has left out as a whole is answered as a whole.
  func mayBeAnswered(_ group: RequestGroup) -> Bool { !answered.isEmpty && group.binding == nil }

  /// Whether a document went out whole after it was asked for.
  func isAnswered(_ key: DocumentKey, of group: RequestGroup) -> Bool {
    answered[key].map { group.number < $0 } ?? false
  }
}
