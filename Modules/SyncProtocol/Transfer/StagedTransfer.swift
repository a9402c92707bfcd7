import CRDTCore
import DocStore

/// What arrived of a large group before its link broke.
struct StagedTransfer: Sendable {
  enum Content: Sendable {
    /// The beginning of a group, or of one part of it.
    case beginning([UInt8])
    /// Whole parts of a group that comes in parts; the store has them.
    case parts(StagedParts)
  }

  /// Names it among those of one stage.
  var number: UInt64 = 0
  let content: Content
  let outline: StagedOutline
  /// When its link broke, or the process learnt of it.
  let since: Duration
  /// What the store has put aside of a beginning.
  let kept: StagingID?

  /// Stages the beginning of a group.
  ///
  /// - Returns: `nil` for what is no beginning of a group.
  init?(_ bytes: [UInt8], from site: SiteID, kept: StagingID?, at now: Duration) {
    var outline = StagedOutline(from: site, grain: ContentParts.grain(of: bytes.count))
    guard outline.append(bytes[...], isWhole: false) else { return nil }
    content = .beginning(bytes)
    self.outline = outline
    self.kept = kept
    since = now
  }

  /// Stages parts that the store has put aside.
  init(_ parts: StagedParts, _ outline: StagedOutline, at now: Duration) {
    content = .parts(parts)
    self.outline = outline
    kept = nil
    since = now
  }

  /// What it takes in memory.
  var memoryBytes: Int {
    if case .beginning(let bytes) = content { bytes.count } else { outline.names.count * 16 }
  }

  var parts: StagedParts? { if case .parts(let parts) = content { parts } else { nil } }
  var isParts: Bool { parts != nil }

  /// The bytes of a range; `nil` when the store has them no more.
  func bytes(in range: Range<Int>, of store: Store) throws -> ArraySlice<UInt8>? {
    switch content {
    case .beginning(let bytes): bytes[range]
    case .parts(let parts): try store.read { try parts.bytes(in: range, $0) }
    }
  }
}
