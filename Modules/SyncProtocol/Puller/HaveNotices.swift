import CRDTCore
import DocStore

/// Notices with which a receiver reports to the sender what it holds under its interest.
struct HaveNotices: NoticeRole {
  private unowned let puller: Puller

  init(_ puller: Puller) { self.puller = puller }

  var interest: Interest { puller.pull.interest }
  func covers(_ collection: String) -> Bool { interest.covers(collection) }
  func isOpen(_ collection: String) -> Bool { covers(collection) && puller.pull.mayReport(collection) }

  func heldCount(of collection: String) throws(SyncError) -> UInt64 {
    try puller.context.recordCount(of: collection)
  }

  func extraHashes(of collection: String) -> [UInt64] { [] }

  func notice(
    _ cleared: consuming Cleared, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ sites: SiteTable
  ) throws -> DocumentHave {
    DocumentHave(
      cleared, id: DocumentID(trusted: id.copied), hash: Fingerprint.hash(id: id, summary: summary),
      vector: try record.vector(sites: sites))
  }

  /// Its vector costs as much as seven more visits.
  var noticeVisits: Int { 7 }

  func notices(of ids: ArraySlice<DocumentID>, in collection: String) throws(SyncError) -> [DocumentHave] {
    try puller.evicted.haves(of: ids.map { DocumentName(collection: collection, id: $0) })
  }

  /// Sends notices, as part of the reconciliation if one is comparing, which then waits for the answers.
  func send(_ notices: [DocumentHave]) {
    if puller.pull.phase == .asking {
      puller.reconciler.report(notices)
    } else {
      puller.pull.sendHaves(notices, reconciliation: 0)
    }
  }
}
