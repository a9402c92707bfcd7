import CRDTCore
import DocStore

/// What a reader makes of a damaged store.
struct DamageCheck {
  /// Documents that read as they were, that were refused as damaged, and that are not found any more.
  private(set) var intact = 0
  private(set) var refused = 0
  private(set) var absent = 0
  /// Documents that were handed out as something they never were.
  private(set) var wrong = 0
  /// Whether readers were told, of whatever they read.
  private(set) var isNoticed = false
  /// Indexes that give other documents than they did, or in another order, without a word.
  private(set) var misorders = 0
  /// Whether the verification of the whole store says that something is wrong.
  private(set) var isVerified = false
  /// Whether what was noticed was an index, which has been made anew since: all reads as it did.
  private(set) var isMended = false
  private var isIndexDamaged = false
  /// The error at open.
  private(set) var openError: StoreError.Code?

  /// Reads all of a store; unless it `verifies` records' checks, wrong bytes must come out.
  init(_ path: String, _ reference: Reference, verifies: Bool) throws {
    let store: Store
    do {
      store = try Reference.open(path, trustsPages: !verifies)
    } catch let error as StoreError {
      openError = error.code
      return
    }
    defer { store.close() }
    for (name, documents) in reference.documents {
      for (id, expected) in documents { read(store, name, id, expected, verifies: verifies) }
    }
    isNoticed = !scan(store, reference, verifies: verifies)
    for index in Chores.indexes {
      do {
        if try Reference.order(of: index, store) != reference.rows[index.name] ?? [] { misorders += 1 }
      } catch {
        (isNoticed, isIndexDamaged) = (true, true)
      }
    }
    isVerified = try !store.verify().isIntact
    // A damaged index is made anew as soon as somebody has met the damage, maybe before all was verified.
    if isIndexDamaged, !isVerified {
      isMended = scan(store, reference, verifies: verifies) && hasRightIndexes(store, reference)
    }
  }

  private func hasRightIndexes(_ store: Store, _ reference: Reference) -> Bool {
    Chores.indexes.allSatisfy {
      (try? Reference.order(of: $0, store)) == reference.rows[$0.name] ?? []
    }
  }

  /// Looks one document up by its key.
  private mutating func read(
    _ store: Store, _ name: String, _ id: [UInt8], _ expected: [UInt8], verifies: Bool
  ) {
    do {
      let found = try store.read { tx -> [UInt8]? in
        guard let collection = try tx.collection(name) else { return nil }
        let id = DocumentID(trusted: id)
        if verifies { return try tx.record(collection, id)?.bytes }
        var bytes: [UInt8]?
        try tx.forEachRecord(in: collection, from: id.bytes, to: id.bytes + [0]) { _, _, record in
          bytes = record.copy()
          return false
        }
        return bytes
      }
      if found == expected { intact += 1 } else if found == nil { absent += 1 } else { wrong += 1 }
    } catch {
      refused += 1
    }
  }

  /// Reads everything there is, in order.
  ///
  /// - Returns: `false` when something does not fit.
  private mutating func scan(_ store: Store, _ reference: Reference, verifies: Bool) -> Bool {
    do {
      return try store.read { tx in
        var isWhole = true
        for info in try tx.collections() {
          guard let collection = try tx.collection(info.name) else { return false }
          var alive = 0
          try tx.forEachRecord(in: collection, verify: verifies) { id, _, record in
            alive += record.isAlive ? 1 : 0
            let id = id.withUnsafeBytes { Array($0) }
            if let expected = reference.documents[info.name]?[id], record.copy() == expected { return true }
            wrong += 1
            return true
          }
          isWhole = isWhole && alive == info.documentCount
        }
        try tx.changes(after: 0) { entry in
          try entry.forEachMember { _, _, _, _, _ in true }
          return true
        }
        _ = try tx.oversizeDocuments()
        return isWhole
      }
    } catch {
      return false
    }
  }
}

extension RecordView {
  /// The record's own bytes.
  fileprivate func copy() -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}
