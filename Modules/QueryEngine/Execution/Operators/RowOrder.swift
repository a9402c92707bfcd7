import CRDTCore

/// The order of a result: by its sort keys, then as the rows arrived, so that pages of it do not overlap.
struct RowOrder: Sendable {
  let isDescending: [Bool]
  private var keys: [RecordExpression]

  init(_ order: [SortKey], _ context: StatementContext? = nil) {
    isDescending = order.map(\.descending)
    keys = order.map { RecordExpression($0.expression, context) }
  }

  /// Whether rows stand as they arrived.
  var isEmpty: Bool { keys.isEmpty }

  mutating func resolve(_ table: KeyTable) {
    for index in keys.indices { keys[index].resolve(table) }
  }

  /// Puts a document's sort keys into `values`, whose memory is used again.
  func read(
    _ id: RawSpan, _ record: borrowing RecordView, _ table: KeyTable, into values: inout [Value?]
  ) throws(QueryError) {
    values.removeAll(keepingCapacity: true)
    for key in keys { values.append(try key.evaluate(id, record, table)) }
  }

  func read(_ fields: [String: Value]) throws(QueryError) -> [Value?] {
    var values: [Value?] = []
    for key in keys { values.append(try key.evaluate(fields)) }
    return values
  }

  /// Below, equal to or above zero as the left keys come before, with or after the right ones.
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

/// A row and what it is sorted by.
struct SortedRow: Sendable {
  var keys: [Value?] = []
  var row: Row
  /// The row's place in the order of arrival.
  var position = 0
}
