package import CRDTCore

/// Values with their counts, in the order of values, for the least, the greatest and the median.
///
/// Values are gathered, and sorted only when they are read, so that many insertions are cheap. An integer and
/// a double of the same value are separate entries, the integer first, whichever was added first. Where
/// values are also removed, use ``CountedValues``.
package struct OrderedValues: Sendable {
  package struct Entry: Sendable {
    package var value: Value
    package var count: Int
  }

  /// The most values that are gathered while there are few entries.
  private static let leastGathered = 1_024

  private var sorted: [Entry] = []
  private var gathered: [Entry] = []

  package init() {}

  /// The number of entries and gathered values, which use memory now.
  var keptCount: Int { sorted.count + gathered.count }

  /// Adds a value; a counter counts as an integer.
  package mutating func insert(_ value: Value) {
    gathered.append(Entry(value: value.withoutCounter, count: 1))
    if gathered.count >= max(Self.leastGathered, sorted.count) { settle() }
  }

  /// The entries in order.
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

  /// The order of values, with integers before doubles of the same value.
  static func compare(_ left: Value, _ right: Value) -> Int {
    let order = SortOrder.compare(left, right)
    return order != 0 ? order : kind(left) - kind(right)
  }

  private static func kind(_ value: Value) -> Int {
    if case .double = value { 1 } else { 0 }
  }
}
