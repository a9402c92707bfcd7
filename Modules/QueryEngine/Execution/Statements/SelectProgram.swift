import CRDTCore
import Synchronization

/// A SELECT with all that is independent of its arguments, and the plan of its last run.
final class SelectProgram: Sendable {
  let select: Select
  let hasQueries: Bool
  /// Whether it says no more than `SELECT * FROM c WHERE _id = x`.
  let asksForOneDocument: Bool
  private let hasParameters: Bool
  private let collections: [String]
  private let memory = Mutex<Memory?>(nil)
  let planCount = Atomic(0)

  /// The most memory of the arguments of a remembered plan, in bytes.
  ///
  /// A statement stays for as long as it is in use, and hundreds of them do.
  private static let rememberedBytes = 16 << 10

  /// A plan, and everything that it was made from.
  private struct Memory: Sendable {
    var moment: PlanningMoment
    let hints: Hints
    let catalogue: QueryCatalogue
    let arguments: [TextKey: Value]
    let plan: SelectPlan
  }

  init(_ select: Select) {
    self.select = select
    let expressions = select.expressions
    hasQueries = expressions.contains(where: \.hasQuery)
    hasParameters = expressions.contains { !$0.parameters.isEmpty }
    collections = Statement.select(select).collections
    asksForOneDocument = select.asksForOneDocument
  }

  /// The plan for some arguments.
  ///
  /// It is the plan of the last run, if nothing has changed that it was made from.
  ///
  /// - Parameters:
  ///   - arguments: The values of the parameters.
  ///   - hints: The hints to use where the query has none itself.
  ///   - source: The snapshot or transaction that is read.
  /// - Returns: The plan.
  /// - Throws: What planning throws.
  func plan(
    _ arguments: [TextKey: Value], _ hints: Hints, for source: borrowing some RecordSource & ~Copyable
  ) throws -> SelectPlan {
    guard let moment = source.planningMoment else {
      return try plan(arguments, hints, QueryCatalogue(collections, in: source))
    }
    let known = try remembered(at: moment, source)
    if let known, known.hints == hints, !hasParameters || known.arguments == arguments { return known.plan }
    let catalogue = try known?.catalogue ?? QueryCatalogue(collections, in: source)
    // Mistakes depend on the collections and not on the arguments.
    let mistakes = known.flatMap { $0.hints == hints ? $0.plan.mistakes : nil }
    let plan = try plan(arguments, hints, catalogue, mistakes)
    let parameters = hasParameters ? arguments : [:]
    guard parameters.values.reduce(0, { $0 + $1.memoryBytes }) <= Self.rememberedBytes else { return plan }
    memory.withLock {
      $0 = Memory(moment: moment, hints: hints, catalogue: catalogue, arguments: parameters, plan: plan)
    }
    return plan
  }

  /// The remembered plan, if it is still valid.
  private func remembered(
    at moment: PlanningMoment, _ source: borrowing some RecordSource & ~Copyable
  ) throws -> Memory? {
    guard let known = memory.withLock({ $0 }), known.moment.version == moment.version else { return nil }
    guard known.moment != moment else { return known }
    guard try known.catalogue.isStillRight(in: source) else { return nil }
    memory.withLock { if $0?.plan === known.plan { $0?.moment = moment } }
    return known
  }

  private func plan(
    _ arguments: [TextKey: Value], _ hints: Hints, _ catalogue: QueryCatalogue,
    _ mistakes: [StatementHint]? = nil
  ) throws(QueryError) -> SelectPlan {
    planCount.add(1, ordering: .relaxed)
    return try SelectPlan(select.advised(by: hints), arguments, catalogue, mistakes)
  }
}

/// The plan of a SELECT; its runs share it.
final class SelectPlan: Sendable {
  enum Form: Sendable {
    /// Documents of one collection, or their number.
    case documents(Plan)
    /// Documents that are joined, or groups.
    case frames(StagedPlan)
  }

