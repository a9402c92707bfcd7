import CRDTCore
import DocStore
import Failpoints

/// A live query that is run again when a commit touches what it reads; the results are then compared.
///
/// It is for joins, inner queries, set operators, virtual collections, and queries that depend on the time.
/// Each commit costs a test of its documents, before and after, against the conditions of the sources.
struct LiveRerun: LiveContent {
  private struct Source {
    let collection: String
    var matcher: RecordMatcher
  }

  private let statement: Statement
  private let arguments: [TextKey: Value]
  private var sources: [Source] = []
  private var isStarted = false
  private(set) var rows = RowList<Row>()

  init(_ statement: Statement, _ arguments: [TextKey: Value], _ dependencies: [LiveDependency])
    throws(QueryError)
  {
    self.statement = statement
    self.arguments = arguments
    for dependency in dependencies {
      sources.append(
        Source(collection: dependency.collection, matcher: try RecordMatcher(dependency.filter)))
    }
    for expression in statement.selects.flatMap(\.expressions) {
      for name in expression.parameters { _ = try Expression.argument(name, in: arguments) }
    }
  }

  mutating func fill(from transaction: borrowing ReadTransaction, _ engine: Engine) throws {
    do {
      rows = try read(statement, from: transaction, engine)
    } catch let error as QueryError where error.code == .unsupported && isStarted {
      // An index of a join no longer exists: partners are found without it.
      rows = try read(statement.joiningWithoutIndexes, from: transaction, engine)
    }
    isStarted = true
  }

  private func read(
    _ statement: Statement, from transaction: borrowing ReadTransaction, _ engine: Engine
  ) throws -> RowList<Row> {
    let context = StatementContext(engine.environment)
    return switch statement {
    case .select(let select): RowList(try engine.rows(of: select, arguments, in: transaction, context))
    case .compound(let compound): RowList(try engine.rows(of: compound, arguments, in: transaction, context))
    default: RowList()
    }
  }

  mutating func follow(_ commit: Commit) throws -> LiveProgress {
    for change in commit.changes {
      for index in sources.indices where sources[index].collection.isSame(as: change.collection.name) {
        sources[index].matcher.resolve(change.collection.keys)
        if isTouched(change, sources[index].matcher) { return .stale }
      }
    }
    return .untouched
  }

  private func isTouched(_ change: Change, _ matcher: RecordMatcher) -> Bool {
    let id = change.id
    for case let record? in [QueryDefect.rerunForgetsBefore.isPlanted ? nil : change.before, change.after] {
      let matches = record.withView { $0.isAlive && matcher.matches(id.bytes.span.bytes, $0) }
      if matches { return true }
    }
    return false
  }
}

extension Statement {
  /// The query with joins that need no index.
  fileprivate var joiningWithoutIndexes: Statement {
    switch self {
    case .select(let select): return .select(select.joiningWithoutIndexes)
    case .compound(var compound):
      compound.body = compound.body.joiningWithoutIndexes
      return .compound(compound)
    default: return self
    }
  }
}

extension CompoundSelect.Operand {
  fileprivate var joiningWithoutIndexes: CompoundSelect.Operand {
    switch self {
    case .select(let select): .select(select.joiningWithoutIndexes)
    case .combined(let symbol, let all, let left, let right):
      .combined(symbol, all: all, left.joiningWithoutIndexes, right.joiningWithoutIndexes)
    }
  }
}

extension Select {
  fileprivate var joiningWithoutIndexes: Select {
    var copy = self
    if !joins.isEmpty { copy.source.hints.indexes = [] }
    for index in joins.indices { copy.joins[index].source.hints.indexes = [] }
    return copy
  }
}
