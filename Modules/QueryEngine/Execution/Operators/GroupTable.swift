import CRDTCore

/// The groups of a query, in the order in which their first rows arrived.
struct GroupTable {
  private let keys: [FrameExpression]
  private let operands: [FrameExpression?]
  private let calls: [Grouping.Call]
  private let condition: FrameExpression?
  private let context: StatementContext
  private var groups: [(keys: [Value?], accumulators: [Accumulator], rowCount: Int64)] = []
  private var places = KeySet()
  /// The key of the row that is being added; its memory is reused.
  private var key: [UInt8] = []

  init(_ grouping: Grouping, _ context: StatementContext) {
    keys = grouping.keys.map { FrameExpression($0, context) }
    calls = grouping.calls
    operands = grouping.calls.map { $0.operand.map { FrameExpression($0, context) } }
    condition = grouping.condition.map { FrameExpression($0, context) }
    self.context = context
    // Without keys all rows are one group, even if there are no rows.
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
    key.removeAll(keepingCapacity: true)
    for value in values { KeyBytes.append(value, to: &key) }
    let (place, isNew) = places.insert(key)
    if isNew { try append(values) }
    return place
  }

  private mutating func append(_ values: [Value?]) throws(QueryError) {
    try context.reserve(values.memoryBytes + 64 + 96 * calls.count)
    groups.append((values.map { $0?.withoutCounter }, Self.accumulators(calls), 0))
  }

  /// Adds a document to its group, with the values that programs read from its record.
  mutating func add(
    _ document: borrowing DocumentView, _ keys: [ScalarProgram], _ operands: [ScalarProgram?]
  ) throws(QueryError) {
    var scratch = ScalarScratch()
    let place = try place(of: document, keys, &scratch)
    groups[place].rowCount += 1
    var bytes = 0
    for index in operands.indices {
      guard let operand = operands[index] else { continue }
      let scalar = try operand.scalar(0, document, &scratch)
      var value = scalar.plainValue
      if !scalar.isPlain {
        // COUNT needs no value, only whether there is one.
        value =
          calls[index].aggregate == .count && !calls[index].distinct
          ? .bool(true) : try operand.value(of: scalar, document, scratch)
      }
      if groups[place].accumulators[index].add(value), let value { bytes += value.memoryBytes + 32 }
    }
    if bytes > 0 { try context.reserve(bytes) }
  }

  private mutating func place(
    of document: borrowing DocumentView, _ keys: [ScalarProgram], _ scratch: inout ScalarScratch
  ) throws(QueryError) -> Int {
    if keys.isEmpty { return 0 }
    key.removeAll(keepingCapacity: true)
    for program in keys {
      let scalar = try program.scalar(0, document, &scratch)
      try program.appendKey(of: scalar, document, scratch, to: &key)
    }
    let (place, isNew) = places.insert(key)
    if isNew {
      var values: [Value?] = []
      for program in keys {
        let scalar = try program.scalar(0, document, &scratch)
        values.append(try program.value(of: scalar, document, scratch))
      }
      try append(values)
    }
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
