/// What is to happen, by time; a binary heap.
struct Agenda {
  struct Entry {
    let at: SimTime
    /// Drawn, so that what happens at one time happens in any order.
    let tie: UInt64
    let body: () throws -> Void

    func precedes(_ other: Entry) -> Bool { at != other.at ? at < other.at : tie < other.tie }
  }

  private var entries: [Entry] = []

  mutating func insert(_ entry: Entry) {
    entries.append(entry)
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].precedes(entries[parent]) else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the first entry, unless it is at `end` or later.
  mutating func removeFirst(before end: SimTime) -> Entry? {
    guard let first = entries.first, first.at < end else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return first }
    entries[0] = last
    var parent = 0
    while true {
      var least = 2 * parent + 1
      guard least < entries.count else { return first }
      if least + 1 < entries.count, entries[least + 1].precedes(entries[least]) { least += 1 }
      guard entries[least].precedes(entries[parent]) else { return first }
      entries.swapAt(least, parent)
      parent = least
    }
  }
}