  let form: Form
  /// Likely mistakes in the query.
  let mistakes: [StatementHint]
  let textComparisons: [TextComparison]

  init(
    _ select: Select, _ arguments: [TextKey: Value], _ catalogue: QueryCatalogue,
    _ mistakes: [StatementHint]? = nil
  ) throws(QueryError) {
    self.mistakes = mistakes ?? select.mistakes(catalogue)
    textComparisons = select.textComparisons(arguments)
    form =
      select.isStaged
      ? .frames(try Stager.plan(select, arguments, catalogue))
      : .documents(try Planner.plan(select, arguments: arguments, catalogue: catalogue))
  }

  /// The root of its operators.
  var root: PlanNode {
    switch form {
    case .documents(let plan): plan.root
    case .frames(let plan): plan.root
    }
  }

  func rows(
    in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts, _ context: StatementContext
  ) throws -> [Row] {
    switch form {
    case .documents(let plan): try plan.rows(in: source, facts, context)
    case .frames(let plan): try plan.rows(in: source, facts, context)
    }
  }
}

/// The versions of what a plan depends on, and how much was written when it was made.
package struct PlanningMoment: Hashable, Sendable {
  /// The version of the collections, field names and indexes.
  package var version: UInt64
  /// The number of the last commit.
  package var sequence: UInt64

  package init(version: UInt64, sequence: UInt64) {
    self.version = version
    self.sequence = sequence
  }
}

extension Select {
  /// Whether the query says no more than `SELECT * FROM c WHERE _id = x`, with a literal or a parameter.
  fileprivate var asksForOneDocument: Bool {
    guard joins.isEmpty, groups.isEmpty, having == nil, order.isEmpty, !distinct, projection == .all,
      case .binary(.equal, let left, let right)? = predicate
    else { return false }
    return left.isID && right.isGiven || left.isGiven && right.isID
  }

  /// The query with these hints where it has none itself.
  func advised(by hints: Hints) -> Select {
    guard !hints.isEmpty else { return self }
    var copy = self
    copy.source.hints = copy.source.hints.or(hints)
    for index in copy.joins.indices {
      copy.joins[index].source.hints = copy.joins[index].source.hints.or(hints)
    }
    return copy
  }
}

extension Expression {
  fileprivate var isID: Bool { self == .path([.key("_id")]) }

  /// Whether its value is known before the query runs.
  fileprivate var isGiven: Bool {
    switch self {
    case .literal, .parameter: true
    default: false
    }
  }
}

extension Statement {
  /// The statement with these hints where it has none itself.
  func advised(by hints: Hints) -> Statement {
    guard !hints.isEmpty else { return self }
    switch self {
    case .select(let select): return .select(select.advised(by: hints))
    case .update(var update):
      update.target.hints = update.target.hints.or(hints)
      return .update(update)
    case .delete(var removal):
      removal.target.hints = removal.target.hints.or(hints)
      return .delete(removal)
    case .evict(var removal):
      removal.target.hints = removal.target.hints.or(hints)
      return .evict(removal)
    case .compound(var compound):
      compound.body = compound.body.advised(by: hints)
      return .compound(compound)
    case .insert(var insert):
      guard case .query(let select) = insert.content else { return self }
      insert.content = .query(select.advised(by: hints))
      return .insert(insert)
    case .createIndex, .dropIndex, .alterSystem, .show, .explain, .profile, .advise: return self
    }
  }
}

extension CompoundSelect.Operand {
  fileprivate func advised(by hints: Hints) -> CompoundSelect.Operand {
    switch self {
    case .select(let select): .select(select.advised(by: hints))
    case .combined(let symbol, let all, let left, let right):
      .combined(symbol, all: all, left.advised(by: hints), right.advised(by: hints))
    }
  }
}

extension Hints {
  /// These hints, and the others where these are not set.
  func or(_ others: Hints) -> Hints {
    var result = others
    result.take(self)
    return result
  }
}
