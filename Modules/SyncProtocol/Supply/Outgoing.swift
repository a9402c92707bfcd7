import CRDTCore

/// Groups on their way: small ones packed into fragments, large ones cut into chunks between them.
final class Outgoing {
  /// A large group that is being sent, or waits.
  private struct Transfer {
    let bytes: [UInt8]
    let documents: Int
    let sequence: UInt64
    var offset = 0
  }

  /// A small group in the stream, by where it ends.
  private struct SmallGroup {
    let end: UInt64
    let documents: Int
    let sequence: UInt64
  }

  private let context: SessionContext
  private let packer: Packer
  private(set) var window: FlowWindow
  private var stream: [UInt8] = []
  /// Bytes of the stream that were sent before those in `stream`.
  private var streamStart: UInt64 = 0
  private var smallGroups = WorkQueue<SmallGroup>()
  private var transfers = WorkQueue<Transfer>()
  private var transferNumber: UInt64 = 0
  /// Log sequences of the groups that went out whole and are not acknowledged, in their order on the wire.
  private var unacknowledged = WorkQueue<UInt64>()
  private(set) var waitingTransferBytes = 0
  /// Groups taken and groups gone out, by channel, so that one can wait for all there were.
  private(set) var taken = Progress()
  private(set) var gone = Progress()

  struct Progress: Equatable {
    var small: UInt64 = 0
    var large: UInt64 = 0

    func covers(_ other: Progress) -> Bool { small >= other.small && large >= other.large }
  }

  init(_ context: SessionContext) {
    self.context = context
    packer = Packer(level: context.configuration.compressionLevel)
    window = FlowWindow(bytes: context.configuration.initialWindowBytes, now: context.now)
  }

  var hasTransfers: Bool { !transfers.isEmpty }
  var streamBytes: Int { stream.count }
  var isIdle: Bool { stream.isEmpty && transfers.isEmpty }

  /// Takes a group.
  ///
  /// - Parameters:
  ///   - group: Documents that become visible together.
  ///   - sequence: The commit that it carries; 0 when it is not a live one.
  ///   - mayOvertake: Whether it may go out before large groups that are waiting.
  func add(_ group: borrowing GroupEncoder, sequence: UInt64 = 0, mayOvertake: Bool = true) {
    guard group.byteCount + 8 > SyncLimits.smallGroupBytes || !mayOvertake && hasTransfers else {
      group.write(to: &stream)
      taken.small += 1
      smallGroups.append(
        SmallGroup(
          end: streamStart + UInt64(stream.count), documents: group.documentCount, sequence: sequence))
      return
    }
    let bytes = group.bytes
    waitingTransferBytes += bytes.count
    taken.large += 1
    transfers.append(Transfer(bytes: bytes, documents: group.documentCount, sequence: sequence))
  }

  /// Sends one fragment and one chunk, as far as there are any.
  ///
  /// - Returns: The plain bytes that went out.
  func sendNext() throws(SyncError) -> Int {
    let fragment = try sendFragment()
    guard window.hasRoom || fragment == 0 else { return fragment }
    return fragment + (try sendChunk())
  }

  private func sendFragment() throws(SyncError) -> Int {
    guard !stream.isEmpty else { return 0 }
    let count = min(stream.count, window.pieceBytes)
    let piece = Array(stream[..<count])
    let packed = try packer.fragment(piece.span.bytes, context.frameForm)
    if count == stream.count { stream.removeAll(keepingCapacity: true) } else { stream.removeFirst(count) }
    streamStart += UInt64(count)
    var groups = 0
    while let group = smallGroups.removeFirst() {
      guard group.end <= streamStart else {
        smallGroups.prepend(group)
        break
      }
      groups += 1
      gone.small += 1
      context.statistics.documentsSent += UInt64(group.documents)
      unacknowledged.append(group.sequence)
    }
    finish(packed.frame, packed: packed.packedBytes, plain: count, groups: groups)
    return count
  }

  private func sendChunk() throws(SyncError) -> Int {
    guard var transfer = transfers.removeFirst() else { return 0 }
    if transfer.offset == 0 { transferNumber += 1 }
    let count = min(transfer.bytes.count - transfer.offset, window.pieceBytes)
    let bytes = transfer.bytes
    let packed = try packer.chunk(
      of: bytes.span.bytes, transfer: transferNumber, offset: transfer.offset, plainBytes: count,
      context.frameForm)
    transfer.offset += count
    let isWhole = transfer.offset == transfer.bytes.count
    if isWhole {
      waitingTransferBytes -= transfer.bytes.count
      gone.large += 1
      context.statistics.documentsSent += UInt64(transfer.documents)
      unacknowledged.append(transfer.sequence)
    } else {
      transfers.prepend(transfer)
    }
    finish(packed.frame, packed: packed.packedBytes, plain: count, groups: isWhole ? 1 : 0)
    return count
  }

  private func finish(_ frame: [UInt8], packed: Int, plain: Int, groups: Int) {
    context.statistics.groupsSent += UInt64(groups)
    context.statistics.packedBytesSent += UInt64(packed)
    context.statistics.plainBytesSent += UInt64(plain)
    context.send(frame)
    window.didSend(wireBytes: frame.count, plainBytes: plain, groups: groups, now: context.now)
  }

  /// Takes the receiver's totals.
  func take(_ totals: Acknowledgement) throws(SyncError) {
    let settled = totals.groups &- window.acknowledged.groups
    try window.take(totals, now: context.now)
    for _ in 0..<settled { _ = unacknowledged.removeFirst() }
  }

  /// The least sequence of a live group that is not acknowledged.
  func firstUnacknowledged() -> UInt64? {
    let sequences =
      unacknowledged.map { $0 } + smallGroups.map(\.sequence) + transfers.map(\.sequence)
    return sequences.filter { $0 > 0 }.min()
  }
}
