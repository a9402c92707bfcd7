package import CRDTCore
package import DocStore
import QueryEngine
import Transports

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
      "clockLeadSeconds": .count(Int(statistics.clockLead / .seconds(1))),
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

  /// How far a store's clock is ahead of the wall clock, which may be declared right.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - isTrusted: Whether the clock begins anew at the wall clock.
  /// - Returns: How far it was ahead, and whether it has begun anew.
  /// - Throws: What the store throws.
  package static func clock(of store: Store, isTrusted: Bool) throws -> [TextKey: Value] {
    let lead = try store.clockLead()
    let hasBegun = isTrusted ? try store.trustClock() : false
    return ["leadSeconds": .count(Int(lead / .seconds(1))), "beganAnew": .bool(hasBegun)]
  }

  // MARK: - What is not there

  /// A collection that was written at some time.
  ///
  /// - Throws: `notFound` for another one, with the nearest name; what the store throws.
  package static func existing(
    _ name: String, in transaction: borrowing ReadTransaction
  ) throws -> DocStore.Collection {
    if let collection = try transaction.collection(name) { return collection }
    let near = NameDistance.nearest(to: name, among: try transaction.collections().map(\.name))
    let hint = near.map { "; did you mean '\($0)'?" } ?? ""
    throw ControlError(.notFound, PlainText.of("there is no collection '\(name)'\(hint)"))
  }

  /// The error for a document that is not there: its collection may be what is missing.
  ///
  /// - Parameters:
  ///   - document: Its id, as users write it.
  ///   - name: The collection.
  ///   - transaction: What was read.
  /// - Returns: What the reader is told.
  package static func absence(
    of document: String, in name: String, _ transaction: borrowing ReadTransaction
  ) -> any Error {
    do {
      _ = try existing(name, in: transaction)
      return ControlError(.notFound, PlainText.of("\(name) has no document \(document)"))
    } catch {
      return error
    }
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
  /// - Throws: `notFound` for a collection or a document that is not there; what the store throws.
  package static func inspect(
    _ store: Store, _ collection: String?, _ document: String?, check: () throws -> Void = {}
  ) throws -> [TextKey: Value] {
    guard let collection else { return try inspect(store, check) }
    guard let document else {
      return try store.read { transaction in
        _ = try existing(collection, in: transaction)
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
      let collection = try existing(name, in: transaction)
      guard let record = try transaction.record(collection, id) else {
        throw absence(of: text, in: name, transaction)
      }
      let (isAlive, fields) = try record.withView { ($0.isAlive, try $0.fields(collection.keys)) }
      return [
        "isAlive": .bool(isAlive), "recordBytes": .count(record.bytes.count), "fields": .map(fields),
      ]
    }
  }
}
