import CRDTCore

/// Turns expressions over documents into expressions over groups: keys and aggregates become slots.
struct Grouper {
  private let keys: [Expression]
  private var calls: [Grouping.Call] = []
  /// The condition on groups, already over groups.
  var condition: Expression?

  init(keys: [Expression]) { self.keys = keys }

  /// - Throws: `syntax` for a field that is not part of a key, and for an aggregate inside an aggregate.
  mutating func grouped(_ expression: Expression) throws(QueryError) -> Expression {
    if let key = keys.firstIndex(of: expression) { return .path([.index(key)]) }
    switch expression {
    case .aggregate(let aggregate, let distinct, let operand):
      if let operand, operand.hasAggregate {
        throw QueryError(.syntax, "an aggregate cannot stand inside an aggregate")
      }
      let call = Grouping.Call(aggregate: aggregate, distinct: distinct, operand: operand)
      let index = calls.firstIndex(of: call) ?? calls.count
      if index == calls.count { calls.append(call) }
      return .path([.index(keys.count + index)])
    case .path: throw Self.ungrouped("a column")
    default:
      // A closure cannot change a struct that is being changed here, so a copy collects the calls.
      var grouper = self
      let result = try expression.mapChildren { (child) throws(QueryError) -> Expression in
        try grouper.grouped(child)
      }
      self = grouper
      return result
    }
  }

  func grouping(_ arguments: [TextKey: Value]) throws(QueryError) -> Grouping {
    var grouping = Grouping(keys: [], calls: calls, condition: try condition?.binding(arguments))
    for key in keys { grouping.keys.append(try key.binding(arguments)) }
    for index in calls.indices {
      grouping.calls[index].operand = try calls[index].operand?.binding(arguments)
    }
    return grouping
  }

  static func ungrouped(_ name: String) -> QueryError {
    QueryError(.syntax, "\(name) must depend only on group keys or aggregates")
  }
}

extension Expression {
  fileprivate var hasAggregate: Bool {
    if case .aggregate = self { true } else { children.contains(where: \.hasAggregate) }
  }
}
