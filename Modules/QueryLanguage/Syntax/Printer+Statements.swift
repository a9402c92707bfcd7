import CRDTCore

extension Statement: CustomStringConvertible {
  /// The statement as DQL, which parses back to it; USE IDS is printed as a test of ids.
  public var description: String { Printer().text(of: self) }

  /// The statement as DQL with `?` for every value, for logs.
  package var redacted: String { Printer(hidesValues: true).text(of: self) }
}

extension Printer {
  func text(of statement: Statement) -> String {
    switch statement {
    case .select(let select): text(of: select)
    case .compound(let compound): text(of: compound)
    case .insert(let insert): text(of: insert)
    case .update(let update): text(of: update)
    case .delete(let removal): "DELETE" + text(of: removal)
    case .evict(let removal): "EVICT" + text(of: removal)
    case .createIndex(let index): text(of: index)
    case .dropIndex(let index):
      "DROP INDEX \(index.allowsMissing ? "IF EXISTS " : "")\(Self.name(index.name)) ON "
        + Self.name(index.collection)
    case .alterSystem(.set(let name, let value)):
      "ALTER SYSTEM SET \(Self.name(name.text)) = \(text(of: value))"
    case .alterSystem(.reset(let name)): "ALTER SYSTEM RESET \(Self.name(name.text))"
    case .alterSystem(.resetAll): "ALTER SYSTEM RESET ALL"
    case .show(.parameter(let name)): "SHOW \(Self.name(name.text))"
    case .show(.all(let pattern, let caseInsensitive)):
      "SHOW ALL"
        + (pattern.map { (caseInsensitive ? " ILIKE " : " LIKE ") + text(of: .string($0.text)) } ?? "")
    case .explain(let statement): "EXPLAIN " + text(of: statement)
    case .profile(let statement): "PROFILE " + text(of: statement)
    case .advise(let statement, let provisioning):
      "ADVISE \(provisioning ? "AND PROVISION " : "")" + text(of: statement)
    }
  }

  // MARK: Queries

  func text(of select: Select) -> String {
    var printer = self
    if select.joins.isEmpty {
      printer.qualifier = select.source.name
    } else {
      printer.qualifier = nil
      printer.sources = [select.source.name] + select.joins.map(\.source.name)
    }
    return printer.clauses(of: select)
  }

  private func clauses(of select: Select) -> String {
    let names = [select.source.name] + select.joins.map(\.source.name)
    var text = "SELECT \(select.distinct ? "DISTINCT " : "")\(self.text(of: select.projection, names))"
    text += " FROM \(Self.text(of: select.source))"
    for join in select.joins {
      text += " \(join.kind.text) \(Self.text(of: join.source)) ON \(self.text(of: join.condition))"
    }
    text += clause("WHERE", select.predicate)
    if !select.groups.isEmpty { text += " GROUP BY " + list(select.groups) }
    text += clause("HAVING", select.having)
    let order = select.order.map { self.text(of: $0, besides: select) }
    return text + window(order, select.limit, select.offset)
  }

  /// A key of ORDER BY.
  ///
  /// If a field has the name of another column, the name of its source precedes it.
  private func text(of key: SortKey, besides select: Select) -> String {
    guard case .path(let path) = key.expression, path.count == 1, case .key(let name) = path[0],
      let column = select.projection.column(named: name), column != key.expression, let qualifier
    else { return text(of: key) }
    return Self.text(of: [.key(TextKey(qualifier))] + path) + (key.descending ? " DESC" : "")
  }

  package func text(of projection: Select.Projection, _ names: [String]) -> String {
    switch projection {
    case .all: return "*"
    case .countAll(let alias): return "COUNT(*)" + (alias == "($1)" ? "" : " AS \(Self.name(alias.text))")
    case .columns(let columns):
      return columns.enumerated().map { text(of: $1, at: $0) }.joined(separator: ", ")
    case .elements(let elements):
      return elements.enumerated().map { position, element in
        switch element {
        case .star(let source):
          (names.indices.contains(source) ? Self.name(names[source]) : "source \(source)") + ".*"
        case .without(let path): "MISSING " + text(of: .path(path))
        case .column(let column): text(of: column, at: position)
        }
      }.joined(separator: ", ")
    }
  }

  /// A column with its name, unless that is the default name.
  private func text(of column: Select.Column, at position: Int) -> String {
    let isDocument = column.expression == .path([])
    let name = isDocument ? qualifier : column.expression.columnName(at: position)
    return text(of: column.expression)
      + (name.map(column.name.isSame) == true ? "" : " AS \(Self.name(column.name))")
  }

