import CRDTCore
import DocStore

extension Statement {
  /// The steps in which the statement would be executed, without executing it.
  func explanation(_ arguments: [TextKey: Value], _ catalogue: QueryCatalogue) throws(QueryError) -> Value {
    let root: PlanNode
    switch self {
    case .select(let select):
      root = try select.planRoot(arguments, catalogue)
    case .insert(let insert):
      var input: PlanNode?
      if case .query(let select) = insert.content {
        input = try select.planRoot(arguments, catalogue)
      }
      root = .mutate(.insert, collection: insert.collection, input)
    case .update(let update):
      _ = try Modification(update, arguments)
      root = try Planner.plan(update, arguments: arguments, catalogue: catalogue).writable().root(of: .update)
    case .delete(let removal):
      root = try Planner.plan(removal, arguments: arguments, catalogue: catalogue).writable().root(
        of: .delete)
    case .evict(let removal):
      root = try Planner.plan(removal, arguments: arguments, catalogue: catalogue).writable().root(of: .evict)
    case .createIndex(let index): return Self.step("createIndex", index.name, index.collection)
    case .dropIndex(let index): return Self.step("dropIndex", index.name, index.collection)
    case .compound(let compound): root = try compound.planRoot(arguments, catalogue)
    case .alterSystem, .show, .explain, .profile, .advise:
      throw QueryError(.unsupported, "EXPLAIN takes a statement on documents")
    }
    return .array(root.steps)
  }

  private static func step(_ name: String, _ index: String, _ collection: String) -> Value {
    .array([
      .map(["operator": .string(name), "index": .string(index), "collection": .string(collection)])
    ])
  }
}

extension Select {
  /// The operators of the query.
  func planRoot(_ arguments: [TextKey: Value], _ catalogue: QueryCatalogue) throws(QueryError) -> PlanNode {
    if isStaged { return try Stager.plan(self, arguments, catalogue).root }
    return try Planner.plan(self, arguments: arguments, catalogue: catalogue).root
  }
}

extension CompoundSelect {
  /// The operators of the queries, and of the set operators that combine them.
  func planRoot(_ arguments: [TextKey: Value], _ catalogue: QueryCatalogue) throws(QueryError) -> PlanNode {
    var node = try body.planRoot(arguments, catalogue)
    if !order.isEmpty {
      var keys: [SortKey] = []
      for key in order {
        keys.append(SortKey(expression: try key.expression.binding(arguments), descending: key.descending))
      }
      node = .sort(keys, keep: nil, node)
    }
    let rows = try Planner.count(limit, "LIMIT", arguments)
    let skipped = try Planner.count(offset, "OFFSET", arguments) ?? 0
    if rows == nil, skipped == 0 { return node }
    return .limit(rows, offset: skipped, stopsEarly: false, node)
  }
}

extension CompoundSelect.Operand {
  fileprivate func planRoot(
    _ arguments: [TextKey: Value], _ catalogue: QueryCatalogue
  ) throws(QueryError) -> PlanNode {
    switch self {
    case .select(let select): return try select.planRoot(arguments, catalogue)
    case .combined(let symbol, let all, let left, let right):
      return .combine(
        symbol, all: all, try left.planRoot(arguments, catalogue), try right.planRoot(arguments, catalogue))
    }
  }
}

extension PlanNode {
  /// One object for each operator, in the order in which rows pass them.
  var steps: [Value] { inOrder.map { .map($0.details.merging(["operator": .string($0.name)]) { $1 }) } }

  /// The operators in the order in which rows pass them; this one is the last.
  var inOrder: [PlanNode] { (input?.inOrder ?? []) + [self] }

  private var input: PlanNode? {
    switch self {
    case .scan, .countScan, .combine: nil
    case .fetch(let node), .filter(_, let node), .group(_, _, let node), .sort(_, _, let node),
      .distinct(let node), .limit(_, _, _, let node), .project(_, let node), .join(_, let node):
      node
    case .mutate(_, _, let node): node
    }
  }

  /// The operator's name in the reference product.
  var name: String {
    switch self {
    case .scan(.collectionScan, _, _): "collectionScan"
    case .scan(.ids, _, _), .scan(.idRange, _, _): "idScan"
    case .scan(.index, _, _): "indexScan"
    case .scan(.union, _, _): "unionScan"
    case .scan(.intersection, _, _): "intersectScan"
    case .scan(.virtual, _, _): "virtualScan"
    case .countScan: "countScan"
    case .fetch: "fetch"
    case .filter: "filter"
    case .group: "group"
    case .sort: "sort"
    case .distinct: "distinct"
    case .limit: "limit"
    case .project: "finalProjection"
    case .join(let join, _): join.name
    case .combine(let symbol, _, _, _): symbol.rawValue
    case .mutate(let mutation, _, _): mutation.rawValue
    }
  }

