package import CRDTCore

/// Makes plans of statements: a pure function of the statement, its arguments and the catalogue.
package enum Planner {
  /// Plans a query.
  ///
  /// - Parameters:
  ///   - select: The query.
  ///   - arguments: The values of its parameters.
  ///   - catalogue: The state of its collection.
  ///   - reading: The paths that are read of each document, if the projection does not show them; `nil` for
  ///     the whole document.
  ///   - readsAll: Whether the rows of a whole index may be read instead of all documents.
  ///   - totalOrder: Whether rows that are equal in ORDER BY are ordered by id, as live results need it;
  ///     otherwise they may be in any order.
  /// - Returns: The plan, with no parameters left in it.
  /// - Throws: `argument` for a parameter without a value or one that does not fit; `unsupported`; `limit`.
  package static func plan(
    _ select: Select, arguments: [TextKey: Value], catalogue: QueryCatalogue = .empty,
    reading: [FieldPath]? = nil, readsAll: Bool = false, totalOrder: Bool = false
  ) throws(QueryError) -> Plan {
    if let feature = select.unsupportedFeature { throw .unsupported(feature) }
    var plan = try plan(
      select.source, select.predicate, select.order, select.limit, select.offset, arguments)
    plan.distinct = select.distinct
    plan.projection = try select.projection.binding(arguments)
    let unchosen = plan
    plan.choosePath(
      catalogue, select.source.hints,
      reading: reading.map { $0 + (unchosen.filter?.paths ?? []) } ?? unchosen.paths,
      readsAll: readsAll || plan.distinct, byID: totalOrder)
    return plan
  }

  package static func plan(
    _ removal: Removal, arguments: [TextKey: Value], catalogue: QueryCatalogue = .empty
  ) throws(QueryError) -> Plan {
    var plan = try plan(
      removal.target, removal.predicate, removal.order, removal.limit, removal.offset, arguments)
    plan.choosePath(catalogue, removal.target.hints)
    return plan
  }

  package static func plan(
    _ update: Update, arguments: [TextKey: Value], catalogue: QueryCatalogue = .empty
  ) throws(QueryError) -> Plan {
    var plan = try plan(
      update.target, update.predicate, update.order, update.limit, update.offset, arguments)
    plan.choosePath(catalogue, update.target.hints)
    return plan
  }

  private static func plan(
    _ source: Source, _ predicate: Expression?, _ order: [SortKey], _ limit: Expression?,
    _ offset: Expression?, _ arguments: [TextKey: Value]
  ) throws(QueryError) -> Plan {
    let filter = try predicate?.binding(arguments)
    var plan = Plan(collection: source.collection, access: .collectionScan, filter: filter)
    if let virtual = try SystemCollection.named(source.collection) { plan.access = .virtual(virtual) }
    for key in order {
      plan.order.append(
        SortKey(expression: try key.expression.binding(arguments), descending: key.descending))
    }
    plan.limit = try count(limit, "LIMIT", arguments)
    plan.offset = try count(offset, "OFFSET", arguments) ?? 0
    return plan
  }

  /// The value of LIMIT or OFFSET.
  static func count(
    _ expression: Expression?, _ clause: String, _ arguments: [TextKey: Value]
  ) throws(QueryError) -> Int? {
    guard let expression else { return nil }
    let value = try Evaluator.evaluate(expression.binding(arguments), row: { _ in nil })
    guard case .int(let number) = value, number >= 0, let count = Int(exactly: number) else {
      throw QueryError(.argument, "\(clause) expects an integer that is not negative")
    }
    return count
  }
}

extension Plan {
  /// Chooses how to find documents: by ids in the filter, by indexes that fit, or by a scan of all.
  fileprivate mutating func choosePath(
    _ catalogue: QueryCatalogue, _ hints: Hints, reading paths: @autoclosure () -> [FieldPath]? = nil,
    readsAll: Bool = false,
    byID: Bool = false
  ) {
    if case .virtual = access { return }
    let constraint = filter.map { IDConstraint($0) } ?? .everything
    if byID {
      access = constraint.access
      return
    }
    if case .ids = constraint {
      access = constraint.access
      coversFilter = filter.map(IDConstraint.saysAll) ?? false
      return
    }
    if constraint != .everything { access = constraint.access }
    guard hints.indexes != [] else { return }
    let condition = filter.map { Condition($0) } ?? .everything
    if condition.kind == .never {
      access = .ids([])
      return
    }
    guard let entry = catalogue[collection], !entry.indexes.isEmpty, !countsAll else { return }
    // The plan does not depend on the offset, so that pages do not overlap.
    var purpose = AccessChoice.Purpose(order: order, window: distinct ? nil : limit)
    if case .countAll = projection { purpose = AccessChoice.Purpose(isCount: true) }
    (purpose.paths, purpose.readsAll) = (paths(), readsAll)
    guard let choice = AccessChoice.best(condition, entry, hints, purpose) else { return }
    access = choice.access
    isOrdered = choice.isOrdered
    coversFilter = choice.isExact
    isCovering = choice.isCovering
  }
}
