import CRDTCore

/// Bringing the result up to date from what a commit touched, without running the query.
extension LiveQuery {
  /// A touched document that leaves its place, takes one, or both.
  private struct Edit {
    /// Its index in the previous result.
    var old: Int?
    /// What comes in its stead, and before which previous index.
    var arrival: (keys: [Value?], row: Row, position: Int)?
  }

  /// Applies the touches in place.
  ///
  /// - Returns: The diff, which may be empty; `nil` when the query has to be run again.
  /// - Complexity: O(*k* log *n*) comparisons for *k* touches, plus the rows between the first and the last.
  mutating func splice(_ touches: [Touch]) -> ResultDiff? {
    guard !plan.distinct else { return nil }
    if case .countAll = plan.projection { return nil }
    guard plan.limit != 0 else { return ResultDiff() }
    guard let relevant = undisturbed(touches) else { return nil }
    var edits: [Edit] = []
    for touch in relevant {
      var edit = Edit()
      if let keys = touch.oldKeys {
        guard let index = index(of: touch.id, keys) else { return nil }
        edit.old = index
      }
      if let keys = touch.newKeys, let row = touch.newRow {
        edit.arrival = (keys, row, lowerBound(touch.id, keys))
      }
      edits.append(edit)
    }
    return apply(edits)
  }

  /// The touches that concern rows of the result; `nil` when documents may enter or leave past its ends.
  private func undisturbed(_ touches: [Touch]) -> [Touch]? {
    guard plan.limit != nil || plan.offset > 0 else { return touches }
    let limit = plan.limit ?? .max
    let arrivals = touches.count { $0.oldKeys == nil }
    // Everything that matches is in the window, and still is afterwards.
    if plan.offset == 0, rows.count < limit, rows.count + arrivals <= limit { return touches }
    guard rows.count == limit else { return nil }
    var relevant: [Touch] = []
    for touch in touches {
      if let old = touch.oldKeys, let new = touch.newKeys, order.compare(old, new) == 0,
        index(of: touch.id, old) != nil
      {
        relevant.append(touch)
        continue
      }
      for keys in [touch.oldKeys, touch.newKeys].compactMap({ $0 }) {
        guard lowerBound(touch.id, keys) == rows.count else { return nil }
      }
    }
    return relevant
  }

  private mutating func apply(_ edits: [Edit]) -> ResultDiff {
    let leaving = Dictionary(
      edits.enumerated().compactMap { offset, edit in edit.old.map { ($0, offset) } },
      uniquingKeysWith: { $1 })
    let arriving = edits.indices.filter { edits[$0].arrival != nil }.sorted { precedes(edits[$0], edits[$1]) }
    let places =
      leaving.keys.map { $0..<$0 + 1 } + edits.compactMap { $0.arrival.map { $0.position..<$0.position } }
    guard let start = places.map(\.lowerBound).min(), let end = places.map(\.upperBound).max() else {
      return ResultDiff()
    }
    var merge = Merge(start: start, end: end, leaving: Set(leaving.keys))
    var next = arriving.startIndex
    for index in start...end {
      while next < arriving.endIndex, let arrival = edits[arriving[next]].arrival, arrival.position == index {
        merge.arrive(arrival.row, arrival.keys, from: edits[arriving[next]].old, before: index, rows)
        next += 1
      }
      if index < end { merge.pass(index, rows, sortKeys) }
    }
    merge.leave(edits.compactMap { $0.arrival == nil ? $0.old : nil }.sorted(), rows)
    rows.replaceSubrange(start..<end, with: merge.rows)
    if !order.isEmpty { sortKeys.replaceSubrange(start..<end, with: merge.keys) }
    return merge.diff
  }

  private func precedes(_ left: Edit, _ right: Edit) -> Bool {
    guard let left = left.arrival, let right = right.arrival else { return false }
    let comparison = order.compare(left.keys, right.keys)
    if comparison != 0 { return comparison < 0 }
    guard let leftID = left.row.id, let rightID = right.row.id else { return false }
    return leftID < rightID
  }

  /// Where a document stands; `nil` when it does not.
  private func index(of id: DocumentID, _ keys: [Value?]) -> Int? {
    let index = lowerBound(id, keys)
    return index < rows.count && rows[index].id == id ? index : nil
  }

  /// The index of the first row that does not come before a document with these keys.
  private func lowerBound(_ id: DocumentID, _ keys: [Value?]) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(middle, id, keys) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func isBefore(_ index: Int, _ id: DocumentID, _ keys: [Value?]) -> Bool {
    let comparison = order.isEmpty ? 0 : order.compare(sortKeys[index], keys)
    if comparison != 0 { return comparison < 0 }
    return rows[index].id.map { $0 < id } ?? false
  }
}

/// The part of a result between the first and the last place that changes, as it is made anew.
private struct Merge {
  private(set) var rows: [Row] = []
  private(set) var keys: [[Value?]] = []
  private(set) var diff = ResultDiff()
  private let start: Int
  private let leaving: Set<Int>
  /// For each index, the first from there on that does not leave.
  private var nextStaying: [Int]
  /// The previous index of the last row here that did not move.
  private var lastStaying = -1

  init(start: Int, end: Int, leaving: Set<Int>) {
    self.start = start
    self.leaving = leaving
    nextStaying = Array(start...end)
    for index in nextStaying.indices.dropLast().reversed() where leaving.contains(start + index) {
      nextStaying[index] = nextStaying[index + 1]
    }
  }

  /// A row that no edit concerns.
  mutating func pass(_ index: Int, _ old: [Row], _ oldKeys: [[Value?]]) {
    guard !leaving.contains(index) else { return }
    rows.append(old[index])
    if !oldKeys.isEmpty { keys.append(oldKeys[index]) }
    lastStaying = index
  }

  /// A row that comes in before the previous index `position`, new or from elsewhere.
  mutating func arrive(
    _ row: Row, _ rowKeys: [Value?], from previous: Int?, before position: Int, _ old: [Row]
  ) {
    let index = start + rows.count
    rows.append(row)
    keys.append(rowKeys)
    guard let previous else {
      diff.insertions.append(index)
      diff.insertedRows.append(row)
      return
    }
    if lastStaying < previous, previous < nextStaying[position - start] {
      lastStaying = previous
    } else {
      diff.moves.append(ResultDiff.Move(from: previous, to: index))
    }
    if !row.showsSame(as: old[previous]) {
      diff.updates.append(index)
      diff.updatedRows.append(row)
      diff.replacedRows.append(old[previous])
    }
  }

  mutating func leave(_ indexes: [Int], _ old: [Row]) {
    diff.deletions = indexes
    diff.deletedRows = indexes.map { old[$0] }
  }
}
