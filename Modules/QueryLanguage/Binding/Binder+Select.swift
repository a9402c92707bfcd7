import CRDTCore

extension Binder {
  /// Binds a whole query.
  ///
  /// - Throws: `syntax` for names without a meaning, aggregates where none is allowed, and, in a grouped
  ///   query, for an expression that is neither a group's key nor an aggregate.
  static func bind(
    _ raw: RawSelect, _ window: Window, _ sourceMap: SourceMap
  ) throws(QueryError) -> Select {
    var select = raw.select
    let sources = [select.source] + select.joins.map(\.source)
    let binder = Binder(raw.hasSource ? .sources(sources) : .nothing("SELECT without FROM"), sourceMap)
    for index in select.joins.indices {
      select.joins[index].condition = try binder.bind(
        select.joins[index].condition, in: "ON", seeing: index + 2)
    }
    select.predicate = try binder.bindIfAny(select.predicate, in: "WHERE")
    select.groups = try binder.bind(select.groups, in: "GROUP BY")
    let columns = try binder.columns(raw.projection, sources)
    select.projection = columns.projection
    if let having = select.having { select.having = try binder.bindWithAggregates(having) }
    for key in window.order {
      let column = columns.named(by: key.expression)
      let expression = if let column { column } else { try binder.bindWithAggregates(key.expression) }
      select.order.append(SortKey(expression: expression, descending: key.descending))
    }
    select.limit = window.limit
    select.offset = window.offset
    try binder.checkGroups(of: select)
    select.countRows()
    if !select.distinct, !select.isGrouped { select.projection = select.projection.withoutCollations }
    if select.joins.isEmpty { select.source.dropAlias(unlessReadBy: select.expressions) }
    return select
  }

  /// Binds the RETURNING clause of a statement that writes.
  func returning(_ raw: RawProjection?, _ target: Source) throws(QueryError) -> Select.Projection? {
    guard let raw else { return nil }
    var rows = Select(from: target)
    rows.projection = try columns(raw, [target]).projection.withoutCollations
    try checkGroups(of: rows)
    return rows.projection
  }
}

/// A projection, with the names that ORDER BY may use for its columns.
private struct BoundColumns {
  var projection: Select.Projection
  var aliases: [TextKey: Expression] = [:]

  /// The column that a bare name refers to.
  ///
  /// A column that declares the name comes first, then a column that has the name from its field.
  func named(by expression: Expression) -> Expression? {
    guard case .path(let path) = expression, path.count == 1, case .key(let name) = path[0] else {
      return nil
    }
    return aliases[name] ?? projection.column(named: name)
  }
}

extension Select.Projection {
  /// The projection without collations, for use where columns are not compared with each other.
  fileprivate var withoutCollations: Select.Projection {
    mapColumns { column in
      if case .collate(let operand, _) = column { operand } else { column }
    }
  }

  /// The expression of the column of this name.
  func column(named name: TextKey) -> Expression? {
    switch self {
    case .all, .countAll: nil
    case .columns(let columns): columns.first { $0.$name == name }?.expression
    case .elements(let elements):
      elements.lazy.compactMap { element -> Expression? in
        guard case .column(let column) = element, column.$name == name else { return nil }
        return column.expression
      }.first
    }
  }
}

extension Binder {
  private func columns(_ raw: RawProjection, _ sources: [Source]) throws(QueryError) -> BoundColumns {
    var names: Set<TextKey> = []
    var elements: [Select.Element] = []
    var aliases: [TextKey: Expression] = [:]
    for (position, element) in raw.elements.enumerated() {
      switch element {
      case .all(let token):
        guard raw.elements.count == 1 else {
          throw sourceMap.error(
            .syntax, "unqualified * with other projection elements is not supported", at: token)
        }
        if case .nothing(let context) = scope {
          throw sourceMap.error(.syntax, "\(context) cannot read whole documents", at: token)
        }
        return BoundColumns(projection: .all)
      case .star(let token):
        guard let source = sources.firstIndex(where: { source in token.name.map(source.name.isSame) == true })
        else {
          throw sourceMap.error(.syntax, "no collection of this query has this name", at: token)
        }
        elements.append(.star(source: source))
      case .without(let path, let token):
        let hasStar = elements.contains { if case .star = $0 { true } else { false } }
        guard hasStar else {
          throw sourceMap.error(
            .syntax, "MISSING leaves a field out of all those that 'name.*' before it gives", at: token)
        }
        let source = sources.first { path[0] == .key(TextKey($0.name)) }
        elements.append(.without(source.map { path.unqualified(by: $0.name) } ?? path))
      case .column(let raw, let alias, let token):
        let expression = try bindWithAggregates(raw)
        let isID = raw == .path([.key("_id")])
        let name = alias ?? (isID ? "_id" : columnName(expression, sources, at: position))
        guard names.insert(TextKey(name)).inserted else {
          throw sourceMap.error(.syntax, "two columns have one name: name one of them with AS", at: token)
        }
        if alias != nil { aliases[name] = expression }
        elements.append(.column(Select.Column(expression: expression, name: name)))
      }
    }
    return BoundColumns(projection: projection(of: elements, sources), aliases: aliases)
  }

  /// The simplest projection that has these elements.
  private func projection(
    of elements: [Select.Element], _ sources: [Source]
  ) -> Select.Projection {
    if elements == [.star(source: 0)], sources.count == 1 { return .all }
    var columns: [Select.Column] = []
    for element in elements {
      guard case .column(let column) = element else { return .elements(elements) }
      columns.append(column)
    }
    return .columns(columns)
  }

  /// The column of a whole document has the name of its source.
  private func columnName(_ expression: Expression, _ sources: [Source], at position: Int) -> String {
    switch expression {
    case .field(let source, let path) where path.isEmpty: sources[source].name
    case .path(let path) where path.isEmpty: sources[0].name
    default: expression.columnName(at: position)
    }
  }
}
