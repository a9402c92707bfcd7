import CRDTCore
import DocStore

/// Bringing the result up to date from what a commit touched, without running the query.
extension LiveQuery {
  /// Rows that are kept behind a window, so that what leaves it need not be sought in the store.
  private static let reserve = 64

  /// The rows of `held` that are shown.
  private var window: Range<Int> {
    let start = min(plan.offset, held.count)
    return start..<start + min(plan.limit ?? .max, held.count - start)
  }

  /// The number of rows that fill the window and the reserve behind it; `nil` when all are held.
  private var capacity: Int? {
    guard let limit = plan.limit else { return nil }
    let (end, overflow) = limit.addingReportingOverflow(plan.offset)
    let (capacity, overflowsToo) = end.addingReportingOverflow(Self.reserve)
    return overflow || overflowsToo ? nil : capacity
  }

  // MARK: - Running the query

  /// Reads all that is held.
  mutating func fill(from transaction: borrowing ReadTransaction) throws {
    var plan = plan
    plan.offset = 0
    plan.limit = nil
    let context = StatementContext()
    if case .countAll = plan.projection {
      total = 0
      if let collection = try transaction.collection(plan.collection) {
        try plan.forEachMatch(in: transaction, collection, context) { _, _ in
          total += 1
          return true
        }
      }
      show()
      return
    }
    if plan.distinct {
      rows = RowList(try self.plan.sortedRows(in: transaction, context).map(\.row))
      return
    }
    guard self.plan.limit != 0 else { return }
    plan.limit = capacity
    let sorted = try plan.sortedRows(in: transaction, context)
    held = RowList(sorted.map(\.row))
    heldKeys = order.isEmpty ? RowList() : RowList(sorted.map(\.keys))
    holdsAll = sorted.count < plan.limit ?? .max
    show()
  }

  /// Shows what the window has of the rows that are held, or their number.
  private mutating func show() {
    if case .countAll(let alias) = plan.projection {
      let row = Row([alias: .int(Int64(total))])
      rows = RowList([row].dropFirst(plan.offset).prefix(plan.limit ?? 1))
    } else {
      rows = window == held.startIndex..<held.endIndex ? held : held.slice(window)
    }
  }

  // MARK: - Following commits

  /// Applies the touches to what is held and shown.
  ///
  /// - Returns: False when the query has to be run again.
  /// - Complexity: O(*k* log *n*) comparisons for *k* touches.
  mutating func follow(_ touches: [Touch]) -> Bool {
    guard !plan.distinct else { return false }
    if case .countAll = plan.projection {
      for touch in touches { total += (touch.newKeys == nil ? 0 : 1) - (touch.oldKeys == nil ? 0 : 1) }
      show()
      return true
    }
    guard plan.limit != 0 else { return true }
    guard edit(touches) else { return false }
    if let capacity, !trim(to: capacity) { return false }
    show()
    return true
  }

  /// - Returns: False when a row is not where it should be.
  private mutating func edit(_ touches: [Touch]) -> Bool {
    var removals: [Int] = []
    var arrivals: [(position: Int, keys: [Value?], row: Row)] = []
    for touch in touches {
      if let keys = touch.oldKeys {
        if let index = index(of: touch.id, keys) {
          removals.append(index)
        } else if holdsAll {
          return false
        }
      }
      if let keys = touch.newKeys, let row = touch.newRow {
        let position = lowerBound(touch.id, keys)
        // Behind the last row that is held, others may stand that are not.
        if holdsAll || position < held.count { arrivals.append((position, keys, row)) }
      }
    }
    removals.sort()
    arrivals.sort { left, right in
      let comparison = order.compare(left.keys, right.keys)
      if comparison != 0 { return comparison < 0 }
      guard let leftID = left.row.id, let rightID = right.row.id else { return false }
      return leftID < rightID
    }
    held.edit(removing: removals, inserting: arrivals.map { ($0.position, $0.row) })
    if !order.isEmpty {
      heldKeys.edit(removing: removals, inserting: arrivals.map { ($0.position, $0.keys) })
    }
    return true
  }

  /// Lets go of rows far behind the window.
  ///
  /// - Returns: False when the window is not filled though there are rows that could.
  private mutating func trim(to capacity: Int) -> Bool {
    if held.count < capacity - Self.reserve { return holdsAll }
    guard held.count > capacity + Self.reserve else { return true }
    held = held.slice(0..<capacity)
    if !order.isEmpty { heldKeys = heldKeys.slice(0..<capacity) }
    holdsAll = false
    return true
  }

  /// Where a document stands; `nil` when it does not.
  private func index(of id: DocumentID, _ keys: [Value?]) -> Int? {
    let index = lowerBound(id, keys)
    return index < held.count && held[index].id == id ? index : nil
  }

  /// The index of the first row that does not come before a document with these keys.
  private func lowerBound(_ id: DocumentID, _ keys: [Value?]) -> Int {
    var low = 0
    var high = held.count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(middle, id, keys) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func isBefore(_ index: Int, _ id: DocumentID, _ keys: [Value?]) -> Bool {
    let comparison = order.isEmpty ? 0 : order.compare(heldKeys[index], keys)
    if comparison != 0 { return comparison < 0 }
    return held[index].id.map { $0 < id } ?? false
  }
}
