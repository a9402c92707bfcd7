public import CRDTCore
public import DocStore

/// A SELECT whose result is kept up to date, commit by commit.
///
/// A commit costs what it touched. The query is run again only where DISTINCT makes the result depend on other
/// documents, and where so many left the rows before a LIMIT that those kept in reserve are used up. A value:
/// whoever owns it feeds it the commits in order.
public struct LiveQuery: Sendable {
  /// What is observed, with its arguments; queries with equal plans have equal results.
  package let plan: Plan
  /// The result as of the last commit that was applied, in order.
  public internal(set) var rows = RowList<Row>()
  /// The rows that are kept up to date, from the first that matches: more than are shown where LIMIT or
  /// OFFSET cut some off.
  var held = RowList<Row>()
  /// The sort keys of `held`, which stand by them and then by id; empty when there are none.
  var heldKeys = RowList<[Value?]>()
  /// Whether `held` is every row that matches.
  var holdsAll = true
  /// The documents that match, where only their number is shown.
  var total = 0
  var order: RowOrder
  var matcher: RecordMatcher
  /// The field names of the collection, as of the last commit that touched it.
  var keys = KeyTable()
  var projector: Projector
  private var store: Store?
  /// The last commit that `rows` are known to include.
  package private(set) var sequence: UInt64 = 0

  /// Prepares a live query.
  ///
  /// - Parameters:
  ///   - select: What to observe, of an ordinary collection.
  ///   - arguments: The values of its parameters.
  /// - Throws: `argument` for a parameter without a value, `unsupported` for a virtual collection.
  public init(_ select: Select, arguments: [String: Value] = [:]) throws(QueryError) {
    plan = try Planner.plan(select, arguments: arguments, totalOrder: true)
    if case .virtual = plan.access {
      throw QueryError(.unsupported, "the virtual collection '\(select.collection)' cannot be observed")
    }
    order = RowOrder(plan.order)
    matcher = try RecordMatcher(plan.filter)
    projector = Projector(plan.projection, KeyTable())
  }

  /// Prepares a live query from DQL.
  ///
  /// - Throws: What parsing throws; `unsupported` for a statement other than SELECT.
  public init(dql text: String, arguments: [String: Value] = [:]) throws(QueryError) {
    guard case .select(let select) = try DQL.parse(text) else {
      throw QueryError(.unsupported, "only SELECT can be observed")
    }
    try self.init(select, arguments: arguments)
  }

  /// Reads the initial result; register for commits first, so that none is missed.
  ///
  /// Commits that the result already includes are passed over later.
  ///
  /// - Parameter store: Where to read, now and whenever the query has to be run again.
  /// - Returns: The result.
  /// - Throws: `QueryError`; `StoreError`.
  @discardableResult
  public mutating func start(_ store: Store) throws -> RowList<Row> {
    self.store = store
    sequence = 0
    try read(store)
    return rows
  }

  /// Brings the result up to date with a commit.
  ///
  /// - Parameter commit: The next commit of the store.
  /// - Returns: What changed in the result; `nil` when nothing did.
  /// - Throws: `StoreError` when the query has to be run again and the store cannot be read; `QueryError`.
  public mutating func apply(_ commit: Commit) throws -> ResultDiff? {
    guard let store, commit.sequence > sequence else { return nil }
    sequence = commit.sequence
    let touched = try touches(of: commit)
    guard !touched.isEmpty else { return nil }
    let old = rows
    if !follow(touched) { try read(store) }
    let diff = ResultDiff(from: old, to: rows)
    return diff.isEmpty ? nil : diff
  }

  /// Runs the query on a fresh snapshot, which may include commits that are yet to be applied.
  private mutating func read(_ store: Store) throws {
    try store.read { transaction in
      sequence = max(sequence, transaction.sequence)
      if let collection = try transaction.collection(plan.collection) { resolve(collection.keys) }
      try fill(from: transaction)
    }
  }

  mutating func resolve(_ keys: KeyTable) {
    guard keys.count != self.keys.count else { return }
    self.keys = keys
    order.resolve(keys)
    matcher.resolve(keys)
    projector = Projector(plan.projection, keys)
  }
}
