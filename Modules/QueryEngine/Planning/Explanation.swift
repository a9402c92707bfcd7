import CRDTCore

extension Statement {
  /// What executing the statement would do, step by step, without doing it.
  func explanation(_ arguments: [String: Value]) throws(QueryError) -> Value {
    switch self {
    case .select(let select):
      return .array(try Planner.plan(select, arguments: arguments).steps)
    case .insert(let insert):
      if let feature = insert.unsupportedFeature { throw .unsupported(feature) }
      return .array([
        Self.step("insert", ["collection": .string(insert.collection), "initial": .bool(insert.initial)])
      ])
    case .update(let update):
      let plan = try Planner.plan(update, arguments: arguments).writable()
      _ = try Modification(update, arguments)
      return .array(plan.steps.dropLast() + [Self.step("update")])
    case .delete(let removal):
      let plan = try Planner.plan(removal, arguments: arguments).writable()
      return .array(plan.steps.dropLast() + [Self.step("delete")])
    case .evict(let removal):
      let plan = try Planner.plan(removal, arguments: arguments).writable()
      return .array(plan.steps.dropLast() + [Self.step("evict")])
    case .compound, .createIndex, .dropIndex: throw .unsupported("EXPLAIN \(verb)")
    case .alterSystem, .show, .explain, .profile, .advise:
      throw QueryError(.unsupported, "EXPLAIN takes a statement on documents")
    }
  }

  fileprivate static func step(_ name: String, _ details: [String: Value] = [:]) -> Value {
    .map(details.merging(["operator": .string(name)]) { _, name in name })
  }
}

extension Plan {
  /// One object for each step, in the order in which rows pass them; the last is the projection.
  fileprivate var steps: [Value] {
    var steps = [accessStep]
    if let filter { steps.append(Statement.step("filter", ["predicate": .string(filter.description)])) }
    if !order.isEmpty {
      var details = [
        "keys": Value.array(order.map { .string("\($0.expression)\($0.descending ? " DESC" : "")") })
      ]
      details["keep"] = window.map { .int(Int64($0)) }
      steps.append(Statement.step(window == nil ? "sort" : "top", details))
    }
    if distinct { steps.append(Statement.step("distinct")) }
    if offset > 0 { steps.append(Statement.step("skip", ["rows": .int(Int64(offset))])) }
    if let limit {
      steps.append(Statement.step("limit", ["rows": .int(Int64(limit)), "stopsEarly": .bool(stopsEarly)]))
    }
    steps.append(projectionStep)
    return steps
  }

  private var accessStep: Value {
    var details = ["collection": Value.string(collection)]
    switch access {
    case .ids(let ids):
      details["ids"] = .int(Int64(ids.count))
      return Statement.step("idScan", details)
    case .scan(from: nil, to: nil): return Statement.step("collectionScan", details)
    case .scan(let from, let to):
      details["from"] = from.map(Self.bound)
      details["to"] = to.map(Self.bound)
      return Statement.step("idRangeScan", details)
    case .virtual: return Statement.step("virtualScan", details)
    }
  }

  /// The id that a bound was made from; one that is included has a zero byte behind it.
  private static func bound(_ bytes: [UInt8]) -> Value {
    DocumentID(trusted: bytes.last == 0 && bytes.count != 9 ? bytes.dropLast() : bytes).value
  }

  private var projectionStep: Value {
    switch projection {
    case .all, .elements: Statement.step("documents")
    case .countAll(let alias): Statement.step("count", ["column": .string(alias)])
    case .columns(let columns):
      Statement.step("columns", ["columns": .array(columns.map { .string($0.name) })])
    }
  }
}
