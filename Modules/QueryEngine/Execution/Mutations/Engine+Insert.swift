import CRDTCore
import DocStore

extension Engine {
  /// Evaluates and checks all documents before it writes the first.
  func execute(
    _ insert: Insert, _ arguments: [TextKey: Value], in transaction: WriteTransaction,
    _ context: StatementContext
  ) throws -> QueryResult {
    let types = try DeclaredTypes(insert.target.types)
    _ = try Planner.plan(Select(collection: insert.collection), arguments: [:]).writable()
    let returning = try Returning(insert.returning, arguments, context)
    let documents = try documents(of: insert.content, arguments, in: transaction, context)
    for document in documents { try types.checkAttachments(in: .map(document.fields)) }
    try refuseDuplicates(documents)
    if !insert.initial, insert.conflict == .fail { try refuseConflicts(documents, insert, transaction) }
    context.profile?.begin(.mutate(.insert, collection: insert.collection, nil))
    var mutated: [DocumentID] = []
    for document in documents {
      try context.pollWriting()
      if let id = try write(document, types, insert, transaction) { mutated.append(id) }
    }
    context.profile?.end(rows: mutated.count)
    return QueryResult(
      rows: try returning?.rows(ofWritten: mutated, in: insert.collection, transaction) ?? [],
      mutatedDocumentIDs: mutated)
  }

  private func documents(
    of content: Insert.Content, _ arguments: [TextKey: Value], in transaction: WriteTransaction,
    _ context: StatementContext
  ) throws -> [NewDocument] {
    switch content {
    case .documents(let expressions):
      var documents: [NewDocument] = []
      for expression in expressions {
        try context.poll(steps: 1)
        documents += try NewDocument.documents(
          in: Evaluator.evaluate(constant: expression, arguments: arguments, context: context))
      }
      return documents
    case .query(let select):
      return try rows(of: select, arguments, in: transaction, context).map { row in
        let values = try row.values()
        try context.reserveGathered(Value.map(values).memoryBytes)
        return try NewDocument(values)
      }
    }
  }

  /// - Returns: The document's id; `nil` when nothing was written.
  private func write(
    _ document: NewDocument, _ types: DeclaredTypes, _ insert: Insert, _ transaction: WriteTransaction
  ) throws -> DocumentID? {
    let name = insert.collection
    let fields = types.counting(document.fields)
    guard let id = document.id else {
      return try transaction.upsert(
        fields, into: name, strategy: insert.initial ? .insertDefaultIfAbsent : .merge)
    }
    let standing = try transaction.collection(name).flatMap { try transaction.record($0, id) }
    let isAlive = standing?.withView { $0.isAlive } ?? false
    if insert.initial {
      guard standing == nil else { return nil }
      return try transaction.upsert(fields, id: id, into: name, strategy: .insertDefaultIfAbsent)
    }
    switch insert.conflict {
    case .doNothing where isAlive: return nil
    case .doUpdateLocalDiff where isAlive:
      try transaction.upsert(fields, id: id, into: name, strategy: .updateDifferentValues)
      let written = try transaction.collection(name).flatMap { try transaction.record($0, id) }
      return written == standing ? nil : id
    case .fail, .doNothing, .doUpdate, .doUpdateLocalDiff:
      let (merged, replacements) = types.split(fields, onlyObjects: !isAlive)
      try transaction.upsert(merged, id: id, into: name, strategy: .merge)
      if !replacements.isEmpty { try transaction.update(id, in: name, replacements) }
      return id
    }
  }

  private func refuseDuplicates(_ documents: [NewDocument]) throws(QueryError) {
    var seen: Set<DocumentID> = []
    for id in documents.compactMap(\.id) where !seen.insert(id).inserted {
      throw QueryError(
        .conflict,
        "Expected unique document identifiers: \(JSON.text(of: id.value)) comes twice in one INSERT")
    }
  }

  private func refuseConflicts(
    _ documents: [NewDocument], _ insert: Insert, _ transaction: WriteTransaction
  ) throws {
    let collection = try transaction.collection(insert.collection)
    for id in documents.compactMap(\.id) {
      let isTaken = try collection.flatMap {
        try transaction.withRecord($0, id) { record, _ in record.isAlive }
      }
      guard isTaken != true else {
        throw QueryError(
          .conflict,
          "the document \(JSON.text(of: id.value)) exists in '\(insert.collection)': "
            + "INSERT is using FAIL conflict policy")
      }
    }
  }
}

/// A document to insert, with all checks done that are possible before it is written.
private struct NewDocument {
  /// `nil`: an id is made when the document is written.
  let id: DocumentID?
  let fields: [TextKey: Value]

  init(_ fields: [TextKey: Value]) throws(QueryError) {
    let fields = fields.mapValues(\.withoutDecimals)
    do throws(DocumentError) {
      if let value = fields["_id"] { id = try DocumentID(value) } else { id = nil }
      try Value.map(fields).checked(depth: 0)
    } catch {
      throw QueryError(.argument, error.description)
    }
    self.fields = fields
  }

  static func documents(in value: Value?) throws(QueryError) -> [NewDocument] {
    switch value {
    case .map(let fields): return [try NewDocument(fields)]
    case .array(let elements):
      var documents: [NewDocument] = []
      for element in elements {
        guard case .map(let fields) = element else { break }
        documents.append(try NewDocument(fields))
      }
      if documents.count == elements.count { return documents }
    default: break
    }
    throw QueryError(.argument, "INSERT expects a document, or an array of documents")
  }
}
