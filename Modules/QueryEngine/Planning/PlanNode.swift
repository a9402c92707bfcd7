package import CRDTCore

/// An operator of a plan, above the operators from which it gets its rows, as EXPLAIN shows it.
package indirect enum PlanNode: Hashable, Sendable {
  /// Documents, rows of an index, or rows of a virtual collection.
  ///
  /// With `covers`, the query needs no values of the documents except those in the rows.
  case scan(AccessPath, collection: String, covers: Bool = false)
  /// The number of a collection's documents.
  case countScan(collection: String)
  /// The documents of index rows.
  case fetch(PlanNode)
  case filter(Expression, PlanNode)
  /// One row for each group; without keys, one for all rows.
  case group(keys: [Expression], aggregates: [Expression], PlanNode)
  /// `keep`: the number of first rows that are wanted; `nil` for all.
  case sort([SortKey], keep: Int?, PlanNode)
  case distinct(PlanNode)
  case limit(Int?, offset: Int, stopsEarly: Bool, PlanNode)
  case project(Select.Projection, PlanNode)
  /// Rows of two queries, combined; `all` keeps equal ones.
  case combine(CompoundSelect.SetOperator, all: Bool, PlanNode, PlanNode)
  /// Adds the documents of a source to the rows of the sources before.
  case join(Join, PlanNode)
  /// Writes documents, or inserts them where there is no operator below.
  case mutate(Mutation, collection: String, PlanNode?)

  package struct Join: Hashable, Sendable {
    @TextKey package var collection: String
    @TextKey package var alias: String
    package var keepsUnmatched: Bool
    package var method: StagedPlan.JoinMethod
    package var condition: Expression
    /// The filter on the source's documents alone.
    package var filter: Expression?
  }

  package enum Mutation: String, Hashable, Sendable { case insert, update, delete, evict }
}

extension Plan {
  /// The operators of a SELECT.
  package var root: PlanNode { .project(projection.naming([collection]), limited(ordered(counted))) }

  /// The operators that find the documents of a statement that writes.
  package func root(of mutation: PlanNode.Mutation) -> PlanNode {
    .mutate(mutation, collection: collection, limited(ordered(filtered)))
  }

  private var filtered: PlanNode {
    var node = PlanNode.scan(access, collection: collection, covers: isCovering)
    switch access {
    case .index where isCovering: break
    case .index, .union, .intersection: node = .fetch(node)
    case .collectionScan, .ids, .idRange, .virtual: break
    }
    return filter.map { .filter($0.naming([collection]), node) } ?? node
  }

  private var counted: PlanNode {
    guard case .countAll = projection else { return filtered }
    if countsAll { return .countScan(collection: collection) }
    if let countedScan {
      return .group(
        keys: [], aggregates: [.aggregate(.count, distinct: false, nil)],
        .scan(.index(countedScan), collection: collection, covers: true))
    }
    return .group(keys: [], aggregates: [.aggregate(.count, distinct: false, nil)], filtered)
  }

  private func ordered(_ node: PlanNode) -> PlanNode {
    let keys = order.map {
      SortKey(expression: $0.expression.naming([collection]), descending: $0.descending)
    }
    let sorted = order.isEmpty || isOrdered ? node : .sort(keys, keep: window, node)
    return distinct ? .distinct(sorted) : sorted
  }

  private func limited(_ node: PlanNode) -> PlanNode {
    limit == nil && offset == 0 ? node : .limit(limit, offset: offset, stopsEarly: stopsEarly, node)
  }
}

extension PlanNode {
  /// The operators below the one that writes.
  var withoutMutation: PlanNode {
    if case .mutate(_, _, let input?) = self { input } else { self }
  }
}
