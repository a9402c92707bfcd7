package import CRDTCore
package import DocStore
import Links
import QueryEngine

/// What commands report of a store, as JSON.
///
/// The report is the same whether the command has opened the store or asks a peer that has opened it.
package enum StoreReport {
  /// The number of documents of a collection that are examined for its schema.
  package static let schemaDocuments = 1_000

  // MARK: - The whole store

  /// The figures of a store.
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
      "unreadDocuments": report.unreadDocuments.map { Value.count($0) } ?? .null,
      "unreadEntries": report.unreadEntries.map { Value.count($0) } ?? .null,
      "unreadPages": .count(report.unreadPages),
    ]
  }

  /// Reports how far a store's clock is ahead of the wall clock, and resets the clock on request.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - isTrusted: Whether to declare the wall clock right and to restart the store's clock from it.
  /// - Returns: How far the clock was ahead, and whether it was restarted.
  /// - Throws: What the store throws.
  package static func clock(of store: Store, isTrusted: Bool) throws -> [TextKey: Value] {
    let lead = try store.clockLead()
    let hasBegun = isTrusted ? try store.trustClock() : false
    return ["leadSeconds": .count(Int(lead / .seconds(1))), "beganAnew": .bool(hasBegun)]
  }

  // MARK: - What is not there

  /// Finds a collection that was written at some time.
  ///
  /// - Throws: `notFound` for any other name, with the nearest existing one; what the store throws.
  package static func existing(
    _ name: String, in transaction: borrowing ReadTransaction
  ) throws -> DocStore.Collection {
    if let collection = try transaction.collection(name) { return collection }
    let near = NameDistance.nearest(to: name, among: try transaction.collections().map(\.name))
    let hint = near.map { "; did you mean '\($0)'?" } ?? ""
    throw ControlError(.notFound, PlainText.of("there is no collection '\(name)'\(hint)"))
  }

  /// The error for a document that does not exist; the collection may be what is missing.
  ///
  /// - Parameters:
  ///   - document: The document's id, as users write it.
  ///   - name: The collection.
  ///   - transaction: The transaction that was read from.
  /// - Returns: The error for the user.
  package static func absence(
    of document: String, in name: String, _ transaction: borrowing ReadTransaction
  ) -> any Error {
    do {
      _ = try existing(name, in: transaction)
      var hint = ""
      if let other = DocumentID.alternative(toWritten: document), try isKnown(other, in: name, transaction) {
        hint = "; there is one whose _id is \(kind(of: other)) \(JSON.text(of: other.value))"
      }
      return ControlError(.notFound, PlainText.of("\(name) has no document \(document)\(hint)"))
    } catch {
      return error
    }
  }

  // MARK: - Ids as users write them

  /// Finds the document that a user means.
  ///
  /// If no document has the id, it may be one whose id is a text in place of a number, or the reverse.
  ///
  /// - Parameters:
  ///   - text: The id as users write it.
  ///   - name: The collection, which need not exist.
  ///   - transaction: The snapshot in which to look.
  /// - Returns: The id, and a hint where it is not certain or not the one that was written.
  /// - Throws: `invalidDocumentID`; what the store throws.
  package static func find(
    _ text: String, in name: String, _ transaction: borrowing ReadTransaction
  ) throws -> (id: DocumentID, hint: String?) {
    let id = try DocumentID(written: text)
    guard let other = DocumentID.alternative(toWritten: text), try !isKnown(id, in: name, transaction) else {
      return (id, nil)
    }
    let (first, second) = (
      "\(kind(of: id)) \(JSON.text(of: id.value))", "\(kind(of: other)) \(JSON.text(of: other.value))"
    )
    if try isKnown(other, in: name, transaction) {
      return (
        other, "No document has \(first) as its _id, so this is about the one that has \(second)."
      )
    }
    return (id, "The _id is taken to be \(first). There is no document here that has \(second), either.")
  }

  private static func kind(of id: DocumentID) -> String {
    switch id.value {
    case .int: "the number"
    case .string: "the text"
    default: "the value"
    }
  }

  private static func isKnown(
    _ id: DocumentID, in name: String, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard let collection = try transaction.collection(name) else { return false }
    var isDamaged = false
    let isIntact = try transaction.visitIntactRecord(collection, id, damaged: { _ in isDamaged = true }) {
      _, _, _ in
    }
    return isIntact || isDamaged
  }

  // MARK: - Inspecting

  /// Describes the content of a store, of one collection, or of one document.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - collection: A collection, whose records are checked.
  ///   - document: The id of one document, as users write it.
  ///   - check: Called from time to time; what it throws ends the work.
  /// - Returns: The fields for display.
  /// - Throws: `notFound` for a collection or a document that does not exist; what the store throws.
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
