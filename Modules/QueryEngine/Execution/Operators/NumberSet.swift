import CRDTCore
import DocStore

/// The numbers of the documents of rows of indexes.
struct NumberSet {
  private var numbers: [DocumentNumber] = []
  private var isSorted = true

  var isEmpty: Bool { numbers.isEmpty }

  /// Adds the documents of a scan's rows.
  mutating func insert(
    _ scan: IndexScan, in source: borrowing some RecordSource & ~Copyable,
    _ collection: DocStore.Collection, _ context: StatementContext
  ) throws {
    var pace = try ScanPace(context)
    try source.withIndex(scan.index, of: collection) { reader in
      try scan.forEachRow(reader) { row in
        try pace.step()
        // Rows with the same value are ordered by number, so that most scans need no sorting.
        if let last = numbers.last, last >= row.document { isSorted = false }
        numbers.append(row.document)
        return true
      }
    }
  }

  /// The same numbers, ascending, each once.
  ///
  /// - Complexity: O(*n* log *n*); O(1) where they arrived in that order.
  consuming func sorted() -> NumberSet {
    if isSorted { return self }
    numbers.sort()
    var kept = 0
    for place in numbers.indices where place == 0 || numbers[place] != numbers[kept - 1] {
      numbers[kept] = numbers[place]
      kept += 1
    }
    numbers.removeLast(numbers.count - kept)
    isSorted = true
    return self
  }

  /// The numbers that are in both sets; both are sorted.
  consuming func intersection(_ other: NumberSet) -> NumberSet {
    var kept = 0
    var place = 0
    for number in numbers {
      while place < other.numbers.count, other.numbers[place] < number { place += 1 }
      guard place < other.numbers.count else { break }
      if other.numbers[place] == number {
        numbers[kept] = number
        kept += 1
      }
    }
    numbers.removeLast(numbers.count - kept)
    return self
  }

  /// Visits the records of the documents, in the order of the store, until `body` returns `false`.
  func forEachRecord(
    in source: borrowing some RecordSource & ~Copyable, _ collection: DocStore.Collection,
    _ body: (_ id: RawSpan, _ record: borrowing RecordView) throws -> Bool
  ) throws {
    guard !isEmpty else { return }
    try source.withRecords(of: collection) { reader in
      for number in numbers {
        guard try reader.withRecord(numbered: number, body) ?? true else { return }
      }
    }
  }
}
