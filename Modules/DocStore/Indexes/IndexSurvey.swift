import CRDTCore

/// Examines the rows of an index in slices, and computes their statistics.
///
/// Other transactions write between slices, so the result does not describe any one moment.
struct IndexSurvey {
  private let index: IndexInfo
  private var rowCount = 0
  private var distinctCounts: [Int]
  private var depth: Int
  private var boundaries: [[UInt8]] = []
  /// The values of the previous row, and where each of its fields ends.
  private var values: [UInt8] = []
  private var ends: [Int] = []
  /// The key of that row; the next slice begins behind it.
  private var last: [UInt8]

  /// The number of rows between checks of the clock.
  private static let pace = 1_024

  init(_ index: IndexInfo) {
    self.index = index
    distinctCounts = Array(repeating: 0, count: index.definition.fields.count)
    depth = max((index.rowCount + Self.intervals - 1) / Self.intervals, 1)
    last = RowValue.prefix(index.number)
  }

  private static var intervals: Int { IndexStatistics.maximumBoundaries - 2 }

  /// Continues until `isTimeUp`.
  ///
  /// - Returns: Whether rows are left.
  mutating func read(_ access: PageAccess, _ tables: Tables, until isTimeUp: () -> Bool) throws -> Bool {
    let cursor = try RowCursor(access, tables.rows)
    let end = index.key(nil, isEnd: true)
    let start = last
    var hasMore = false
    try cursor.scan(from: start.rawBytes, to: end.rawBytes, reversed: false) { key, value in
      if key.isEqual(to: start.rawBytes) { return true }
      guard let row = IndexRow(key: key, value: value) else {
        throw DocumentPages.damagedRow(index.definition)
      }
      note(row.values)
      guard rowCount % Self.pace == 0, isTimeUp() else { return true }
      last = unsafe key.withUnsafeBytes { unsafe Array($0) }
      hasMore = true
      return false
    }
    return hasMore
  }

  private mutating func note(_ row: RawSpan) {
    let isNew = rowCount == 0 || !row.isEqual(to: values.rawBytes)
    if isNew { noteValues(row) }
    if rowCount % depth == 0 { boundaries.append(values) }
    rowCount += 1
    if boundaries.count == IndexStatistics.maximumBoundaries { thinOut() }
  }

  private mutating func noteValues(_ row: RawSpan) {
    let common = commonBytes(row)
    let equal = rowCount == 0 ? 0 : ends.prefix { $0 <= common }.count
    for field in equal..<distinctCounts.count { distinctCounts[field] += 1 }
    values.removeAll(keepingCapacity: true)
    unsafe row.withUnsafeBytes { unsafe values.append(contentsOf: $0) }
    var reader = IndexKeyReader(row)
    ends.removeAll(keepingCapacity: true)
    for field in index.definition.fields {
      // A value that was cut off counts as distinct if the rest is.
      ends.append(reader.skip(descending: field.isDescending) ? reader.offset : row.byteCount)
    }
  }

  private func commonBytes(_ row: RawSpan) -> Int {
    let count = min(row.byteCount, values.count)
    let known = values.span
    for place in 0..<count
    where unsafe row.unsafeLoadUnaligned(fromByteOffset: place, as: UInt8.self) != known[place] {
      return place
    }
    return count
  }

  /// Drops every second boundary, because there are more rows than expected.
  private mutating func thinOut() {
    boundaries = boundaries.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
    depth *= 2
  }

  /// The result; `nil` if there are fewer rows than `minimum`, so that every plan is fast.
  func statistics(minimum: Int) -> IndexStatistics? {
    guard rowCount >= max(minimum, 1) else { return nil }
    var boundaries = boundaries
    if (rowCount - 1) % depth != 0 { boundaries.append(values) }
    return IndexStatistics(
      rowCount: rowCount, distinctCounts: distinctCounts, depth: depth, boundaries: boundaries,
      descending: index.definition.fields.map(\.isDescending))
  }
}
