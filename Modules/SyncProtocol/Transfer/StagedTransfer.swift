import CRDTCore
import DocStore

/// What arrived of a large group before its link broke.
struct StagedTransfer: Sendable {
  /// Names it among those of one stage.
  var number: UInt64 = 0
  let bytes: [UInt8]
  /// When its link broke, or the process learnt of it.
  let since: Duration
  /// Whose documents the bytes are of.
  let collections: [String]
  /// The peer that they came from.
  let site: SiteID
  /// What the store has put aside of it.
  let kept: StagingID?
  let grain: Int
  let ends: [Int]

  /// Stages the beginning of a group.
  ///
  /// - Returns: `nil` for what is too little, or no beginning of a group.
  init?(_ bytes: [UInt8], from site: SiteID, kept: StagingID?, at now: Duration) {
    guard bytes.count >= SyncLimits.stagedBytes, let collections = ColumnGroup.collections(bytes) else {
      return nil
    }
    self.bytes = bytes
    since = now
    self.collections = collections
    self.site = site
    self.kept = kept
    grain = ContentParts.grain(of: bytes.count)
    ends = ContentParts.ends(in: bytes, grain: grain)
  }

  /// Where consecutive parts lie, with what is behind the last one if asked for.
  func range(first: Int, count: Int, includesTail: Bool) -> Range<Int>? {
    guard first >= 0, count >= 0, first <= ends.count, count <= ends.count - first,
      !includesTail || first + count == ends.count
    else { return nil }
    let start = first == 0 ? 0 : ends[first - 1]
    if includesTail { return start..<bytes.count }
    return start..<(count == 0 ? start : ends[first + count - 1])
  }
}
