import CRDTCore
import DocStore
import Failpoints

extension Engine {
  /// DELETE and EVICT, which differ in what they do to each document.
  ///
  /// The rows of RETURNING are evaluated before the first document is removed.
  func execute(
    _ removal: Removal, _ arguments: [TextKey: Value], in transaction: WriteTransaction,
    _ context: StatementContext, as mutation: PlanNode.Mutation
  ) throws -> QueryResult {
    if try SystemCollection.named(removal.collection) == .requestHistory, removal.isWhole {
      requests.clear()
      return QueryResult()
    }
    var removal = removal
    removal.predicate = try answering(removal.predicate, arguments, in: transaction, context)
    removal.target.hints = removal.target.hints.or(settings.hints)
    let catalogue = try QueryCatalogue([removal.collection], in: transaction)
    note(removal.mistakes(catalogue), context)
    let plan = try Planner.plan(removal, arguments: arguments, catalogue: catalogue).writable()
    context.profile?.begin(plan.root(of: mutation))
    let returning = try Returning(removal.returning, arguments, context)
    var ids = try plan.ids(in: transaction, context)
    if !ids.isEmpty, QueryDefect.removalMissesDocument.isPlanted { ids.removeLast() }
    let shown = try returning?.rows(of: ids, in: removal.collection, transaction)
    let removed = try ids.filter { id in
      try context.pollWriting()
      return mutation == .evict
        ? try transaction.evict(id, in: removal.collection)
        : try transaction.remove(id, in: removal.collection)
    }
    context.profile?.end(rows: removed.count)
    guard let shown else { return QueryResult(mutatedDocumentIDs: removed) }
    let gone = Set(removed)
    let rows = shown.filter { gone.contains($0.id) }.map(\.row)
    do {
      return QueryResult(rows: try returning?.answer(rows) ?? [], mutatedDocumentIDs: removed)
    } catch {
      transaction.giveUp("RETURNING failed after the statement had written")
      throw error
    }
  }
}

extension Removal {
  /// Whether it names the collection and nothing more.
  fileprivate var isWhole: Bool { self == Removal(from: target) }
}
