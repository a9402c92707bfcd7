import CRDTCore
import DocStore

/// A walk over what one end holds of a collection in a role: what a receiver holds under its interest; or what a sender
/// holds that does not match the receiver's, and certificates, which are known by the hashes of ids alone.
///
/// It can stop anywhere and go on later, also on another snapshot: what changes in between is an event.
struct HeldScan {
  let role: Telling.Role
  @TextKey private(set) var collection: String
  private(set) var isDone = false
  private var place = Place.record([])

  private enum Place {
    case record([UInt8])
    case certificate(UInt64)
  }

  init(_ role: Telling.Role, _ collection: String) {
    self.role = role
    self.collection = collection
  }

  /// Visits records, then certificates, until all or the budget is spent; what is visited costs one.
  mutating func step(
    _ transaction: borrowing ReadTransaction, _ interest: inout Interest, budget: inout Int,
    damaged: (DamagedRecord) -> Void,
    record visit: HeldVisitor, certificate visitCertificate: (_ idHash: UInt64) -> Void
  ) throws {
    guard let known = try transaction.collection(collection), let matcher = interest.matcher(for: known)
    else {
      isDone = true
      return
    }
    var left = budget
    let sites = transaction.sites
    if case .record(let from) = place {
      var next: Place?
      let role = role
      try transaction.forEachIntactRecord(in: known, from: from, damaged: damaged) {
        _, id, summary, record in
        guard left > 0 else {
          next = .record(id.copied)
          return false
        }
        left -= 1
        if matcher.matches(id, record) == (role == .haves) { try visit(id, summary, record, sites) }
        return true
      }
      place = next ?? .certificate(0)
    }
    if case .certificate(let from) = place, role == .offers {
      var next: Place?
      try transaction.forEachCertificate(in: known, from: from) { hash in
        guard left > 0 else {
          next = .certificate(hash)
          return false
        }
        left -= 1
        visitCertificate(hash)
        return true
      }
      if let next { place = next } else { isDone = true }
    } else if case .certificate = place {
      isDone = true
    }
    budget = left
  }
}

/// Gets one document that is held, in place.
typealias HeldVisitor = (
  _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView, _ sites: SiteTable
) throws -> Void

extension SessionContext {
  /// Goes on with a walk, on a snapshot of now.
  func step(
    _ scan: inout HeldScan, _ interest: inout Interest, budget: inout Int, record visit: HeldVisitor,
    certificate visitCertificate: (_ idHash: UInt64) -> Void = { _ in }
  ) throws(SyncError) {
    try read { transaction in
      try scan.step(
        transaction, &interest, budget: &budget, damaged: tellDamaged, record: visit,
        certificate: visitCertificate)
    }
  }

  /// About how many documents of a collection one end holds in a role: all records that there are.
  func recordCount(of collection: String) throws(SyncError) -> UInt64 {
    try read { try $0.recordCount(of: collection) }
  }

  /// Deletions of a collection of which only a certificate is left.
  func certificateCount(of collection: String) throws(SyncError) -> UInt64 {
    try read { transaction in
      var count: UInt64 = 0
      guard let known = try transaction.collection(collection) else { return count }
      try transaction.forEachCertificate(in: known) { _ in
        count += 1
        return true
      }
      return count
    }
  }
}

extension ReadTransaction {
  /// The records of a collection, those of deleted documents included.
  fileprivate borrowing func recordCount(of collection: String) throws -> UInt64 {
    let info = try collections().first { $0.name.isSame(as: collection) }
    return info.map { UInt64($0.documentCount + $0.tombstoneCount) } ?? 0
  }
}

/// A piece of work for a half, which may take several calls.
enum TellingTask {
  /// Count what is held, for a filter.
  case count(RangeScan, number: UInt64)
  /// Put what is held in a filter, then send it.
  case fill(HeldScan, IDFilter, number: UInt64)
  /// Tell of documents, as they are by now.
  case tell(String, ArraySlice<DocumentID>)
  /// Tell of what is held: where there is a number, of that alone which the other side has told of, while that counts.
  case tellHeld(HeldScan, number: UInt64?)
}
