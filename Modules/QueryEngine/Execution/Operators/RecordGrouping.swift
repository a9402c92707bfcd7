import CRDTCore
import DocStore
import Failpoints

/// Groups the documents of one collection by values in their records, without a frame for each row.
struct RecordGrouping {
  private var keys: [ScalarProgram] = []
  private var operands: [ScalarProgram?] = []
  private let input: StagedPlan.Input

  /// - Returns: `nil` for a query of several sources or of a virtual collection, and for a query that reads
  ///   whole documents.
  init?(_ plan: StagedPlan, _ grouping: Grouping, _ context: StatementContext) throws(QueryError) {
    guard plan.inputs.count == 1, plan.filter == nil, let input = plan.inputs.first, !input.plan.isCovering,
      try SystemCollection.named(input.plan.collection) == nil, !input.paths.contains([])
    else { return nil }
    self.input = input
    keys = grouping.keys.map { ScalarProgram(input.onDocument($0), context) }
    operands = grouping.calls.map { call in
      call.operand.map { ScalarProgram(input.onDocument($0), context) }
    }
  }

  /// Adds the documents to their groups.
  ///
  /// - Returns: The number of documents.
  mutating func fill(
    _ groups: inout GroupTable, in source: borrowing some RecordSource & ~Copyable,
    _ context: StatementContext
  ) throws -> Int {
    guard let collection = try source.collection(input.plan.collection) else { return 0 }
    for index in keys.indices { keys[index].resolve(collection.keys) }
    for index in operands.indices { operands[index]?.resolve(collection.keys) }
    let (keys, operands) = (keys, operands)
    var count = 0
    var passesOver = QueryDefect.groupMissesDocument.isPlanted
    try input.plan.forEachMatch(in: source, collection, context) { id, record in
      if passesOver {
        passesOver = false
        return true
      }
      do throws(QueryError) {
        try groups.add(DocumentView(id, record), keys, operands)
      } catch {
        throw error.about(id)
      }
      count += 1
      return true
    }
    return count
  }
}

extension StagedPlan.Input {
  /// An expression over the source's slots, rewritten to one over its documents.
  fileprivate func onDocument(_ expression: Expression) -> Expression {
    expression.rewritten { (node) throws(Never) -> Expression in
      guard case .path(let path) = node, case .index(let slot)? = path.first,
        paths.indices.contains(slot - firstSlot)
      else { return node }
      return .path(paths[slot - firstSlot] + path.dropFirst())
    }
  }
}
