import CRDTCore

/// The documents that a running transaction has touched, group by group.
struct ChangeList {
  /// In the order of the first touch; a document appears once a group.
  private(set) var changes: [Change] = []
  /// The last touch of each document.
  private var touches: [Touch] = []
  private var places = HashPlaces()
  private var group = 0
  private var groupStart = 0
  /// The sequence of the present group, once it has a change.
  var groupSequence: UInt64? {
    didSet { lastSequence = groupSequence ?? lastSequence }
  }
  private(set) var lastSequence: UInt64 = 0

  /// An empty list with room for so many documents.
  init(capacity: Int) {
    changes.reserveCapacity(capacity)
    touches.reserveCapacity(capacity)
    places = HashPlaces(capacity: capacity)
  }

  /// What the application did to a document by name: removing and upserting it do not go together.
  enum Intent: Sendable { case upsert, remove, other }

  /// Where a document stands in the list, or would stand.
  struct Touch: Equatable {
    fileprivate var hash: UInt64
    /// The place of the document's latest change; -1 for a document that was not touched.
    fileprivate var change = -1
    fileprivate var group = 0
    fileprivate var intent = Intent.other

    var isFirst: Bool { change < 0 }

    /// Whether `next` contradicts what this transaction did to the document before.
    func conflicts(with next: Intent) -> Bool {
      switch (intent, next) {
      case (.upsert, .remove), (.remove, .upsert): true
      case (.upsert, .upsert), (.remove, .remove), (.other, _), (_, .other): false
      }
    }
  }

  /// What this transaction did to a document so far; changes nothing, and so is not handed a copy of all.
  mutating func touch(of key: DocumentKey) -> Touch {
    let hash = key.mixed
    guard let place = places.place(of: hash, where: { changes[touches[$0].change].key == key }) else {
      return Touch(hash: hash)
    }
    return touches[place]
  }

  /// Notes a change: the first one of a group keeps what was before, the last one what came of it.
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

  /// The changes of the present group.
  var groupChanges: ArraySlice<Change> { changes[groupStart...] }

  mutating func endGroup() {
    if changes.count > groupStart { group += 1 }
    groupStart = changes.count
    groupSequence = nil
  }
}

extension Change {
  /// This and the change of the same document before it, as one.
  fileprivate func following(_ former: Change) -> Change {
    Change(
      key, number: number, kind: kind, sequence: former.sequence, group: former.group, before: former.before,
      beforeSummary: former.beforeSummary, after: after, afterSummary: afterSummary, oversize: oversize,
      wasOversize: former.wasOversize, names: names)
  }
}
