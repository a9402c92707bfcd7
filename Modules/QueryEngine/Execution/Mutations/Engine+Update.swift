import CRDTCore
import DocStore
import Failpoints

extension Engine {
  /// Evaluates all edits, on the documents as they were, before it writes the first.
  func execute(
    _ update: Update, _ arguments: [TextKey: Value], in transaction: WriteTransaction,
    _ context: StatementContext
  ) throws -> QueryResult {
    var update = update
    update.predicate = try answering(update.predicate, arguments, in: transaction, context)
    for index in update.assignments.indices {
      let value = update.assignments[index].value
      update.assignments[index].value =
        try answering(value, arguments, in: transaction, context) ?? value
    }
    update.target.hints = update.target.hints.or(settings.hints)
    let catalogue = try QueryCatalogue([update.collection], in: transaction)
    note(update.mistakes(catalogue), context)
    var plan = try Planner.plan(update, arguments: arguments, catalogue: catalogue).writable()
    context.profile?.begin(plan.root(of: .update))
    let returning = try Returning(update.returning, arguments, context)
    var modification = try Modification(update, arguments, context)
    guard let collection = try transaction.collection(update.collection) else {
      context.profile?.end(rows: 0)
      return QueryResult(rows: try returning?.answer([]) ?? [])
    }
    modification.resolve(collection.keys)
    let resolved = modification
    // The statement's order and bounds choose the documents first.
    let chosen = plan.hasWindow ? try plan.ids(in: transaction, context) : nil
    if let chosen { plan = plan.finding(chosen) }
    var changes: [(id: DocumentID, edits: [Edit])] = []
    try plan.forEachMatch(in: transaction, collection, context) { id, record in
      let edits = try resolved.edits(id, record, collection.keys)
      guard !edits.isEmpty else { return true }
      try context.reserveGathered(edits.reduce(96) { $0 + 64 + ($1.value?.memoryBytes ?? 0) })
      changes.append((DocumentID(copying: id), edits))
      return true
    }
    if let chosen {
      let places = Dictionary(uniqueKeysWithValues: chosen.enumerated().map { ($1, $0) })
      changes.sort { (places[$0.id] ?? 0) < (places[$1.id] ?? 0) }
    }
    var mutated: [DocumentID] = []
    if QueryDefect.updateMissesDocument.isPlanted { changes = changes.dropLast() }
    for change in changes {
      try context.pollWriting()
      if try transaction.update(change.id, in: update.collection, change.edits) { mutated.append(change.id) }
    }
    let shown = QueryDefect.returningShort.isPlanted ? mutated.dropLast() : mutated
    context.profile?.end(rows: mutated.count)
    return QueryResult(
      rows: try returning?.rows(ofWritten: shown, in: update.collection, transaction) ?? [],
      mutatedDocumentIDs: mutated)
  }
}

extension Plan {
  /// Whether the statement orders or bounds its documents.
  fileprivate var hasWindow: Bool { !order.isEmpty || limit != nil || offset != 0 }

  /// The plan for some documents that it has found, without order and bounds.
  fileprivate func finding(_ ids: [DocumentID]) -> Plan {
    var plan = self
    plan.access = .ids(ids.sorted())
    (plan.order, plan.limit, plan.offset) = ([], nil, 0)
    return plan
  }
}
