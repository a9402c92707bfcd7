import CRDTCore

/// Values with their counts, in order, while values are added and removed one by one.
///
/// They are stored in chunks, so that a change moves few of them. An integer and a double of the same value
/// are separate entries, the integer first, and count as one distinct value.
struct CountedValues: Sendable {
  private struct Entry {
    var value: Value
    var count: Int
  }

  /// Some consecutive entries, never empty.
  private struct Chunk {
    var entries: [Entry]
    /// The sum of their counts.
    var total: Int
  }

  /// How a change affected the distinct values; of equal values, the first is the one that is shown.
  struct Effect {
    var entered: Value?
    var left: Value?
  }

  private static let greatestChunk = 256

  private var chunks: [Chunk] = []
  private(set) var count = 0
  private(set) var distinctCount = 0

  /// Adds a value.
  ///
  /// - Complexity: O(log *n* + *n* / 256).
  mutating func insert(_ value: Value) -> Effect {
    count += 1
    guard !chunks.isEmpty else {
      chunks = [Chunk(entries: [Entry(value: value, count: 1)], total: 1)]
      distinctCount = 1
      return Effect(entered: value)
    }
    let (chunk, index) = place(of: value)
    chunks[chunk].total += 1
    if index < chunks[chunk].entries.count, Self.compare(chunks[chunk].entries[index].value, value) == 0 {
      chunks[chunk].entries[index].count += 1
      return Effect()
    }
    chunks[chunk].entries.insert(Entry(value: value, count: 1), at: index)
    let effect = effect(ofEntryAt: index, in: chunk)
    if effect.entered != nil, effect.left == nil { distinctCount += 1 }
    if chunks[chunk].entries.count > Self.greatestChunk { split(chunk) }
    return effect
  }

  /// Removes a value that was added.
  ///
  /// - Complexity: O(log *n* + *n* / 256).
  mutating func remove(_ value: Value) -> Effect {
    guard !chunks.isEmpty else { return Effect() }
    let (chunk, index) = place(of: value)
    guard index < chunks[chunk].entries.count,
      Self.compare(chunks[chunk].entries[index].value, value) == 0
    else { return Effect() }
    count -= 1
    chunks[chunk].total -= 1
    guard chunks[chunk].entries[index].count == 1 else {
      chunks[chunk].entries[index].count -= 1
      return Effect()
    }
    let effect = effect(ofEntryAt: index, in: chunk)
    if effect.entered != nil, effect.left == nil { distinctCount -= 1 }
    chunks[chunk].entries.remove(at: index)
    if chunks[chunk].entries.isEmpty { chunks.remove(at: chunk) }
    return Effect(entered: effect.left, left: effect.entered)
  }

  /// The least value; of several that are equal, the integer.
  var least: Value? { chunks.first?.entries.first?.value }

  /// The greatest value; of several that are equal, the integer.
  var greatest: Value? {
    guard let last = chunks.last, let value = last.entries.last?.value else { return nil }
    let before = neighbour(before: last.entries.count - 1, in: chunks.count - 1)
    return before.flatMap { SortOrder.compare($0, value) == 0 ? $0 : nil } ?? value
  }

  /// The median; of an even number of values, the first of the two in the middle.
  ///
  /// - Complexity: O(*n* / 256).
  var median: Value? {
    var position = (count - 1) / 2
    for chunk in chunks where count > 0 {
      guard position < chunk.total else {
        position -= chunk.total
        continue
      }
      for entry in chunk.entries {
        position -= entry.count
        if position < 0 { return entry.value }
      }
    }
    return nil
  }

  /// The median of the distinct values.
  ///
  /// - Complexity: O(*n*).
  var distinctMedian: Value? {
    var position = (distinctCount - 1) / 2
    var previous: Value?
    for entry in chunks.lazy.flatMap(\.entries) {
      defer { previous = entry.value }
      if let previous, SortOrder.compare(previous, entry.value) == 0 { continue }
      if position == 0 { return entry.value }
      position -= 1
    }
    return nil
  }

  // MARK: - Places

  /// The difference that an entry makes to the distinct values.
  private func effect(ofEntryAt index: Int, in chunk: Int) -> Effect {
    let value = chunks[chunk].entries[index].value
    if let before = neighbour(before: index, in: chunk), SortOrder.compare(before, value) == 0 {
      return Effect()
    }
    if let after = neighbour(after: index, in: chunk), SortOrder.compare(value, after) == 0 {
      return Effect(entered: value, left: after)
    }
    return Effect(entered: value)
  }

  private func neighbour(before index: Int, in chunk: Int) -> Value? {
    if index > 0 { return chunks[chunk].entries[index - 1].value }
    return chunk > 0 ? chunks[chunk - 1].entries.last?.value : nil
  }

  private func neighbour(after index: Int, in chunk: Int) -> Value? {
    if index + 1 < chunks[chunk].entries.count { return chunks[chunk].entries[index + 1].value }
    return chunk + 1 < chunks.count ? chunks[chunk + 1].entries.first?.value : nil
  }

  /// The position of a value, or where it belongs: in the last chunk that does not begin after it.
  private func place(of value: Value) -> (chunk: Int, index: Int) {
    var low = 0
    var high = chunks.count - 1
    while low < high {
      let middle = (low + high + 1) / 2
      if Self.compare(chunks[middle].entries[0].value, value) <= 0 { low = middle } else { high = middle - 1 }
    }
    let entries = chunks[low].entries
    var first = 0
    var end = entries.count
    while first < end {
      let middle = (first + end) / 2
      if Self.compare(entries[middle].value, value) < 0 { first = middle + 1 } else { end = middle }
    }
    return (low, first)
  }

  private mutating func split(_ chunk: Int) {
    let half = chunks[chunk].entries.count / 2
    let tail = Array(chunks[chunk].entries[half...])
    chunks[chunk].entries.removeLast(tail.count)
    let total = tail.reduce(0) { $0 + $1.count }
    chunks[chunk].total -= total
    chunks.insert(Chunk(entries: tail, total: total), at: chunk + 1)
  }

  private static func compare(_ left: Value, _ right: Value) -> Int { OrderedValues.compare(left, right) }
}
