import CRDTCore
import DocStore

/// Plans queries with joins, groups and aggregates.
///
/// Joins are executed in the order of the text, each as a search for the partners of the rows so far. A RIGHT
/// JOIN is a LEFT JOIN with its sides swapped. Conditions on one source alone are tested where its documents
/// are found.
struct Stager {
  private let select: Select
  private let arguments: [TextKey: Value]
  private let catalogue: QueryCatalogue
  private let sources: [Source]
  private let names: [String]
  /// The sources in the order in which they are read, with the join that adds each.
  private var steps: [(source: Int, join: (keepsUnmatched: Bool, condition: Expression)?)] = []
  private var layout: FrameLayout

  static func plan(
    _ select: Select, _ arguments: [TextKey: Value], _ catalogue: QueryCatalogue
  ) throws(QueryError) -> StagedPlan {
    var stager = Stager(select, arguments, catalogue)
    return try stager.plan()
  }

  private init(_ select: Select, _ arguments: [TextKey: Value], _ catalogue: QueryCatalogue) {
    self.select = select.countingInColumns
    self.arguments = arguments
    self.catalogue = catalogue
    sources = [select.source] + select.joins.map(\.source)
    names = sources.map(\.name)
    layout = FrameLayout(sourceCount: sources.count)
  }

  private static let maximumJoins = 10

  private mutating func plan() throws(QueryError) -> StagedPlan {
    try orderSources()
    try noteFields()
    layout.settle(steps.map(\.source))
    var terms = select.predicate?.conjuncts ?? []
    var inputs: [StagedPlan.Input] = []
    for step in steps { inputs.append(try input(step.source, step.join, &terms)) }
    var columns = select.projection.columns
    var plan = StagedPlan(
      inputs: inputs, slotCount: layout.slotCount,
      filter: try layout.bound(Expression.all(terms), arguments), projection: .columns([]),
      distinct: select.distinct, order: [], offset: 0, root: .scan(.collectionScan, collection: ""))
    var order: [SortKey] = []
    for key in select.order {
      order.append(SortKey(expression: try layout.slotted(key.expression), descending: key.descending))
    }
    for index in columns.indices { columns[index].expression = try layout.slotted(columns[index].expression) }
    if select.isGrouped {
      var grouper = Grouper(keys: try slotted(select.groups))
      for index in columns.indices {
        columns[index].expression = try grouper.grouped(columns[index].expression)
      }
      for index in order.indices { order[index].expression = try grouper.grouped(order[index].expression) }
      if let having = select.having {
        grouper.condition = try grouper.grouped(layout.slotted(having))
      }
      plan.grouping = try grouper.grouping(arguments)
    }
    plan.projection = try projection(columns)
    for key in order {
      plan.order.append(
        SortKey(expression: try key.expression.binding(arguments), descending: key.descending))
    }
    plan.limit = try Planner.count(select.limit, "LIMIT", arguments)
    plan.offset = try Planner.count(select.offset, "OFFSET", arguments) ?? 0
    plan.root = root(plan, remaining: terms)
    return plan
  }

  private func slotted(_ expressions: [Expression]) throws(QueryError) -> [Expression] {
    var result: [Expression] = []
    for expression in expressions { result.append(try layout.slotted(expression)) }
    return result
  }

  private mutating func orderSources() throws(QueryError) {
    let most = min(Self.maximumJoins, select.source.hints.maximumJoins ?? .max)
    guard select.joins.count <= most else {
      throw QueryError(.limit, "Too many joins: a query has at most \(most)")
    }
    for (index, join) in select.joins.enumerated() {
      guard index > 0, join.kind == .right else { continue }
      throw QueryError(.unsupported, "RIGHT OUTER join that isn't the first join is not supported")
    }
    let swaps = select.joins.first?.kind == .right
    steps = [(swaps ? 1 : 0, nil)]
    for (index, join) in select.joins.enumerated() {
      let source = index == 0 && swaps ? 0 : index + 1
      steps.append((source, (join.kind != .inner, join.condition)))
    }
  }

  private mutating func noteFields() throws(QueryError) {
    switch select.projection {
    case .all:
      guard !select.isGrouped else { throw Grouper.ungrouped("*") }
      for source in sources.indices { layout.note(source, []) }
    case .elements(let elements):
      guard !select.isGrouped else { throw Grouper.ungrouped("*") }
      for case .star(let source) in elements {
        guard sources.indices.contains(source) else {
          throw QueryError(.syntax, "a query shows the documents of no source of its own")
        }
        layout.note(source, [])
      }
    case .columns, .countAll: break
    }
    for expression in select.expressions { try layout.note(expression) }
  }

