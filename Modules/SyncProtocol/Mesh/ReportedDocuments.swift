import CRDTCore
import Failpoints

/// The documents that the other side has reported: a filter, then ids.
///
/// Above a bound, the ids are folded into a second filter.
struct ReportedDocuments {
  private let tuning: SyncTuning
  private var ids: Set<UInt64> = []
  private var folded: IDFilter?
  private var foldedCount = 0
  var filter: IDFilter?

  init(_ tuning: SyncTuning) { self.tuning = tuning }

  /// Whether the second filter has so many ids that false positives are frequent.
  var isFull: Bool { foldedCount > 3 * tuning.notices.exactNotices }

  /// Bytes of its filters.
  var byteCount: Int { (filter?.bytes.count ?? 0) + (folded?.bytes.count ?? 0) }

  /// Approximate memory of its ids.
  var idBytes: Int { ids.count * SyncLimits.reportedIDBytes }

  mutating func insert(_ hash: UInt64) {
    ids.insert(hash)
    guard ids.count > tuning.notices.exactNotices else { return }
    var filter = folded ?? IDFilter(byteCount: SyncLimits.foldedFilterBytes)
    folded = nil
    if !SyncDefect.noticesForgotten.isPlanted { for hash in ids { filter.insert(hash) } }
    folded = filter
    foldedCount += ids.count
    ids = []
  }

  func contains(_ hash: UInt64) -> Bool {
    ids.contains(hash) || filter?.contains(hash) == true || folded?.contains(hash) == true
  }
}