  var details: [TextKey: Value] {
    let printer = Printer()
    switch self {
    case .scan(let access, let collection, let covers):
      var details = access.details
      details["collection"] = .string(collection)
      if case .index = access { details["covering"] = .bool(covers) }
      return details
    case .countScan(let collection), .mutate(_, let collection, _): return ["collection": .string(collection)]
    case .fetch, .distinct: return [:]
    case .filter(let predicate, _): return ["predicate": .string(predicate.description)]
    case .group(let keys, let aggregates, _):
      return [
        "keys": .array(keys.map { .string($0.description) }),
        "aggregates": .array(aggregates.map { .string($0.description) }),
      ]
    case .sort(let keys, let keep, _):
      var details: [TextKey: Value] = ["keys": Value.array(keys.map { .string(printer.text(of: $0)) })]
      details["keep"] = keep.map { .int(Int64($0)) }
      return details
    case .limit(let rows, let offset, let stopsEarly, _):
      var details: [TextKey: Value] = [:]
      details["rows"] = rows.map { .int(Int64($0)) }
      if offset > 0 { details["offset"] = .int(Int64(offset)) }
      if rows != nil { details["stopsEarly"] = .bool(stopsEarly) }
      return details
    case .join(let join, _): return join.details
    case .combine(_, let all, let left, let right):
      return ["all": .bool(all), "inputs": .array([.array(left.steps), .array(right.steps)])]
    case .project(let projection, _): return ["projection": .string(printer.text(of: projection, []))]
    }
  }
}

extension PlanNode.Join {
  fileprivate var name: String {
    switch method {
    case .id, .index, .scan: "nlJoin"
    case .hash: "hashJoin"
    }
  }

  fileprivate var details: [TextKey: Value] {
    var details: [TextKey: Value] = [
      "collection": .string(collection), "join": .string(keepsUnmatched ? "left" : "inner"),
      "on": .string(condition.description),
    ]
    if !alias.isSame(as: collection) { details["alias"] = .string(alias) }
    details["predicate"] = filter.map { .string($0.description) }
    switch method {
    case .id: details["inner"] = .string("idScan")
    case .index(let index, _):
      details["inner"] = .string("indexScan")
      details["index"] = .string(index.definition.name)
    case .hash, .scan: details["inner"] = .string("collectionScan")
    }
    return details
  }
}

extension AccessPath {
  fileprivate var details: [TextKey: Value] {
    var details: [TextKey: Value] = [:]
    switch self {
    case .collectionScan, .virtual: break
    case .ids(let ids): details["ids"] = .int(Int64(ids.count))
    case .idRange(let from, let to):
      details["from"] = from.map(Self.bound)
      details["to"] = to.map(Self.bound)
    case .index(let scan): details = scan.details
    case .union(let scans), .intersection(let scans):
      details["scans"] = .array(scans.map { .map($0.details) })
    }
    return details
  }

  /// The id from which a bound was made; the bound of an included id has a zero byte after it.
  private static func bound(_ bytes: [UInt8]) -> Value {
    DocumentID(trusted: bytes.last == 0 && bytes.count != 9 ? bytes.dropLast() : bytes).value
  }
}

extension IndexScan {
  /// The most spans that are shown; further ones are only counted.
  private static let shownSpans = 16

  fileprivate var details: [TextKey: Value] {
    var details: [TextKey: Value] = [
      "index": .string(index.definition.name),
      "spans": .array(spans.prefix(Self.shownSpans).map(\.explanation)),
      "reverse": .bool(isReversed),
    ]
    if spans.count > Self.shownSpans { details["spanCount"] = .int(Int64(spans.count)) }
    return details
  }
}

extension IndexSpan {
  /// Its two ends, as text, since bounds may contain MISSING.
  fileprivate var explanation: Value {
    var ends: [TextKey: Value] = [:]
    ends["from"] = from.map { .string($0.explanation) }
    ends["to"] = to.map { .string($0.explanation) }
    return .map(ends)
  }
}

extension IndexBound {
  fileprivate var explanation: String {
    var texts = values.map { $0.map(Printer().text(of:)) ?? "MISSING" }
    if isPrefix, case .string(let text) = values.last { texts[texts.count - 1] = Printer.quoted(text + "%") }
    // The least value of a class is shown as the beginning of the class.
    if let name = values.last.flatMap({ Self.beginning(of: $0) }) { texts[texts.count - 1] = name }
    return (isAfter ? "after " : "before ") + texts.joined(separator: ", ")
  }

  private static func beginning(of value: Value?) -> String? {
    switch value {
    case .double(let number): number.isNaN ? "numbers" : nil
    case .bytes(let bytes): bytes.isEmpty ? "binaries" : nil
    case .attachment: "attachments"
    case .null, .bool, .int, .string, .counter, .array, .map, .decimal, nil: nil
    }
  }
}
