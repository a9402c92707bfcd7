import CRDTCore

/// The documents that a running transaction has touched, group by group.
struct ChangeList {
  /// In the order of the first touch; a document appears once for each group.
  private(set) var changes: [Change] = []
  /// The last touch of each document.
  private var touches: [Touch] = []
  private var places = HashPlaces()
  private var group = 0
  private var groupStart = 0
  /// The sequence of the current group, once it has a change.
  var groupSequence: UInt64? {
    didSet { lastSequence = groupSequence ?? lastSequence }
  }
  private(set) var lastSequence: UInt64 = 0

  /// An empty list with room for a number of documents.
  init(capacity: Int) {
    changes.reserveCapacity(capacity)
    touches.reserveCapacity(capacity)
    places = HashPlaces(capacity: capacity)
  }

  /// What the application did to a document by name; removing and upserting it contradict each other.
  enum Intent: Sendable { case upsert, remove, other }

  /// The place of a document in the list, and what was done to it.
  struct Touch: Equatable {
    fileprivate var hash: UInt64
    /// The position of the document's latest change; -1 for a document without one.
    fileprivate var change = -1
    fileprivate var group = 0
    fileprivate var intent = Intent.other

    var isFirst: Bool { change < 0 }

    /// Whether `next` contradicts what this transaction already did to the document.
    func conflicts(with next: Intent) -> Bool {
      switch (intent, next) {
      case (.upsert, .remove), (.remove, .upsert): true
      case (.upsert, .upsert), (.remove, .remove), (.other, _), (_, .other): false
      }
    }
  }

  /// What this transaction did to a document so far; changes nothing, and is `mutating` only to avoid a copy.
  mutating func touch(of key: DocumentKey) -> Touch {
    let hash = key.mixed
    guard let place = places.place(of: hash, where: { changes[touches[$0].change].key == key }) else {
      return Touch(hash: hash)
    }
    return touches[place]
  }

  /// Records a change; a group keeps the state before its first change and after its last one.
  mutating func note(_ change: Change, _ intent: Intent, after touch: Touch) {
    let isKnown = !touch.isFirst
    var next = touch
    if intent != .other { next.intent = intent }
    if isKnown, touch.group == group {
      changes[touch.change] = change.following(changes[touch.change])
    } else {
      next.change = changes.count
      next.group = group
      changes.append(change)
    }
    if isKnown, let place = places.place(of: touch.hash, where: { touches[$0].change == touch.change }) {
      touches[place] = next
    } else {
      places.insert(touches.count, touch.hash) { touches[$0].hash }
      touches.append(next)
    }
  }

  var currentGroup: Int { group }

  /// The changes of the current group.
  var groupChanges: ArraySlice<Change> { changes[groupStart...] }

  mutating func endGroup() {
    if changes.count > groupStart { group += 1 }
    groupStart = changes.count
    groupSequence = nil
  }
}

extension Change {
  /// Joins the previous change of the same document and this one.
  fileprivate func following(_ former: Change) -> Change {
    Change(
      key, number: number, kind: kind, sequence: former.sequence, group: former.group, before: former.before,
      beforeSummary: former.beforeSummary, after: after, afterSummary: afterSummary, oversize: oversize,
      wasOversize: former.wasOversize, names: names)
  }
}
