import CRDTCore

extension ResultDiff {
  /// Finds the differences of two whole results, with as few moves as there can be.
  ///
  /// What does not move is a longest increasing subsequence of previous indexes.
  /// Source: Fredman, "On computing the length of longest increasing subsequences", Discrete Mathematics 1975;
  /// O(*n* log *n*).
  package init(from old: [Row], to new: [Row]) {
    var oldIndexes: [Identity: Int] = [:]
    for (index, row) in old.enumerated() { oldIndexes[Identity(row)] = index }
    var kept: [(old: Int, new: Int)] = []
    var isKept = [Bool](repeating: false, count: old.count)
    for (index, row) in new.enumerated() {
      guard let previous = oldIndexes[Identity(row)] else {
        insertions.append(index)
        insertedRows.append(row)
        continue
      }
      kept.append((previous, index))
      isKept[previous] = true
      if !row.showsSame(as: old[previous]) {
        updates.append(index)
        updatedRows.append(row)
        replacedRows.append(old[previous])
      }
    }
    for index in old.indices where !isKept[index] {
      deletions.append(index)
      deletedRows.append(old[index])
    }
    let still = Self.increasing(kept.map(\.old))
    moves = kept.indices.filter { !still[$0] }.map { Move(from: kept[$0].old, to: kept[$0].new) }
  }

  /// Which elements belong to a longest increasing subsequence.
  private static func increasing(_ values: [Int]) -> [Bool] {
    /// For each length, the index of the least value that ends an increasing sequence of it.
    var ends: [Int] = []
    var previous = [Int?](repeating: nil, count: values.count)
    for index in values.indices {
      var low = 0
      var high = ends.count
      while low < high {
        let middle = (low + high) / 2
        if values[ends[middle]] < values[index] { low = middle + 1 } else { high = middle }
      }
      previous[index] = low > 0 ? ends[low - 1] : nil
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var isMember = [Bool](repeating: false, count: values.count)
    var current = ends.last
    while let index = current {
      isMember[index] = true
      current = previous[index]
    }
    return isMember
  }

  /// What makes two rows the same one: the document, or for rows without one what they show.
  private enum Identity: Hashable {
    case document(DocumentID)
    case values([String: Value])
    case unreadable

    init(_ row: Row) {
      if let id = row.id {
        self = .document(id)
      } else {
        do { self = .values(try row.values()) } catch { self = .unreadable }
      }
    }
  }
}
