package import CRDTCore
package import DocStore

/// What commands say of a store, as JSON: the same whether they have it open themselves or ask the peer that has.
package enum StoreReport {
  /// Documents of a collection that are looked at for its schema.
  package static let schemaDocuments = 1_000

  // MARK: - The whole store

  /// How a store stands.
  package static func statistics(of store: Store) throws -> [TextKey: Value] {
    let statistics = try store.statistics()
    let collections = statistics.collections.map { info in
      let counts: [TextKey: Value] = [
        "documents": .count(info.documentCount), "tombstones": .count(info.tombstoneCount),
      ]
      return (TextKey(info.name), Value.map(counts))
    }
    return [
      "site": .string(statistics.site.description), "sequence": .count(statistics.sequence),
      "identityChange": statistics.identityChange.map { .string($0.reason.rawValue) } ?? .null,
      "sites": .count(statistics.siteCount), "documents": .count(statistics.documentCount),
      "tombstones": .count(statistics.tombstoneCount), "oversize": .count(statistics.oversizeCount),
      "fileBytes": .count(statistics.fileBytes), "usedBytes": .count(statistics.usedBytes),
      "freeBytes": .count(statistics.freePages * statistics.pageBytes),
      "mapBytes": .count(statistics.mapBytes),
      "collections": .map(Dictionary(collections, uniquingKeysWith: { $1 })),
    ]
  }

  /// The collections, with how many documents each has.
  package static func collections(of store: Store) throws -> [TextKey: Value] {
    let collections = try store.read { try $0.collections() }
    return [
      "collections": .array(
        collections.map {
          .map(["name": .string($0.name), "documents": .count($0.documentCount)])
        })
    ]
  }

  /// What a verification has found.
  package static func values(of report: VerificationReport) -> [TextKey: Value] {
    [
      "damages": .array(report.damages.map { .string("\($0)") }), "damageCount": .count(report.damageCount),
      "documents": .count(report.documentCount), "entries": .count(report.entryCount),
      "pages": .count(report.pageCount), "isIntact": .bool(report.isIntact),
    ]
  }

  // MARK: - Inspecting

  /// What a store holds, or one of its collections, or one document of that.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - collection: A collection, whose records are checked.
  ///   - document: The id of one document, as users write it.
  ///   - check: Asked now and then; what it throws ends the work.
  /// - Returns: What is to be shown.
  /// - Throws: `notFound` for a document that is not there; what the store throws.
  package static func inspect(
    _ store: Store, _ collection: String?, _ document: String?, check: () throws -> Void = {}
  ) throws -> [TextKey: Value] {
    guard let collection else { return try inspect(store, check) }
    guard let document else {
      return try store.read { transaction in
        let figures = try CollectionFigures(collection, in: transaction, check: check)
        return [
          "documents": .count(figures.documents), "tombstones": .count(figures.tombstones),
          "recordBytes": .count(figures.recordBytes), "damaged": .count(figures.damaged),
          "digest": .string(figures.digest),
        ]
      }
    }
    return try inspect(store, collection, DocumentID(written: document), document)
  }

  private static func inspect(_ store: Store, _ check: () throws -> Void) throws -> [TextKey: Value] {
    try store.read { transaction in
      let collections = try transaction.collections().map { info -> Value in
        let figures = try CollectionFigures(info.name, in: transaction, check: check)
        return .map([
          "name": .string(info.name), "documents": .count(figures.documents),
          "digest": .string(figures.digest),
        ])
      }
      return [
        "site": .string(store.site.description), "sequence": .count(transaction.sequence),
        "collections": .array(collections),
      ]
    }
  }

  private static func inspect(
    _ store: Store, _ name: String, _ id: DocumentID, _ text: String
  ) throws -> [TextKey: Value] {
    try store.read { transaction in
      guard let collection = try transaction.collection(name),
        let record = try transaction.record(collection, id)
      else { throw ControlError(.notFound, "\(name) has no document \(text)") }
      let (isAlive, fields) = try record.withView { ($0.isAlive, try $0.fields(collection.keys)) }
      return [
        "isAlive": .bool(isAlive), "recordBytes": .count(record.bytes.count), "fields": .map(fields),
      ]
    }
  }
}
