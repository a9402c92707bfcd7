import CRDTCore

/// The order of a result: by its sort keys, then by arrival, so that pages of the result do not overlap.
struct RowOrder: Sendable {
  let isDescending: [Bool]
  private var keys: [ScalarProgram]
  /// The first key, where it is a field.
  private var firstField: ResolvedField?

  init(_ order: [SortKey], _ context: StatementContext? = nil) {
    isDescending = order.map(\.descending)
    keys = order.map { ScalarProgram($0.expression, context) }
    if case .path(let path) = order.first?.expression {
      let field = ResolvedField(path)
      if field.isInPlace { firstField = field }
    }
  }

  /// Whether rows stay in the order of their arrival.
  var isEmpty: Bool { keys.isEmpty }

  mutating func resolve(_ table: KeyTable) {
    for index in keys.indices { keys[index].resolve(table) }
    firstField?.resolve(table)
  }

  /// Reads a document's sort keys into `values`, whose memory is reused.
  func read(
    _ id: RawSpan, _ record: borrowing RecordView, _ table: KeyTable, into values: inout [Value?]
  ) throws(QueryError) {
    values.removeAll(keepingCapacity: true)
    for key in keys { values.append(try key.evaluate(id, record)) }
  }

  /// A number that distinguishes most rows without making their keys.
  ///
  /// Of two rows that differ in it, the row with the smaller number comes first.
  ///
  /// - Returns: `nil` where the first key is not read in place.
  func prefix(_ record: borrowing RecordView) -> UInt64? {
    guard let firstField else { return nil }
    guard let value = record.value(at: firstField.path) else { return turned(SortOrder.prefix(nil)) }
    return turned(SortOrder.prefix(of: value))
  }

  /// The same number for a row whose keys are already made.
  func prefix(_ keys: [Value?]) -> UInt64 { turned(SortOrder.prefix(keys.first ?? nil)) }

  private func turned(_ prefix: UInt64) -> UInt64 { isDescending.first == true ? ~prefix : prefix }

  func read(_ fields: [TextKey: Value]) throws(QueryError) -> [Value?] {
    var values: [Value?] = []
    for key in keys { values.append(try key.evaluate(fields)) }
    return values
  }

  /// Below zero if the left keys come before the right ones, zero if they are equal, else above zero.
  func compare(_ left: [Value?], _ right: [Value?]) -> Int {
    for index in isDescending.indices {
      let order = SortOrder.compare(left[index], right[index])
      if order != 0 { return isDescending[index] ? -order : order }
    }
    return 0
  }

  func precedes(_ left: SortedRow, _ right: SortedRow) -> Bool {
    let order = compare(left.keys, right.keys)
    return order != 0 ? order < 0 : left.position < right.position
  }
}

/// A row and its sort keys.
struct SortedRow: Sendable {
  var keys: [Value?] = []
  var row: Row
  /// The row's position in the order of arrival.
  var position = 0
}
