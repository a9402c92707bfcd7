import CRDTCore

/// The statistics of an index's rows at their last examination: row count, distinct values, distribution.
///
/// The planner chooses plans by them. The correctness of results does not depend on them, so they may be
/// stale.
public final class IndexStatistics: Sendable {
  /// The number of rows.
  public let rowCount: Int
  /// The number of distinct values of the first field, of the first two together, and so on.
  public let distinctCounts: [Int]
  /// The number of rows from one boundary to the next; before the last boundary there may be fewer.
  let depth: Int
  /// The encoded values of every `depth`-th row from the first on, and of the last row.
  let boundaries: [[UInt8]]
  /// The share of rows with one common value, for each number of fields less one.
  ///
  /// Values that occur in several boundaries are not counted.
  private let commonShares: [Double]

  /// The maximum number of boundaries.
  static let maximumBoundaries = 64

  init(
    rowCount: Int, distinctCounts: [Int], depth: Int, boundaries: [[UInt8]], descending: [Bool]
  ) {
    self.rowCount = rowCount
    self.distinctCounts = distinctCounts
    self.depth = depth
    self.boundaries = boundaries
    let interval = Double(depth) / Double(max(rowCount, 1))
    commonShares = distinctCounts.indices.map { field in
      let runs = Self.runs(of: boundaries, fields: Array(descending.prefix(field + 1)))
      let special = runs.filter { $0 > 1 }
      let share = Double(special.reduce(0, +)) * interval
      let others = max(distinctCounts[field] - special.count, 1)
      return min(max(1 - share, interval) / Double(others), 1)
    }
  }

  /// The numbers of consecutive boundaries with the same first values.
  private static func runs(of boundaries: [[UInt8]], fields: [Bool]) -> [Int] {
    var runs: [Int] = []
    var last: [UInt8]?
    for boundary in boundaries {
      let beginning = beginning(of: boundary, fields)
      if beginning == last { runs[runs.count - 1] += 1 } else { runs.append(1) }
      last = beginning
    }
    return runs
  }

  private static func beginning(of key: [UInt8], _ fields: [Bool]) -> [UInt8] {
    Array(key.prefix(end(of: fields, in: key.rawBytes)))
  }

  private static func end(of fields: [Bool], in key: RawSpan) -> Int {
    var reader = IndexKeyReader(key)
    for descending in fields where !reader.skip(descending: descending) { return key.byteCount }
    return reader.offset
  }

  // MARK: - Estimates

  /// The share of all rows between two places; `nil` is the beginning or the end.
  func share(from: [UInt8]?, to: [UInt8]?) -> Double {
    let share = (to.map(position) ?? 1) - (from.map(position) ?? 0)
    return min(max(share, leastShare), 1)
  }

  /// The share of all rows with certain first values; the two places enclose only these rows.
  func share(ofValuesFrom from: [UInt8], to: [UInt8], fields: Int) -> Double {
    let inside = place(of: to) - place(of: from)
    if inside > 1 { return min(Double(inside * depth) / Double(max(rowCount, 1)), 1) }
    guard commonShares.indices.contains(fields - 1) else { return leastShare }
    return max(commonShares[fields - 1], leastShare)
  }

  private var leastShare: Double { 0.5 / Double(max(rowCount, 1)) }

