import CRDTCore
import DocStore

/// Compares all of a store with what it should hold.
struct StoreCheck {
  /// The greatest reading in any document.
  private(set) var latest = ClockReading.zero
  private(set) var sequence: UInt64 = 0

  /// - Parameters:
  ///   - store: The store that was opened after whatever happened to it.
  ///   - model: What was known to be in it; brought to what is found there.
  ///   - acknowledged: Each lane's last transaction that was acknowledged; one more may have lasted.
  ///   - isLatest: Whether that holds; if not, any number of transactions may have followed.
  /// - Throws: The first promise that is found broken.
  init(_ store: Store, _ model: inout Model, acknowledged: [Int], isLatest: Bool = true) throws {
    try Self.verify(store)
    let isPrepared = try Model.isPrepared(store)
    let found = try store.read { tx in try model.lanes.indices.map { try Self.progress(of: $0, tx) } }
    for (lane, count) in found.enumerated() {
      guard count >= acknowledged[lane] else {
        throw Failure(.lost, "lane \(lane) is at \(count), and \(acknowledged[lane]) was acknowledged")
      }
      guard !isLatest || count <= acknowledged[lane] + 1 else {
        throw Failure(.torn, "lane \(lane) is at \(count) after \(acknowledged[lane])")
      }
      model.advance(lane, to: count)
    }
    guard isPrepared || found.allSatisfy({ $0 == 0 }) else {
      throw Failure(.torn, "what was written first is not there")
    }
    try compare(store, isPrepared ? model.documents : [:])
    try store.read { try SideEntries.check(found, $0) }
  }

  /// Every page, checksum, count and index row.
  static func verify(_ store: Store) throws {
    let report = try store.verify()
    guard report.isIntact, report.areIndexesChecked else {
      throw Failure(
        .torn, "\(report.damageCount) damages, first \(report.damages.first?.description ?? "none")")
    }
  }

  private static func progress(of lane: Int, _ tx: borrowing ReadTransaction) throws -> Int {
    let place = Lane.progressPlace(lane)
    guard let collection = try tx.collection(place.collection) else { return 0 }
    let value = try tx.withRecord(collection, DocumentID(place.id)) { record, _ in
      try record.fields(collection.keys)["n"]
    }
    guard case .int(let count)? = value ?? nil else { return 0 }
    return Int(count)
  }

  private mutating func compare(_ store: Store, _ expected: [Place: [TextKey: Value]]) throws {
    try store.read { tx in
      sequence = tx.sequence
      var left = expected
      var sequences: [DocumentKey: UInt64] = [:]
      for info in try tx.collections() {
        let before = left.count
        try compareCollection(info.name, tx, &left, &sequences)
        guard before - left.count == info.documentCount else {
          throw Failure(.torn, "\(info.name) counts \(info.documentCount), holds \(before - left.count)")
        }
      }
      if let (place, _) = left.first { throw Failure(.torn, "\(place) is not there") }
      try checkLog(tx, sequences)
      guard try tx.oversizeDocuments().isEmpty else { throw Failure(.torn, "a document counts as too large") }
    }
  }

  private mutating func compareCollection(
    _ name: String, _ tx: borrowing ReadTransaction, _ left: inout [Place: [TextKey: Value]],
    _ sequences: inout [DocumentKey: UInt64]
  ) throws {
    guard let collection = try tx.collection(name) else {
      throw Failure(.unreadable, "the collection \(name) is listed and not there")
    }
    let sites = tx.sites
    var ids: [DocumentID] = []
    var latest = latest
    try tx.forEachRecord(in: collection, verify: true) { id, _, record in
      let id = try DocumentID(validating: id)
      ids.append(id)
      latest = max(latest, try record.vector(sites: sites).latest)
      guard record.isAlive else { return true }
      guard case .string(let text) = id.value else { throw Failure(.wrong, "an _id of another type") }
      let place = Place(collection: name, id: text)
      guard let expected = left.removeValue(forKey: place) else {
        throw Failure(.torn, "\(place) is there and should not be")
      }
      guard try record.fields(collection.keys) == expected else {
        throw Failure(.torn, "\(place) holds something else")
      }
      return true
    }
    self.latest = latest
    // Each by its key too, which goes another way through the tree.
    for id in ids {
      let sequence = try tx.sequence(of: id, in: collection)
      guard let sequence, sequence <= tx.sequence else {
        throw Failure(.torn, "a document is newer than the log")
      }
      sequences[DocumentKey(collection: collection.id, id: id)] = sequence
    }
  }

  /// Each document that changed since the log begins is named by the entry of that very change.
  private func checkLog(_ tx: borrowing ReadTransaction, _ sequences: [DocumentKey: UInt64]) throws {
    let last = tx.sequence
    var left = sequences.filter { $0.value > tx.logStart }
    var previous = tx.logStart
    try tx.changes(after: 0) { entry in
      guard entry.sequence <= last, entry.sequence >= previous else {
        throw Failure(.torn, "the log's entry \(entry.sequence) is out of order")
      }
      let (sequence, kind) = (entry.sequence, entry.kind)
      try entry.forEachMember { collection, _, id, _, _ in
        let key = DocumentKey(collection: collection, id: try DocumentID(validating: id))
        guard let found = left.removeValue(forKey: key), found > previous,
          kind == .loose || found == sequence
        else { throw Failure(.torn, "a member of the log's entry \(sequence) is of another commit") }
        return true
      }
      if kind != .evicted { previous = sequence }
      return true
    }
    guard left.isEmpty else { throw Failure(.torn, "the log names \(left.count) changed documents nowhere") }
    guard try tx.commitCheck(at: last) == UInt32(truncatingIfNeeded: tx.commitID) else {
      throw Failure(.torn, "the log ends with another commit")
    }
  }
}
