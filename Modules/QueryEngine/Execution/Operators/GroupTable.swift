import CRDTCore

/// The groups of a query, in the order in which their first rows came.
struct GroupTable {
  private let keys: [FrameExpression]
  private let operands: [FrameExpression?]
  private let calls: [Grouping.Call]
  private let condition: FrameExpression?
  private let context: StatementContext
  private var groups: [(keys: [Value?], accumulators: [Accumulator], rowCount: Int64)] = []
  private var places: [[ValueKey]: Int] = [:]

  init(_ grouping: Grouping, _ context: StatementContext) {
    keys = grouping.keys.map { FrameExpression($0, context) }
    calls = grouping.calls
    operands = grouping.calls.map { $0.operand.map { FrameExpression($0, context) } }
    condition = grouping.condition.map { FrameExpression($0, context) }
    self.context = context
    // Without keys all rows are one group, also when there are none.
    if keys.isEmpty { groups.append(([], Self.accumulators(calls), 0)) }
  }

  private static func accumulators(_ calls: [Grouping.Call]) -> [Accumulator] {
    calls.map { Accumulator($0.aggregate, distinct: $0.distinct) }
  }

  var count: Int { groups.count }

  /// Adds a row to its group.
  ///
  /// - Throws: `limit` when the groups take more memory than the statement may have.
  mutating func add(_ frame: Frame) throws(QueryError) {
    let place = try place(of: frame)
    groups[place].rowCount += 1
    var bytes = 0
    for index in operands.indices {
      guard let operand = operands[index] else { continue }
      let value = try operand.evaluate(frame)
      if groups[place].accumulators[index].add(value), let value { bytes += value.memoryBytes + 32 }
    }
    if bytes > 0 { try context.reserve(bytes) }
  }

  private mutating func place(of frame: Frame) throws(QueryError) -> Int {
    if keys.isEmpty { return 0 }
    var values: [Value?] = []
    values.reserveCapacity(keys.count)
    for key in keys { values.append(try key.evaluate(frame)) }
    let key = values.map { ValueKey($0) }
    if let place = places[key] { return place }
    try context.reserve(values.memoryBytes + 64 + 96 * calls.count)
    let place = groups.count
    places[key] = place
    groups.append((values.map { $0?.withoutCounter }, Self.accumulators(calls), 0))
    return place
  }

  /// The frames of the groups that satisfy HAVING: their keys, then their aggregates.
  mutating func frames() throws(QueryError) -> [Frame] {
    var frames: [Frame] = []
    for place in groups.indices {
      var frame = groups[place].keys
      for index in calls.indices {
        frame.append(
          calls[index].operand == nil
            ? .int(groups[place].rowCount) : groups[place].accumulators[index].result())
      }
      if try condition?.accepts(frame) ?? true { frames.append(frame) }
    }
    return frames
  }
}
