import CRDTCore
import Failpoints

/// What the other side has told of: a filter, then ids; beyond a bound these are folded into a second filter.
struct ToldDocuments {
  private let tuning: SyncTuning
  private var ids: Set<UInt64> = []
  private var folded: IDFilter?
  private var foldedCount = 0
  var filter: IDFilter?

  init(_ tuning: SyncTuning) { self.tuning = tuning }

  /// Whether so many are folded in that they hit much by chance.
  var isFull: Bool { foldedCount > 3 * tuning.exactNotices }

  /// Bytes of its filters.
  var byteCount: Int { (filter?.bytes.count ?? 0) + (folded?.bytes.count ?? 0) }

  /// Bytes of its ids in memory, about.
  var idBytes: Int { ids.count * SyncLimits.toldIDBytes }

  mutating func insert(_ hash: UInt64) {
    ids.insert(hash)
    guard ids.count > tuning.exactNotices else { return }
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
