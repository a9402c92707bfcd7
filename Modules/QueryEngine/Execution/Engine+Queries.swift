public import CRDTCore
import DocStore

/// SELECT, alone and inside of other statements.
extension Engine {
  /// The documents of a collection that match a predicate.
  ///
  /// - Parameters:
  ///   - collection: The collection's name.
  ///   - predicate: What a document must satisfy; `nil` for all documents.
  ///   - order: The keys of the order; documents with equal keys may be in any order.
  ///   - limit: The most documents to return.
  ///   - offset: The number of documents to skip first.
  ///   - arguments: The values of the predicate's parameters.
  ///   - context: Its bounds of time and memory; `nil` for those of the system parameters.
  /// - Returns: One row for each document. A row is decoded when its values are read.
  /// - Throws: `QueryError`; `StoreError`.
  public func find(
    collection: String, predicate: Expression? = nil, order: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0, arguments: [TextKey: Value] = [:], context: StatementContext? = nil
  ) throws -> [Row] {
    let select = Select(
      collection: collection, predicate: predicate, order: order,
      limit: limit.map { .literal(.int(Int64($0))) },
      offset: .literal(.int(Int64(offset))))
    let context = context ?? makeContext()
    return try reading { try rows(of: select, arguments, in: $0, context) }
  }

  /// The rows of a query on a snapshot, or inside a write transaction.
  func rows(
    of select: Select, _ arguments: [TextKey: Value], in source: borrowing some RecordSource & ~Copyable,
    _ context: StatementContext
  ) throws -> [Row] {
    try rows(of: SelectProgram(select), arguments, in: source, context)
  }

  /// The rows of a query, which remembers its plan.
  func rows(
    of program: SelectProgram, _ arguments: [TextKey: Value],
    in source: borrowing some RecordSource & ~Copyable, _ context: StatementContext
  ) throws -> [Row] {
    if program.hasQueries {
      let answered = try answering(program.select, arguments, in: source, context)
      return try rows(of: answered, arguments, in: source, context)
    }
    let plan = try program.plan(arguments, settings.hints, for: source)
    note(plan.mistakes, context)
    note(plan.textComparisons, in: source, context)
    guard let profile = context.profile else { return try plan.rows(in: source, facts, context) }
    profile.begin(plan.root)
    let rows = try plan.rows(in: source, facts, context)
    profile.end(rows: rows.count)
    return rows
  }

  private var facts: SystemFacts { SystemFacts(self) }

  /// Runs `body` on a snapshot of its own.
  ///
  /// If an index turns out to be damaged, `body` runs once more without that index.
  ///
  /// - Throws: `timeout` when it outlives the store's deadline for readers; what `body` throws.
  func reading<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    do {
      do {
        return try store.read { try body($0) }
      } catch let error as StoreError where error.isOfIndex {
        return try store.read { try body($0) }
      }
    } catch let error as StoreError where error.code == .deadline {
      throw QueryError(
        .timeout, "the statement read for longer than the store lets one snapshot live while others write")
    }
  }
}
