import CRDTCore

/// A record of the damaged store that could not be rescued.
struct LostRecord {
  let key: [UInt8]
  /// The document's id, if the record names it.
  let id: DocumentID?
  let message: String
}

extension Rescue {
  /// Remembers that the record under `key` cannot be rescued, as long as the report has room.
  mutating func lose(_ key: [UInt8], _ message: String, id: DocumentID? = nil) {
    guard lost.count < VerificationReport.Limit.damages else { return }
    lost[key] = LostRecord(key: key, id: id, message: message)
  }

  /// Reports the documents that the new store lacks.
  ///
  /// They are named by the ids in the tables of ids, or otherwise by their keys.
  ///
  /// - Complexity: O(*n*) for a store of *n* documents if any of them may be lost, otherwise O(1).
  mutating func noteLosses(arePagesLost: Bool) throws {
    guard arePagesLost || !lost.isEmpty else { return }
    var walk = walk
    for table in ["ids", "recent"] {
      guard let tree = trees[TextKey(table)] else { continue }
      var batch: [(place: DocumentPlace, id: DocumentID)] = []
      var damaged: [PageDamage] = []
      try walk.walk(tree, as: .entries, damaged: { damaged.append($0) }) { key, value in
        guard let (collection, start) = IDKey.parse(key.rawBytes),
          let id = try? DocumentID(validating: key.rawBytes.extracting(start..<key.count)),
          let number = DocumentNumber(Array(value).rawBytes)
        else { return }
        batch.append((DocumentPlace(collection, number), id))
        guard batch.count >= Batch.documents else { return }
        try noteLacking(batch)
        batch = []
      }
      try noteLacking(batch)
      for damage in damaged { report.damage.note(.page, "\(damage.message), in the table \(table)") }
    }
    for record in lost.values.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      report.damage.note(
        .document, "\(record.message), under \(EntryChecks.digits(record.key))",
        collection: DocumentPlace(record.key.rawBytes).flatMap { names.collection($0.collection) },
        id: record.id.map { EntryChecks.digits($0.bytes) })
    }
  }

  /// Reports those of `documents` that the new store lacks.
  private mutating func noteLacking(_ documents: [(place: DocumentPlace, id: DocumentID)]) throws {
    let isLacking = try target.read { [names] transaction in
      try documents.map { place, id in
        guard let name = names.collection(place.collection), let collection = try transaction.collection(name)
        else { return true }
        return try transaction.withRecord(collection, id) { _, _ in } == nil
      }
    }
    for ((place, id), isLacking) in zip(documents, isLacking) {
      // A document that is damaged in one place may have been found in another.
      let record = lost.isEmpty ? nil : place.withKey { lost.removeValue(forKey: $0.copied) }
      guard isLacking else { continue }
      report.damage.note(
        .document, record?.message ?? "The record is missing, or its page is damaged",
        collection: names.collection(place.collection), id: EntryChecks.digits(id.bytes))
    }
  }
}
