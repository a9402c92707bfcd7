public import CRDTCore
public import DocStore
import Failpoints

/// A query whose result is kept up to date, commit by commit.
///
/// Its rows may be documents of one collection, groups of them, or their distinct rows. Then the cost of a
/// commit depends only on what it touched. Joins, inner queries, set operators and virtual collections are
/// run again when a commit touches what they read.
///
/// It is a value: its owner applies the commits in order.
public struct LiveQuery: Sendable {
  /// The observed query with its arguments: queries with equal identities have equal results.
  package enum Identity: Hashable, Sendable {
    case plan(Plan)
    case statement(Statement, [TextKey: Value])
  }

  package let identity: Identity
  /// The documents that a commit must touch to change the result.
  package let dependencies: [LiveDependency]
  /// Whether the result changes without commits, so that it must be refreshed regularly.
  package let isPolled: Bool
  private var content: any LiveContent
  private var engine: Engine?
  /// The last commit that `rows` include for certain.
  package private(set) var sequence: UInt64 = 0

  /// Prepares a live query.
  ///
  /// - Parameters:
  ///   - statement: The query to observe.
  ///   - arguments: The values of its parameters.
  /// - Throws: `argument` for a parameter without a value; `unsupported` for a statement other than a query.
  public init(_ statement: Statement, arguments: [TextKey: Value] = [:]) throws(QueryError) {
    dependencies = try statement.dependencies(arguments)
    isPolled = try statement.readsSystem
    try statement.checkMayBePolled()
    switch try Kind(statement) {
    case .documents(let select):
      let documents = try LiveDocuments(select, arguments)
      identity = .plan(documents.plan)
      content = documents
    case .distinct(let select):
      let distinct = try LiveDistinct(select, arguments)
      identity = .plan(distinct.plan)
      content = distinct
    case .groups(let select):
      identity = .statement(statement, arguments)
      content = try LiveGroups(select, arguments)
    case .rerun:
      identity = .statement(statement, arguments)
      content = try LiveRerun(statement, arguments, dependencies)
    }
  }

  /// Prepares a live query from DQL.
  ///
  /// - Throws: What parsing throws, and preparing a statement.
  public init(dql text: String, arguments: [TextKey: Value] = [:]) throws(QueryError) {
    try self.init(try DQL.parse(text), arguments: arguments)
  }

  /// Checks what depends on the store: whether the joins of a query find their partners by an index.
  ///
  /// - Throws: `unsupported`; `StoreError`.
  package static func check(_ statement: Statement, arguments: [TextKey: Value], in store: Store) throws {
    let joins = statement.selects.filter { !$0.joins.isEmpty && !$0.expressions.contains(where: \.hasQuery) }
    guard !joins.isEmpty else { return }
    try store.read { transaction in
      for select in joins {
        let catalogue = try QueryCatalogue(Statement.select(select).collections, in: transaction)
        _ = try Stager.plan(select, arguments, catalogue)
      }
    }
  }

  /// The result, in order, as of the last commit that was applied.
  public var rows: RowList<Row> { content.rows }

  /// Reads the initial result; register for commits first, so that none is missed.
  ///
  /// Commits that the result already includes are ignored later.
  ///
  /// - Parameter engine: Runs the query now, and whenever it has to be run again.
  /// - Returns: The result.
  /// - Throws: `QueryError`; `StoreError`.
  @discardableResult
  public mutating func start(_ engine: Engine) throws -> RowList<Row> {
    self.engine = engine
    sequence = 0
    try read(engine)
    return rows
  }

  /// Reads the initial result from a store, without the caller's engine.
  ///
  /// The query does not see what only an engine has: the time, system parameters and running statements.
  @discardableResult
  public mutating func start(_ store: Store) throws -> RowList<Row> {
    let environment = EngineEnvironment(now: { 0 })
    return try start(Engine(store: store, parameters: SystemParameters(), environment: environment))
  }

  /// Brings the result up to date with a commit.
  ///
  /// - Parameter commit: The next commit of the store.
  /// - Returns: The changes of the result; `nil` when there are none.
  /// - Throws: `StoreError` when the query has to be run again and the store cannot be read; `QueryError`.
  public mutating func apply(_ commit: Commit) throws -> ResultDiff? {
    guard let engine, commit.sequence > sequence else { return nil }
    if commit.origin != .user, QueryDefect.observerMissesMerges.isPlanted { return nil }
    sequence = commit.sequence
    let old = rows
    switch try content.follow(commit) {
    case .untouched: return nil
    case .followed(let diff?): return diff.isEmpty ? nil : diff
    case .followed(nil): break
    case .stale: try read(engine)
    }
    return difference(from: old)
  }

  /// Reads the store again, for a query that is polled.
  ///
  /// - Returns: The changes of the result; `nil` when there are none.
  /// - Throws: `StoreError`; `QueryError`.
  package mutating func refresh() throws -> ResultDiff? {
    guard let engine else { return nil }
    let old = rows
    try read(engine)
    return difference(from: old)
  }

  private func difference(from old: RowList<Row>) -> ResultDiff? {
    let diff = ResultDiff(from: old, to: rows)
    return diff.isEmpty ? nil : diff
  }

  /// Runs the query on a new snapshot, which may include commits that are not applied yet.
  private mutating func read(_ engine: Engine) throws {
    try engine.store.read { transaction in
      sequence = max(sequence, transaction.sequence)
      try content.fill(from: transaction, engine)
    }
  }
}

/// The way in which the result of a statement is kept up to date.
private enum Kind {
  case documents(Select)
  case distinct(Select)
  case groups(Select)
  case rerun

  init(_ statement: Statement) throws(QueryError) {
    switch statement {
    case .compound: self = .rerun
    case .select(let select):
      let isVirtual = try SystemCollection.named(select.collection) != nil
      if isVirtual || !select.joins.isEmpty || !select.expressions.allSatisfy(\.isDeterministic) {
        self = .rerun
      } else if select.isStaged {
        self = select.distinct ? .rerun : .groups(select)
      } else if !select.distinct || select.isCount {
        self = .documents(select)
      } else {
        self = select.isOrderedByRows ? .distinct(select) : .rerun
      }
    default: throw QueryError(.unsupported, "only SELECT can be observed")
    }
  }
}

extension Select {
  /// Whether the only row is the number of documents.
  fileprivate var isCount: Bool {
    if case .countAll = projection { true } else { false }
  }
}