  private func text(of compound: CompoundSelect) -> String {
    text(of: compound.body, isWhole: true)
      + window(compound.order.map { text(of: $0) }, compound.limit, compound.offset)
  }

  private func text(of operand: CompoundSelect.Operand, isWhole: Bool = false) -> String {
    switch operand {
    case .select(let select):
      let text = text(of: select)
      return select.order.isEmpty && select.limit == nil && select.offset == nil ? text : "(\(text))"
    case .combined(let symbol, let all, let left, let right):
      let text = "\(self.text(of: left)) \(symbol.text)\(all ? " ALL" : "") \(self.text(of: right))"
      return isWhole ? text : "(\(text))"
    }
  }

  // MARK: Mutations

  private func text(of insert: Insert) -> String {
    var text = "INSERT INTO \(Self.text(of: insert.target))\(insert.initial ? " INITIAL" : "") "
    switch insert.content {
    case .documents(let documents):
      text += "DOCUMENTS " + documents.map { "(\(self.text(of: $0)))" }.joined(separator: ", ")
    case .query(let select): text += self.text(of: select)
    }
    switch insert.conflict {
    case .fail: break
    case .doNothing: text += " ON ID CONFLICT DO NOTHING"
    case .doUpdate: text += " ON ID CONFLICT DO UPDATE"
    case .doUpdateLocalDiff: text += " ON ID CONFLICT DO UPDATE_LOCAL_DIFF"
    }
    return text + on(insert.target).returning(insert.returning, insert.target)
  }

  private func text(of update: Update) -> String {
    let printer = on(update.target)
    var text = "UPDATE " + Self.text(of: update.target)
    if !update.applications.isEmpty {
      text += " APPLY " + update.applications.map { printer.text(of: $0) }.joined(separator: ", ")
    }
    if !update.assignments.isEmpty {
      let assignments = update.assignments.map {
        "\(printer.text(of: .path($0.path.map(PathComponent.key)))) = \(printer.text(of: $0.value))"
      }
      text += " SET " + assignments.joined(separator: ", ")
    }
    if !update.removals.isEmpty {
      let removals = update.removals.map { Expression.path($0.map(PathComponent.key)) }
      text += " UNSET " + printer.list(removals)
    }
    return text + printer.clause("WHERE", update.predicate)
      + printer.window(update.order.map { printer.text(of: $0) }, update.limit, update.offset)
      + printer.returning(update.returning, update.target)
  }

  private func text(of application: Update.Application) -> String {
    let path = text(of: .path(application.path.map(PathComponent.key)))
    switch application.operation {
    case .increment(let amount): return "\(path) INCREMENT BY \(text(of: amount))"
    case .restart(let value): return "\(path) RESTART WITH \(text(of: value))"
    }
  }

  private func text(of removal: Removal) -> String {
    let printer = on(removal.target)
    return " FROM \(Self.text(of: removal.target))" + printer.clause("WHERE", removal.predicate)
      + printer.window(removal.order.map { printer.text(of: $0) }, removal.limit, removal.offset)
      + printer.returning(removal.returning, removal.target)
  }

  // MARK: Parts

  private func on(_ target: Source) -> Printer {
    Printer(qualifier: target.name, hidesValues: hidesValues)
  }

  private func returning(_ projection: Select.Projection?, _ target: Source) -> String {
    projection.map { " RETURNING " + text(of: $0, [target.name]) } ?? ""
  }

  private func clause(_ word: String, _ expression: Expression?) -> String {
    expression.map { " \(word) \(text(of: $0))" } ?? ""
  }

  private func window(_ order: [String], _ limit: Expression?, _ offset: Expression?) -> String {
    var text = ""
    if !order.isEmpty { text += " ORDER BY " + order.joined(separator: ", ") }
    return text + clause("LIMIT", limit) + clause("OFFSET", offset)
  }

  package func text(of key: SortKey) -> String { text(of: key.expression) + (key.descending ? " DESC" : "") }
}

extension Expression {
  /// The default name of a column: the last key of a path, otherwise its position.
  func columnName(at position: Int) -> String {
    switch self {
    case .path(let path), .field(_, let path):
      if case .key(let key) = path.last { return key.text }
    default: break
    }
    return "($\(position + 1))"
  }
}

extension Join.Kind {
  fileprivate var text: String {
    switch self {
    case .inner: "JOIN"
    case .left: "LEFT JOIN"
    case .right: "RIGHT JOIN"
    }
  }
}

extension CompoundSelect.SetOperator {
  fileprivate var text: String {
    switch self {
    case .union: "UNION"
    case .intersect: "INTERSECT"
    case .except: "EXCEPT"
    }
  }
}
