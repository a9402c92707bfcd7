import CRDTCore

/// Rows in a total order, and the window of them that is shown.
///
/// With LIMIT, not all rows need be held. A reserve after the window avoids reads of the store when some rows
/// leave it.
struct LiveRows: Sendable {
  /// The place of a row in the order: its keys, then the id of its document if it has one.
  struct Place {
    let keys: [Value?]
    var id: DocumentID?
  }

  /// The number of rows that are kept after a window.
  private static let reserve = 64

  private let isDescending: [Bool]
  private let offset: Int
  private let limit: Int?
  /// The number of rows in the window and the reserve after it; `nil` when all are held.
  let capacity: Int?
  private var held = RowList<Row>()
  /// The keys of `held`; empty when there are none.
  private var heldKeys = RowList<[Value?]>()
  /// Whether `held` contains all rows.
  private var holdsAll = true
  /// The rows that are shown.
  private(set) var shown = RowList<Row>()

  /// - Parameters:
  ///   - isDescending: The direction of each key.
  ///   - offset: The number of rows before the first that is shown.
  ///   - limit: The number of rows that are shown; `nil` for all.
  ///   - holdsAll: Whether rows far after the window are held, too.
  init(_ isDescending: [Bool], offset: Int, limit: Int?, holdsAll: Bool) {
    self.isDescending = isDescending
    self.offset = offset
    self.limit = limit
    guard let limit, !holdsAll else {
      capacity = nil
      return
    }
    let (end, overflow) = limit.addingReportingOverflow(offset)
    let (capacity, overflowsToo) = end.addingReportingOverflow(Self.reserve)
    self.capacity = overflow || overflowsToo ? nil : capacity
  }

  /// Replaces the rows that are held.
  ///
  /// - Parameters:
  ///   - rows: In order; not more than fit.
  ///   - isAll: Whether there are no others.
  mutating func fill(_ rows: [(keys: [Value?], row: Row)], isAll: Bool) {
    held = RowList(rows.lazy.map(\.row))
    heldKeys = isDescending.isEmpty ? RowList() : RowList(rows.lazy.map(\.keys))
    holdsAll = isAll
    show()
  }

  /// Whether the first place comes before the second one.
  func precedes(_ left: Place, _ right: Place) -> Bool {
    let comparison = compare(left.keys, right.keys)
    if comparison != 0 { return comparison < 0 }
    guard let leftID = left.id, let rightID = right.id else { return false }
    return leftID < rightID
  }

  /// Below zero if the left keys come before the right ones, zero if they are equal, else above zero.
  func compare(_ left: [Value?], _ right: [Value?]) -> Int {
    for index in isDescending.indices {
      let order = SortOrder.compare(left[index], right[index])
      if order != 0 { return isDescending[index] ? -order : order }
    }
    return 0
  }

  /// Removes rows and inserts others.
  ///
  /// - Returns: `stale` when a row is not at its place, or when the window is not full though there are more
  ///   rows.
  /// - Complexity: O(*k* log *n* + *n* / 128) for *k* rows.
  mutating func edit(
    removing removed: [Place], inserting inserted: [(place: Place, row: Row)]
  ) -> LiveProgress {
    guard limit != 0 else { return .followed() }
    var removals: [Int] = []
    for place in removed {
      if let index = index(of: place) { removals.append(index) } else if holdsAll { return .stale }
    }
    var arrivals: [(index: Int, place: Place, row: Row)] = []
    for (place, row) in inserted {
      let index = lowerBound(place)
      // After the last row that is held, there may be others that are not held.
      if holdsAll || index < held.count { arrivals.append((index, place, row)) }
    }
    removals.sort()
    arrivals.sort { precedes($0.place, $1.place) }
    let diff = difference(removing: removals, inserting: arrivals.map { ($0.index, $0.row) })
    held.edit(removing: removals, inserting: arrivals.map { ($0.index, $0.row) })
    if !isDescending.isEmpty {
      heldKeys.edit(removing: removals, inserting: arrivals.map { ($0.index, $0.place.keys) })
    }
    if let capacity, !trim(to: capacity) { return .stale }
    show()
    return .followed(diff)
  }

  /// The changes of an edit of one row; `nil` for larger edits, and with LIMIT or OFFSET.
  private func difference(
    removing removals: [Int], inserting arrivals: [(index: Int, row: Row)]
  ) -> ResultDiff? {
    guard limit == nil, offset == 0, removals.count <= 1, arrivals.count <= 1 else { return nil }
    let removed = removals.first.map { ($0, held[$0]) }
    let inserted = arrivals.first.map { index, row in
      (removals.contains { $0 < index } ? index - 1 : index, row)
    }
    return ResultDiff(removing: removed, inserting: inserted)
  }

  private mutating func show() {
    let start = min(offset, held.count)
    let window = start..<start + min(limit ?? .max, held.count - start)
    shown = window == held.startIndex..<held.endIndex ? held : held.slice(window)
  }

  /// Drops rows far after the window.
  private mutating func trim(to capacity: Int) -> Bool {
    if held.count < capacity - Self.reserve { return holdsAll }
    guard held.count > capacity + Self.reserve else { return true }
    held = held.slice(0..<capacity)
    if !isDescending.isEmpty { heldKeys = heldKeys.slice(0..<capacity) }
    holdsAll = false
    return true
  }

  private func index(of place: Place) -> Int? {
    let index = lowerBound(place)
    guard index < held.count, held[index].id == place.id else { return nil }
    return isDescending.isEmpty || compare(heldKeys[index], place.keys) == 0 ? index : nil
  }

  /// The index of the first row that does not come before the place.
  private func lowerBound(_ place: Place) -> Int {
    var low = 0
    var high = held.count
    while low < high {
      let middle = (low + high) / 2
      let other = Place(keys: isDescending.isEmpty ? [] : heldKeys[middle], id: held[middle].id)
      if precedes(other, place) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
