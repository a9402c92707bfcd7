import CRDTCore
import QueryEngine

/// Documents as values, and the results of statements on them by the evaluator of expressions alone.
///
/// It uses no index, and nothing that reads records in place.
struct ReferenceDocuments {
  var documents: [DocumentID: [TextKey: Value]] = [:]

  func value(_ path: FieldPath, _ id: DocumentID) -> Value? {
    path.first == .key("_id")
      ? id.value.value(at: path.dropFirst()) : Value.map(documents[id] ?? [:]).value(at: path)
  }

  /// The document with its id.
  func row(_ id: DocumentID) -> [TextKey: Value] {
    (documents[id] ?? [:]).merging(["_id": id.value]) { $1 }
  }

  func evaluate(_ expression: Expression, _ id: DocumentID) throws -> Value? {
    try Evaluator.evaluate(expression, row: { value($0, id) })
  }

  /// The documents that a filter keeps.
  func accepted(_ predicate: Expression?) throws -> [DocumentID] {
    guard let predicate else { return Array(documents.keys) }
    return try documents.keys.filter { id in try Evaluator.matches(predicate) { value($0, id) } }
  }
}

/// What a query has to answer.
struct ExpectedRows {
  let select: Select
  /// Those that the filter keeps, whatever OFFSET and LIMIT say.
  private(set) var rows: [[TextKey: Value]] = []

  init(_ select: Select, _ reference: ReferenceDocuments) throws {
    self.select = select
    let accepted = try reference.accepted(select.predicate)
    switch select.projection {
    case .countAll(let alias): rows = [[alias: .int(Int64(accepted.count))]]
    case .columns(let columns) where columns.contains(where: { $0.expression.isAggregate }):
      rows = try ReferenceGroups(select.groups, columns).rows(accepted, reference)
    case .columns(let columns):
      rows = try accepted.map { id in
        var row: [TextKey: Value] = [:]
        for column in columns { row[column.name] = try reference.evaluate(column.expression, id) }
        return row
      }
    case .all, .elements: rows = accepted.map { reference.row($0) }
    }
    if select.distinct {
      var seen: Set<Value> = []
      rows = rows.filter { seen.insert(Value.map($0).levelled).inserted }
    }
  }

  private var bounds: (offset: Int, limit: Int) {
    func number(_ expression: Expression?) -> Int? {
      if case .literal(.int(let number)) = expression { Int(number) } else { nil }
    }
    return (number(select.offset) ?? 0, number(select.limit) ?? .max)
  }

  /// What is wrong with an answer; `nil` when it is right.
  func fault(of found: [[TextKey: Value]]) -> String? {
    let (offset, limit) = bounds
    let count = min(max(rows.count - offset, 0), limit)
    guard found.count == count else { return "\(found.count) rows in place of \(count)" }
    var left: [Value: Int] = [:]
    for row in rows { left[Value.map(row).levelled(if: showsAnyOfEqual), default: 0] += 1 }
    for row in found {
      let key = Value.map(row).levelled(if: showsAnyOfEqual)
      guard let count = left[key], count > 0 else { return "the row \(row) too often" }
      left[key] = count - 1
    }
    guard !select.order.isEmpty else { return nil }
    let expected = rows.map(keys).sorted { compare($0, $1) < 0 }.dropFirst(offset).prefix(limit)
    for (row, keys) in zip(found, expected) where compare(self.keys(row), keys) != 0 {
      return "the row \(row) at a place of the keys \(keys)"
    }
    return nil
  }

  /// Whether one of several equal numbers stands for all of them.
  private var showsAnyOfEqual: Bool {
    guard case .columns(let columns) = select.projection else { return select.distinct }
    return select.distinct || columns.contains { $0.expression.isAggregate }
  }

  /// The keys of ORDER BY, which are all among what a row shows.
  private func keys(_ row: [TextKey: Value]) -> [Value?] {
    select.order.map { key in
      if case .columns(let columns) = select.projection {
        return columns.first { $0.expression == key.expression }.flatMap { row[$0.name] }
      }
      if case .path(let path) = key.expression { return Value.map(row).value(at: path) }
      return nil
    }
  }

  private func compare(_ left: [Value?], _ right: [Value?]) -> Int {
    for (place, key) in select.order.enumerated() {
      let order = SortOrder.compare(left[place], right[place])
      if order != 0 { return key.descending ? -order : order }
    }
    return 0
  }
}

/// Groups and aggregates, worked out one value at a time.
struct ReferenceGroups {
  private let keys: [Expression]
  private let columns: [Select.Column]

  init(_ keys: [Expression], _ columns: [Select.Column]) {
    self.keys = keys
    self.columns = columns
  }

  func rows(_ accepted: [DocumentID], _ reference: ReferenceDocuments) throws -> [[TextKey: Value]] {
    var groups: [[Value?]: [DocumentID]] = keys.isEmpty ? [[]: []] : [:]
    for id in accepted {
      let key = try keys.map { try reference.evaluate($0, id)?.levelled }
      groups[key, default: []].append(id)
    }
    return try groups.map { key, ids in
      var row: [TextKey: Value] = [:]
      for column in columns {
        if case .aggregate(let aggregate, distinct: _, let operand) = column.expression {
          row[column.name] = try result(aggregate, operand, ids, reference)
        } else if let place = keys.firstIndex(of: column.expression) {
          row[column.name] = key[place]
        }
      }
      return row
    }
  }

  private func result(
    _ aggregate: Aggregate, _ operand: Expression?, _ ids: [DocumentID], _ reference: ReferenceDocuments
  ) throws -> Value? {
    guard let operand else { return .int(Int64(ids.count)) }
    let values = try ids.compactMap { try reference.evaluate(operand, $0) }.filter { $0 != .null }
    switch aggregate {
    case .count: return .int(Int64(values.count { $0 != .bool(false) }))
    case .min: return values.min { SortOrder.compare($0, $1) < 0 }
    case .max: return values.max { SortOrder.compare($0, $1) < 0 }
    // Only of integers.
    case .sum: return values.isEmpty ? nil : .int(values.reduce(0) { $0 &+ ($1.wholeNumber ?? 0) })
    case .avg, .median, .mid: return nil
    }
  }
}

extension Expression {
  var isAggregate: Bool {
    if case .aggregate = self { true } else { false }
  }
}

extension Value {
  fileprivate var wholeNumber: Int64? {
    switch self {
    case .int(let number), .counter(let number): number
    case .null, .bool, .double, .string, .bytes, .array, .map, .attachment, .decimal: nil
    }
  }

  fileprivate func levelled(if isWanted: Bool) -> Value { isWanted ? levelled : self }

  /// The same for numbers that are equal by value.
  var levelled: Value {
    switch self {
    case .counter(let number): .int(number)
    case .double(let number): Int64(exactly: number).map { .int($0) } ?? .double(number)
    case .map(let members): .map(members.mapValues(\.levelled))
    case .array(let elements): .array(elements.map(\.levelled))
    case .null, .bool, .int, .string, .bytes, .attachment, .decimal: self
    }
  }
}