  private func projection(_ columns: [Select.Column]) throws(QueryError) -> StagedPlan.FrameProjection {
    switch select.projection {
    case .all:
      return .documents(
        names.enumerated().map { StagedPlan.NamedSlot(name: $1, slot: layout.slot($0, [])) })
    case .columns, .countAll:
      guard case .columns(let bound) = try Select.Projection.columns(columns).binding(arguments) else {
        return .columns([])
      }
      return .columns(bound)
    case .elements(let elements):
      var rest = columns[...]
      var shown: [StagedPlan.FrameElement] = []
      for element in elements {
        switch element {
        case .star(let source): shown.append(.document(slot: layout.slot(source, [])))
        case .without(let path): shown.append(.without(path))
        case .column:
          guard var column = rest.popFirst() else { continue }
          column.expression = try column.expression.binding(arguments)
          shown.append(.column(column))
        }
      }
      return .elements(shown)
    }
  }

  // MARK: Sources

  private func input(
    _ source: Int, _ join: (keepsUnmatched: Bool, condition: Expression)?, _ terms: inout [Expression]
  ) throws(QueryError) -> StagedPlan.Input {
    var own: [Expression] = []
    if join?.keepsUnmatched != true {
      terms = terms.filter { term in
        guard term.sources == [source] else { return true }
        own.append(term.onlySource(source))
        return false
      }
    }
    if let join {
      own += join.condition.conjuncts.filter { $0.sources == [source] }.map { $0.onlySource(source) }
    }
    let found = Select(from: sources[source].alone, predicate: Expression.all(own))
    return StagedPlan.Input(
      name: names[source],
      plan: try Planner.plan(
        found, arguments: arguments, catalogue: catalogue, reading: layout.paths[source],
        readsAll: select.isGrouped),
      paths: layout.paths[source], firstSlot: layout.firstSlot(of: source),
      join: try join.map { (join) throws(QueryError) in
        StagedPlan.JoinStep(
          keepsUnmatched: join.keepsUnmatched,
          method: try JoinChoice(source, sources[source], Set(stepsBefore(source)), join.condition)
            .method(catalogue, layout, arguments),
          condition: try layout.bound(join.condition, arguments) as Expression)
      })
  }

  private func stepsBefore(_ source: Int) -> [Int] { steps.map(\.source).prefix { $0 != source }.map { $0 } }

  // MARK: Explanation

  private func root(_ plan: StagedPlan, remaining: [Expression]) -> PlanNode {
    var node = PlanNode.scan(.collectionScan, collection: select.collection)
    for (input, step) in zip(plan.inputs, steps) {
      let single = input.plan.root(of: .insert).withoutMutation
      guard let join = input.join, let condition = step.join?.condition else {
        node = single
        continue
      }
      node = .join(
        PlanNode.Join(
          collection: input.plan.collection, alias: input.name, keepsUnmatched: join.keepsUnmatched,
          method: join.method, condition: condition.naming(names),
          filter: input.plan.filter?.naming([input.name])), node)
    }
    if let filter = Expression.all(remaining) { node = .filter(filter.naming(names), node) }
    if let grouping = plan.grouping {
      node = .group(
        keys: select.groups.map { $0.naming(names) },
        aggregates: grouping.calls.map { call in
          .aggregate(call.aggregate, distinct: call.distinct, call.operand.map(shown))
        }, node)
      if let having = select.having { node = .filter(having.naming(names), node) }
    }
    if plan.distinct { node = .distinct(node) }
    if !plan.order.isEmpty {
      let keys = select.order.map {
        SortKey(expression: $0.expression.naming(names), descending: $0.descending)
      }
      node = .sort(keys, keep: nil, node)
    }
    if plan.limit != nil || plan.offset > 0 {
      node = .limit(plan.limit, offset: plan.offset, stopsEarly: plan.stopsEarly, node)
    }
    return .project(select.projection.naming(names), node)
  }

  /// An expression over slots in its original form.
  private func shown(_ expression: Expression) -> Expression {
    expression.rewritten { (node) throws(Never) -> Expression in
      guard case .path(let path) = node, case .index(let slot)? = path.first else { return node }
      for source in sources.indices {
        let place = slot - layout.firstSlot(of: source)
        guard layout.paths[source].indices.contains(place) else { continue }
        let path = layout.paths[source][place]
        return sources.count > 1 || path.isEmpty ? .path([.key(TextKey(names[source]))] + path) : .path(path)
      }
      return node
    }
  }
}

extension Select {
  /// The query with COUNT(*) as an ordinary column.
  fileprivate var countingInColumns: Select {
    guard case .countAll(let alias) = projection else { return self }
    var copy = self
    copy.projection = .columns([
      Column(expression: .aggregate(.count, distinct: false, nil), name: alias.text)
    ])
    return copy
  }
}

extension Source {
  /// The source without its alias, as in a statement on it alone.
  fileprivate var alone: Source {
    var copy = self
    copy.alias = nil
    return copy
  }
}
