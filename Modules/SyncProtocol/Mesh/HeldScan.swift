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
  private var place = Place.record(DocumentNumber(1))
  /// The last document that there was at the first step: what is new since is an event.
  private var last: DocumentNumber?

  /// Where it goes on.
  private enum Place {
    case record(DocumentNumber)
    case certificate(UInt64)
  }

  init(_ role: Telling.Role, _ collection: String) {
    self.role = role
    self.collection = collection
  }

  /// Visits records in the order in which they are stored, then certificates, until all or the budget is spent; what is
  /// visited costs one.
  mutating func step(
    _ transaction: borrowing ReadTransaction, _ interest: Interest, budget: inout Int,
    damaged: (DamagedRecord) -> Void,
    record visit: HeldVisitor, certificate visitCertificate: (_ idHash: UInt64) -> Void
  ) throws {
    guard let known = try transaction.collection(collection), let matcher = interest.matcher(for: known)
    else {
      isDone = true
      return
    }
    if case .record(let first) = place {
      let role = role
      let next = try visitRecords(
        transaction, in: known, from: first, budget: &budget, damaged: damaged
      ) { id, summary, record, sites in
        if matcher.matches(id, record) == (role == .haves) { try visit(id, summary, record, sites) }
      }
      place = next.map(Place.record) ?? .certificate(0)
    }
    guard case .certificate(let first) = place else { return }
    guard role == .offers else {
      isDone = true
      return
    }
    var next: UInt64?
    var left = budget
    try transaction.forEachCertificate(in: known, from: first) { hash in
      guard left > 0 else {
        next = hash
        return false
      }
      left -= 1
      visitCertificate(hash)
      return true
    }
    budget = left
    if let next { place = .certificate(next) } else { isDone = true }
  }

  /// Visits records by number.
  ///
  /// - Returns: Where to go on; `nil` when all were visited.
  private mutating func visitRecords(
    _ transaction: borrowing ReadTransaction, in collection: Collection, from first: DocumentNumber,
    budget: inout Int, damaged: (DamagedRecord) -> Void, _ visit: HeldVisitor
  ) throws -> DocumentNumber? {
    let last = last ?? transaction.lastNumber
    self.last = last
    guard first <= last else { return nil }
    var next: DocumentNumber?
    var left = budget
    let sites = transaction.sites
    try transaction.forEachIntactRecord(in: collection, numbers: first...last, damaged: damaged) {
      number, id, summary, record in
      guard left > 0 else {
        next = number
        return false
      }
      left -= 1
      try visit(id, summary, record, sites)
      return true
    }
    budget = left
    return next
  }
}

/// Gets one document that is held, in place.
typealias HeldVisitor = (
  _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView, _ sites: SiteTable
) throws -> Void

extension SessionContext {
  /// Goes on with a walk, on a snapshot of now.
  func step(
    _ scan: inout HeldScan, _ interest: Interest, budget: inout Int, record visit: HeldVisitor,
    certificate visitCertificate: (_ idHash: UInt64) -> Void = { _ in }
  ) throws(SyncError) {
    try read { transaction in
      try scan.step(
        transaction, interest, budget: &budget, damaged: tellDamaged, record: visit,
        certificate: visitCertificate)
    }
  }

  /// Bytes that one more filter may take: of those of its role, and of what is held for this peer and for all.
  func filterRoom(_ telling: Tellings) -> Int {
    min(
      telling.room,
      shared.memory.askedRoom(
        of: id, own: configuration.peerMemoryBytes / 2, limit: configuration.allPeersMemoryBytes / 2))
  }

  /// About how many documents of a collection one end holds in a role: all records that there are.
  func recordCount(of collection: String) throws(SyncError) -> UInt64 {
    try read { try $0.recordCount(of: collection) }
  }

  /// Deletions of a collection of which only a certificate is left; of many those of all collections.
  ///
  /// - Complexity: O(1), as only few are counted.
  func certificateCount(of collection: String) throws(SyncError) -> UInt64 {
    try read { transaction in
      var count = 0
      guard let known = try transaction.collection(collection) else { return 0 }
      try transaction.forEachCertificate(in: known) { _ in
        count += 1
        return count < SyncLimits.countedCertificates
      }
      return UInt64(count < SyncLimits.countedCertificates ? count : try transaction.certificateCount())
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
  case count(HeldScan, UInt64, number: UInt64)
  /// Put what is held in a filter, then send it.
  case fill(HeldScan, IDFilter, number: UInt64)
  /// Tell of documents, as they are by now.
  case tell(String, ArraySlice<DocumentID>)
  /// Tell of what is held: where there is a number, of that alone which the other side has told of, while that counts.
  case tellHeld(HeldScan, number: UInt64?)
}
