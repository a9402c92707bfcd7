import CRDTCore
import DocStore
import QueryEngine
import TestKit

extension ComparedStore {
  /// Compares a writing statement's effect on the documents, its answer, and what live queries then show.
  func compareWrite() throws {
    _ = try store.write { transaction in
      try planting.run {
        if draws.random.oneIn(2) {
          try compareUpdate(in: transaction)
        } else {
          try compareRemoval(in: transaction)
        }
        try compareQuery(in: transaction)
      }
    }
    try compareLive()
    try refill()
    try compareLive()
  }

  private func compareUpdate(in transaction: WriteTransaction) throws {
    let update = draws.update(Self.collection, indexes)
    let statement = Statement.update(update)
    let accepted = Set(try reference.accepted(update.predicate))
    let result = try engine.execute(statement, in: transaction)
    let changed = Set(result.mutatedDocumentIDs)
    try expect(
      changed == accepted && changed.count == result.mutatedDocumentIDs.count
        ? nil : "\(result.mutatedDocumentIDs.count) documents changed in place of \(accepted.count)",
      "\(statement)")
    for id in accepted { reference.documents[id] = Self.updated(reference.documents[id] ?? [:], update) }
    try compareDocuments(statement, in: transaction)
    try compareReturned(result.rows, accepted.map { reference.row($0) }, statement)
  }

  private static func updated(_ document: [TextKey: Value], _ update: Update) -> [TextKey: Value] {
    var document = document
    for application in update.applications {
      let name = application.path[0]
      switch document[name] {
      case .int(let number), .counter(let number): document[name] = .counter(number + 1)
      default: document[name] = .counter(1)
      }
    }
    for assignment in update.assignments {
      if case .literal(let value) = assignment.value { document[assignment.path[0]] = value }
    }
    for removal in update.removals { document[removal[0]] = nil }
    return document
  }

  private func compareRemoval(in transaction: WriteTransaction) throws {
    let removal = draws.removal(Self.collection, indexes)
    let statement = draws.random.oneIn(4) ? Statement.evict(removal) : .delete(removal)
    let removed = try engine.execute(statement, in: transaction)
    // What DELETE finds is what a query with its clauses does.
    let select = Select(
      from: removal.target, predicate: removal.predicate, order: removal.order, limit: removal.limit)
    let gone = removed.mutatedDocumentIDs
    try expect(
      Set(gone).count == gone.count
        ? ExpectedRows(select, reference).fault(of: gone.map { reference.row($0) })
        : "a document is removed twice",
      "\(statement)")
    try compareReturned(removed.rows, gone.map { reference.row($0) }, statement)
    for id in gone { reference.documents[id] = nil }
    try compareDocuments(statement, in: transaction)
  }

  private func compareReturned(
    _ rows: [Row], _ expected: [[TextKey: Value]], _ statement: Statement
  ) throws {
    let found = try rows.map { try Value.map($0.values()) }
    let isRight = Set(found) == Set(expected.map { .map($0) }) && found.count == expected.count
    try expect(
      isRight ? nil : "RETURNING answers \(found.count) rows in place of \(expected.count), or others",
      "\(statement)")
  }

  private func compareDocuments(_ statement: Statement, in transaction: WriteTransaction) throws {
    let found = try Self.stored(Self.collection, in: transaction)
    let wrong = Set(found.keys).union(reference.documents.keys)
      .first { found[$0].map(Value.map) != reference.documents[$0].map(Value.map) }
    try expect(
      wrong.map { "\(found[$0] ?? [:]) stands in place of \(reference.documents[$0] ?? [:])" }, "\(statement)"
    )
  }
}
