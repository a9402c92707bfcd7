import CRDTCore
import DocStore

/// A walk over the documents that one end holds of a collection, for one role.
///
/// For a receiver these are the documents that match its interest. For a sender they are the documents that
/// do not match the receiver's interest, and the compacted tombstones. Of those only the hashes of ids are
/// known.
///
/// The walk can stop anywhere and go on later, even on another snapshot: changes in between arrive as events.
struct HeldScan {
  let role: NoticeHalf.Role
  @TextKey private(set) var collection: String
  private(set) var isDone = false
  private var place = Place.record(DocumentNumber(1))
  /// The last document at the first step; later documents arrive as events.
  private var last: DocumentNumber?

  /// Where the walk goes on.
  private enum Place {
    case record(DocumentNumber)
    case certificate(UInt64)
  }

  init(_ role: NoticeHalf.Role, _ collection: String) {
    self.role = role
    self.collection = collection
  }

  /// Visits records in storage order, then compacted tombstones, until the end or until the budget is spent.
  ///
  /// Each visit costs one unit of the budget. Documents that the other peer may not read, for which there is
  /// a `rule`, count as absent. Then so do all compacted tombstones, whose ids are not known.
  mutating func step(
    _ snapshot: borrowing ReadTransaction, _ interest: Interest, rule: ReadRule?, budget: inout Int,
    damaged: (DamagedRecord) -> Void,
    record visit: HeldVisitor, certificate visitCertificate: (_ idHash: UInt64) -> Void
  ) throws {
    guard let known = try snapshot.collection(collection), let matcher = interest.matcher(for: known)
    else {
      isDone = true
      return
    }
    if case .record(let first) = place {
      let role = role
      var rule = rule
      rule?.resolve(known.keys)
      let next = try visitRecords(
        snapshot, in: known, from: first, budget: &budget, damaged: damaged
      ) { id, summary, record, sites in
        if let rule, !rule.allows(id, record) { return }
        if matcher.matches(id, record) == (role == .haves) { try visit(id, summary, record, sites) }
      }
      place = next.map(Place.record) ?? .certificate(0)
    }
    guard case .certificate(let first) = place else { return }
    guard role == .offers, rule == nil else {
      isDone = true
      return
    }
    var next: UInt64?
    var left = budget
    try snapshot.forEachCertificate(in: known, from: first) { hash in
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

  /// Visits records in the order of their numbers.
  ///
  /// - Returns: Where to go on; `nil` when all are visited.
  private mutating func visitRecords(
    _ snapshot: borrowing ReadTransaction, in collection: Collection, from first: DocumentNumber,
    budget: inout Int, damaged: (DamagedRecord) -> Void, _ visit: HeldVisitor
  ) throws -> DocumentNumber? {
    let last = last ?? snapshot.lastNumber
    self.last = last
    guard first <= last else { return nil }
    var next: DocumentNumber?
    var left = budget
    let sites = snapshot.sites
    try snapshot.forEachIntactRecord(in: collection, numbers: first...last, damaged: damaged) {
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

/// Receives one held document, in place.
typealias HeldVisitor = (
  _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView, _ sites: SiteTable
) throws -> Void

/// A task of one half that may take several calls.
enum NoticeTask {
  /// Count the held documents, to size a filter.
  case count(HeldScan, UInt64, number: UInt64)
  /// Add the held documents to a filter, then send it.
  case fill(HeldScan, IDFilter, number: UInt64)
  /// Send notices of documents in their current state.
  case report(String, ArraySlice<DocumentID>)
  /// Send notices of all held documents.
  ///
  /// With a number, only documents that the other side has reported count, and only while that number is
  /// current. `found` are documents whose notices do not fill a frame yet.
  case reportHeld(HeldScan, number: UInt64?, found: [DocumentID])
}
