package import CRDTCore

/// Values with their numbers of times, in the order of values: the least, the greatest, the one in the middle.
///
/// Values are gathered and sorted in when somebody asks, so that many of them cost little each. Integers and
/// doubles of one value stand apart, integers first, whatever came first. Where values go again,
/// ``CountedValues`` are for them.
package struct OrderedValues: Sendable {
  package struct Entry: Sendable {
    package var value: Value
    package var count: Int
  }

  /// How many values are gathered at most beside few entries.
  private static let leastGathered = 1_024

  private var sorted: [Entry] = []
  private var gathered: [Entry] = []

  package init() {}

  /// Entries and gathered values that take memory now.
  var keptCount: Int { sorted.count + gathered.count }

  /// Adds a value; a counter counts as an integer.
  package mutating func insert(_ value: Value) {
    gathered.append(Entry(value: value.withoutCounter, count: 1))
    if gathered.count >= max(Self.leastGathered, sorted.count) { settle() }
  }

  /// The entries in their order.
  ///
  /// - Complexity: O(*n* + *k* log *k*) after *k* insertions among *n* values, else O(1).
  package mutating func entries() -> [Entry] {
    settle()
    return sorted
  }

  /// The entries without repetitions of numbers that are equal by value.
  package mutating func distinct() -> [Entry] {
    var result: [Entry] = []
    for entry in entries() where result.last.map({ SortOrder.compare($0.value, entry.value) != 0 }) ?? true {
      result.append(entry)
    }
    return result
  }

  private mutating func settle() {
    guard !gathered.isEmpty else { return }
    gathered.sort { Self.compare($0.value, $1.value) < 0 }
    var merged: [Entry] = []
    merged.reserveCapacity(sorted.count + gathered.count)
    var old = sorted[...]
    for entry in gathered {
      while let first = old.first, Self.compare(first.value, entry.value) <= 0 {
        Self.append(first, to: &merged)
        old.removeFirst()
      }
      Self.append(entry, to: &merged)
    }
    for entry in old { Self.append(entry, to: &merged) }
    sorted = merged
    gathered.removeAll(keepingCapacity: true)
  }

  private static func append(_ entry: Entry, to entries: inout [Entry]) {
    if let last = entries.indices.last, compare(entries[last].value, entry.value) == 0 {
      entries[last].count += entry.count
    } else {
      entries.append(entry)
    }
  }

  /// The order of values, integers before doubles of the same value.
  static func compare(_ left: Value, _ right: Value) -> Int {
    let order = SortOrder.compare(left, right)
    return order != 0 ? order : kind(left) - kind(right)
  }

  private static func kind(_ value: Value) -> Int {
    if case .double = value { 1 } else { 0 }
  }
}