  /// The number of boundaries that are less than a key.
  private func place(of key: [UInt8]) -> Int {
    var low = 0
    var high = boundaries.count
    while low < high {
      let middle = (low + high) / 2
      let boundary = boundaries[middle]
      if boundary.rawBytes.compare(key.rawBytes) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The share of all rows that are less than a key.
  private func position(_ key: [UInt8]) -> Double {
    let place = place(of: key)
    guard place > 0 else { return 0 }
    guard place < boundaries.count else { return 1 }
    let (lower, upper) = (boundaries[place - 1], boundaries[place])
    let inside = Self.proportion(key, between: lower, and: upper)
    let rows = place == boundaries.count - 1 ? rowCount - (place - 1) * depth : depth
    return min((Double((place - 1) * depth) + inside * Double(rows)) / Double(max(rowCount, 1)), 1)
  }

  /// The position of a key between two others, from 0 to 1, assuming an even distribution.
  private static func proportion(_ key: [UInt8], between lower: [UInt8], and upper: [UInt8]) -> Double {
    let common = zip(lower, upper).prefix { $0 == $1 }.count
    func number(_ bytes: [UInt8]) -> Double {
      (common..<common + 8).reduce(0) { $0 * 256 + Double(bytes.indices.contains($1) ? bytes[$1] : 0) }
    }
    let width = number(upper) - number(lower)
    guard width > 0 else { return 0.5 }
    return min(max((number(key) - number(lower)) / width, 0), 1)
  }
}

extension IndexStatistics: Hashable {
  public static func == (left: IndexStatistics, right: IndexStatistics) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension IndexInfo {
  /// The estimated share of all rows between two bounds.
  ///
  /// - Returns: `nil` if the index has no statistics.
  public func share(from: IndexBound?, to: IndexBound?) -> Double? {
    guard let statistics else { return nil }
    let (start, end) = (from.map(place), to.map(place))
    if let from, let to, let start, let end, from.values == to.values, !from.isPrefix, !to.isPrefix,
      !from.isAfter, to.isAfter
    {
      return statistics.share(ofValuesFrom: start, to: end, fields: from.values.count)
    }
    return statistics.share(from: start, to: end)
  }

  /// The encoded values of a bound, without the index's number.
  private func place(_ bound: IndexBound) -> [UInt8] {
    let number = OrderedInteger.bytes(UInt64(self.number)).count
    return Array(key(bound, isEnd: bound.isAfter).dropFirst(number))
  }
}

// MARK: - On disk

extension IndexStatistics {
  /// The key of an index's statistics; the key without the last byte is that of its definition.
  static func key(_ number: UInt32) -> [UInt8] { IndexState.key(number) + [1] }

  func encode() -> [UInt8] {
    var writer = ByteWriter(capacity: 64 + boundaries.reduce(0) { $0 + $1.count + 2 })
    writer.writeVarint(rowCount)
    writer.writeVarint(depth)
    writer.writeVarint(distinctCounts.count)
    for count in distinctCounts { writer.writeVarint(count) }
    writer.writeVarint(boundaries.count)
    for boundary in boundaries { writer.writeBlob(boundary) }
    return writer.bytes
  }

  /// Reads the statistics of an index; fails if they are invalid for the definition.
  convenience init(_ reader: inout ByteReader, of definition: IndexDefinition) throws(CodecError) {
    let rowCount = Int(clamping: try reader.readVarint())
    let depth = Int(clamping: try reader.readVarint())
    var distinctCounts: [Int] = []
    for _ in 0..<(try reader.readCount()) { distinctCounts.append(Int(clamping: try reader.readVarint())) }
    var boundaries: [[UInt8]] = []
    for _ in 0..<(try reader.readCount()) {
      let boundary = try reader.readBlob()
      boundaries.append(unsafe boundary.withUnsafeBytes { unsafe Array($0) })
    }
    let areOrdered = zip(boundaries, boundaries.dropFirst()).allSatisfy {
      $0.rawBytes.compare($1.rawBytes) <= 0
    }
    let areCountsRight =
      distinctCounts.count == definition.fields.count && (distinctCounts.last ?? 0) <= rowCount
      && zip(distinctCounts, distinctCounts.dropFirst()).allSatisfy { $0 <= $1 }
    guard reader.isAtEnd, areOrdered, areCountsRight, rowCount < 1 << 56, depth > 0, depth <= rowCount,
      (1...Self.maximumBoundaries).contains(boundaries.count),
      (boundaries.count - 1) * depth < rowCount + depth
    else { throw reader.failure(.malformed, "the statistics of an index contradict themselves") }
    self.init(
      rowCount: rowCount, distinctCounts: distinctCounts, depth: depth, boundaries: boundaries,
      descending: definition.fields.map(\.isDescending))
  }
}
