import CRDTCore
import DocStore

/// CREATE INDEX and DROP INDEX, which use transactions of their own, one for each chunk of work.
extension Engine {
  func execute(_ index: CreateIndex, _ context: StatementContext) throws -> QueryResult {
    let definition = try index.definition()
    try context.poll()
    if index.allowsExisting, try hasIndex(index.name, on: index.collection) { return QueryResult() }
    do {
      try store.createIndex(definition) { progress in
        try context.poll()
        environment.indexProgress(progress)
      }
    } catch let error as StoreError where error.code == .indexExists && index.allowsExisting {
      // Another caller has created the index meanwhile.
    }
    return QueryResult()
  }

  func execute(_ index: DropIndex, _ context: StatementContext) throws -> QueryResult {
    try context.poll()
    do {
      try store.dropIndex(index.name, on: index.collection)
    } catch let error as StoreError where error.code == .indexNotFound && index.allowsMissing {
      // There is no such index, and IF EXISTS allows that.
    }
    return QueryResult()
  }

  /// Executes it as the blocking form does.
  @concurrent
  func execute(_ index: CreateIndex, _ context: StatementContext) async throws -> QueryResult {
    let definition = try index.definition()
    try context.poll()
    if index.allowsExisting, try hasIndex(index.name, on: index.collection) { return QueryResult() }
    do {
      try await store.createIndex(definition) { [environment] progress in
        try context.poll()
        environment.indexProgress(progress)
      }
    } catch let error as StoreError where error.code == .indexExists && index.allowsExisting {
      // Another caller has created the index meanwhile.
    }
    return QueryResult()
  }

  /// Executes it as the blocking form does.
  @concurrent
  func execute(_ index: DropIndex, _ context: StatementContext) async throws -> QueryResult {
    try context.poll()
    do {
      try await store.dropIndex(index.name, on: index.collection)
    } catch let error as StoreError where error.code == .indexNotFound && index.allowsMissing {
      // There is no such index, and IF EXISTS allows that.
    }
    return QueryResult()
  }

  private func hasIndex(_ name: String, on collection: String) throws -> Bool {
    try store.read { transaction in
      guard let collection = try transaction.collection(collection) else { return false }
      return try transaction.indexes(of: collection).contains { $0.definition.name.isSame(as: name) }
    }
  }
}

extension CreateIndex {
  /// The index definition for the store.
  func definition() throws(QueryError) -> IndexDefinition {
    if try SystemCollection.named(collection) != nil {
      throw QueryError(.unsupported, "the virtual collection '\(collection)' cannot have an index")
    }
    var fields: [IndexField] = []
    for key in keys {
      switch key.part {
      case .value: fields.append(IndexField(key.path, descending: key.descending))
      case .lowercase:
        fields.append(IndexField(key.path, part: .lowercase, descending: key.descending))
      case .elements:
        fields.append(IndexField(key.path, part: .elements, descending: key.descending))
      }
    }
    return IndexDefinition(name: name, collection: collection, fields: fields)
  }
}
