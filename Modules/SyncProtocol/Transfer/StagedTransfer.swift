import CRDTCore
import DocStore
import Synchronization

/// The bytes of a staged beginning, which the stage shares with the sessions that have reported it.
final class StagedBytes: Sendable {
  /// The bytes of all beginnings that a stage has kept and that are still in memory.
  final class Total: Sendable {
    private let total = Atomic(0)

    var count: Int { total.load(ordering: .relaxed) }

    fileprivate func add(_ bytes: Int) { total.add(bytes, ordering: .relaxed) }
  }

  let bytes: [UInt8]
  private let total = Mutex<Total?>(nil)

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  deinit { total.withLock { $0?.add(-bytes.count) } }

  /// Counts the bytes for as long as anybody refers to them.
  func count(in total: Total) {
    self.total.withLock { counted in
      guard counted == nil else { return }
      counted = total
      total.add(bytes.count)
    }
  }
}

/// What arrived of a large transaction before its link broke.
struct StagedTransfer: Sendable {
  enum Content: Sendable {
    /// The beginning of a transaction or of one segment.
    case beginning(StagedBytes)
    /// Complete segments of a transaction; the store has them.
    case segments(ReusableSegments)
  }

  /// Its number within one stage.
  var number: UInt64 = 0
  let content: Content
  let outline: StagedOutline
  /// When its link broke, or when this process found it.
  let since: Duration
  /// The name under which the store has staged a beginning.
  let kept: StagingID?

  /// Stages the beginning of a transaction.
  ///
  /// - Returns: `nil` if the bytes are no beginning of a transaction.
  init?(_ bytes: [UInt8], from site: SiteID, kept: StagingID?, at now: Duration) {
    var outline = StagedOutline(from: site, grain: ContentChunks.grain(of: bytes.count))
    guard outline.append(bytes[...], isWhole: false) else { return nil }
    content = .beginning(StagedBytes(bytes))
    self.outline = outline
    self.kept = kept
    since = now
  }

  /// Stages segments that the store has.
  init(_ segments: ReusableSegments, _ outline: StagedOutline, at now: Duration) {
    content = .segments(segments)
    self.outline = outline
    kept = nil
    since = now
  }

  /// Approximate memory in bytes.
  var memoryBytes: Int {
    if case .beginning(let staged) = content { staged.bytes.count } else { outline.names.count * 16 }
  }

  var segments: ReusableSegments? { if case .segments(let segments) = content { segments } else { nil } }
  var isSegments: Bool { segments != nil }

  /// Returns the bytes of a range; `nil` when the store no longer has them.
  func bytes(in range: Range<Int>, of store: Store) throws -> ArraySlice<UInt8>? {
    switch content {
    case .beginning(let staged): staged.bytes[range]
    case .segments(let segments): try store.read { try segments.bytes(in: range, $0) }
    }
  }
}
