import CRDTCore

extension ResultDiff {
  /// Finds the differences of two whole results, with few moves.
  ///
  /// Chunks that both share are skipped, since they are in the same order; the rows between them are compared
  /// one by one. Of the rows between the same two shared chunks, those of a longest increasing subsequence of
  /// previous indexes do not move. Without shared chunks that is the least number of moves.
  ///
  /// Source: Fredman, "On computing the length of longest increasing subsequences", Discrete Mathematics
  /// 1975.
  ///
  /// - Complexity: O(*c* + *k* log *k*) for *c* chunks and *k* rows outside shared ones.
  package init(from old: RowList<Row>, to new: RowList<Row>) {
    var comparison = Comparison()
    for gap in RowList.gaps(from: old, to: new) { comparison.add(gap, old, new) }
    self = comparison.finish()
  }

  /// The difference that one row makes, if it is removed, inserted, or both.
  ///
  /// The indexes are those in the old result and in the new one.
  init(removing removed: (index: Int, row: Row)?, inserting inserted: (index: Int, row: Row)?) {
    if let removed, let inserted, Identity(removed.row) == Identity(inserted.row) {
      if removed.index != inserted.index { moves = [Move(from: removed.index, to: inserted.index)] }
      guard !removed.row.isUnchanged(in: inserted.row) else { return }
      (updates, updatedRows, replacedRows) = ([inserted.index], [inserted.row], [removed.row])
      return
    }
    if let removed { (deletions, deletedRows) = ([removed.index], [removed.row]) }
    if let inserted { (insertions, insertedRows) = ([inserted.index], [inserted.row]) }
  }

  /// The state of a comparison, which goes through the gaps between shared chunks.
  private struct Comparison {
    /// A row of one result that has no counterpart at its place in the other.
    private struct Loose {
      let index: Int
      let row: Row
      let gap: Int
    }

    private var diff = ResultDiff()
    private var gaps = 0
    private var old: [Loose] = []
    private var new: [Loose] = []
    private var updated: [(index: Int, row: Row, replaced: Row)] = []

    /// Compares the rows between two shared chunks.
    mutating func add(
      _ gap: (old: Range<Int>, new: Range<Int>), _ oldRows: RowList<Row>, _ newRows: RowList<Row>
    ) {
      var (left, right) = gap
      while !left.isEmpty, !right.isEmpty, pair(oldRows, left.lowerBound, newRows, right.lowerBound) {
        left = left.dropFirst()
        right = right.dropFirst()
      }
      while !left.isEmpty, !right.isEmpty,
        pair(oldRows, left.upperBound - 1, newRows, right.upperBound - 1)
      {
        left = left.dropLast()
        right = right.dropLast()
      }
      old += left.map { Loose(index: $0, row: oldRows[$0], gap: gaps) }
      new += right.map { Loose(index: $0, row: newRows[$0], gap: gaps) }
      gaps += 1
    }

    /// Whether the same row is at both places; if its values differ, it is recorded as updated.
    private mutating func pair(
      _ oldRows: RowList<Row>, _ oldIndex: Int, _ newRows: RowList<Row>, _ newIndex: Int
    ) -> Bool {
      let (left, right) = (oldRows[oldIndex], newRows[newIndex])
      guard left.subject == right.subject else { return false }
      if left.subject == .nothing { return left.isUnchanged(in: right) }
      if !left.isUnchanged(in: right) { updated.append((newIndex, right, left)) }
      return true
    }

    mutating func finish() -> ResultDiff {
      // Rows that nothing distinguishes are paired in order, from the end of each list of places.
      var previous: [Identity: [Int]] = [:]
      for place in old.indices.reversed() { previous[Identity(old[place].row), default: []].append(place) }
      var kept: [(old: Loose, new: Loose)] = []
      var isKept = [Bool](repeating: false, count: old.count)
      for loose in new {
        guard let place = previous[Identity(loose.row)]?.popLast() else {
          diff.insertions.append(loose.index)
          diff.insertedRows.append(loose.row)
          continue
        }
        isKept[place] = true
        kept.append((old[place], loose))
        if !old[place].row.isUnchanged(in: loose.row) {
          updated.append((loose.index, loose.row, old[place].row))
        }
      }
      for (place, loose) in old.enumerated() where !isKept[place] {
        diff.deletions.append(loose.index)
        diff.deletedRows.append(loose.row)
      }
      noteMoves(kept)
      updated.sort { $0.index < $1.index }
      diff.updates = updated.map(\.index)
      diff.updatedRows = updated.map(\.row)
      diff.replacedRows = updated.map(\.replaced)
      return diff
    }

    /// A row stays if it is still in its gap, and in order among the rows that stay.
    private mutating func noteMoves(_ kept: [(old: Loose, new: Loose)]) {
      let staying = kept.indices.filter { kept[$0].old.gap == kept[$0].new.gap }
      let increasing = ResultDiff.increasing(staying.map { kept[$0].old.index })
      var still = [Bool](repeating: false, count: kept.count)
      for (index, isMember) in zip(staying, increasing) where isMember { still[index] = true }
      diff.moves = kept.indices.filter { !still[$0] }.map {
        Move(from: kept[$0].old.index, to: kept[$0].new.index)
      }
    }
  }

  /// Whether each element belongs to a longest increasing subsequence.
  private static func increasing(_ values: [Int]) -> [Bool] {
    /// For each length, the index of the least value that ends an increasing sequence of that length.
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

  /// The identity of a row: its subject, or its values if it has no subject.
  private enum Identity: Hashable {
    case subject(Row.Subject)
    case values([TextKey: Value])
    case unreadable

    init(_ row: Row) {
      if row.subject != .nothing {
        self = .subject(row.subject)
      } else {
        do { self = .values(try row.values()) } catch { self = .unreadable }
      }
    }
  }
}

extension Row {
  /// Whether a later version of the row has the same values; rows that cannot be read differ.
  fileprivate func isUnchanged(in later: Row) -> Bool {
    if let columns, let others = later.columns { return columns == others }
    return showsSame(as: later)
  }
}
