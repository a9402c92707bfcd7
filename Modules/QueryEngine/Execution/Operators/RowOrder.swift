import CRDTCore

/// The order of a result: by its sort keys, then as the rows arrived, so that pages of it do not overlap.
struct RowOrder: Sendable {
  let isDescending: [Bool]
  private var keys: [ScalarProgram]
  /// The field that is the first key, where it is one.
  private var firstField: ResolvedField?

  init(_ order: [SortKey], _ context: StatementContext? = nil) {
    isDescending = order.map(\.descending)
    keys = order.map { ScalarProgram($0.expression, context) }
    if case .path(let path) = order.first?.expression {
      let field = ResolvedField(path)
      if field.isInPlace { firstField = field }
    }
  }

  /// Whether rows stand as they arrived.
  var isEmpty: Bool { keys.isEmpty }

  mutating func resolve(_ table: KeyTable) {
    for index in keys.indices { keys[index].resolve(table) }
    firstField?.resolve(table)
  }

  /// Puts a document's sort keys into `values`, whose memory is used again.
  func read(
    _ id: RawSpan, _ record: borrowing RecordView, _ table: KeyTable, into values: inout [Value?]
  ) throws(QueryError) {
    values.removeAll(keepingCapacity: true)
    for key in keys { values.append(try key.evaluate(id, record)) }
  }

  /// A number by which most rows can be told apart without making their keys: of two rows that differ in it,
  /// the one with the smaller number comes first.
  ///
  /// - Returns: `nil` where the first key is not read in place.
  func prefix(_ record: borrowing RecordView) -> UInt64? {
    guard let firstField else { return nil }
    guard let value = record.value(at: firstField.path) else { return turned(SortOrder.prefix(nil)) }
    return turned(SortOrder.prefix(of: value))
  }

  /// The same number of a row whose keys are made.
  func prefix(_ keys: [Value?]) -> UInt64 { turned(SortOrder.prefix(keys.first ?? nil)) }

  private func turned(_ prefix: UInt64) -> UInt64 { isDescending.first == true ? ~prefix : prefix }

  func read(_ fields: [TextKey: Value]) throws(QueryError) -> [Value?] {
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
