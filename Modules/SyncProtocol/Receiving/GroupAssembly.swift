import CRDTCore
import DocStore
import Failpoints

/// Whole groups that a frame has completed, where they lie in one block.
struct GroupArrival {
  var block: [UInt8] = []
  var ranges: [Range<Int>] = []
  /// The sender's frame with which they began to come, or a later one of it.
  var begun: UInt64 = 0

  /// Plain bytes.
  var byteCount: Int { ranges.reduce(0) { $0 + $1.count } }
}

/// The plain bytes so far of a large group.
private struct IncomingTransfer {
  var number: UInt64
  var totalBytes: Int
  var bytes: [UInt8] = []
  /// The staged transfer that it goes on with.
  var resumed: StagedTransfer?
  /// What the store has of it, where it puts it aside.
  var kept: StagingID?
  var keptBytes = 0
  var keptParts: UInt32 = 0
  /// When the store was last given some of it, or it began.
  var keptAt: Duration
  /// The frame with which it began, counted in the session.
  let begun: UInt64

  init(number: UInt64, totalBytes: Int, begunWith frame: UInt64, at now: Duration) {
    self.number = number
    self.totalBytes = totalBytes
    begun = frame
    keptAt = now
  }
}

/// Puts groups together from what comes on the wire: small ones from fragments of one stream, each large one from its chunks,
/// or from what an earlier link has brought of it.
final class GroupAssembly {
  private let context: SessionContext
  private let unpacker = Unpacker()
  /// Plain bytes of small groups, up to an incomplete one.
  private var stream: [UInt8] = []
  private var transfer: IncomingTransfer?
  private var lastTransfer: UInt64 = 0
  /// What the sender was told of, from earlier links.
  private var staged: [StagedTransfer] = []
  /// What the store is to put aside with the next batch.
  private var pieces: [StagedPiece] = []

  init(_ context: SessionContext) { self.context = context }

  // However the session ends, its link is over.
  deinit { stageRest() }

  /// Whether no group has come in part.
  var isEmpty: Bool { transfer == nil && stream.isEmpty }
  /// Plain bytes of groups that have come in part.
  var byteCount: Int { stream.count + (transfer?.bytes.count ?? 0) }
  /// Bytes of the pieces that wait to be put aside.
  var pieceBytes: Int { pieces.reduce(0) { $0 + $1.bytes.count } }
  /// Whether pieces wait to be put aside.
  var hasPieces: Bool { !pieces.isEmpty }

  /// Hands out what the store is to put aside.
  func takePieces() -> [StagedPiece] {
    defer { pieces = [] }
    return pieces
  }

  // MARK: - Small groups

  /// Takes a piece of the stream of small groups.
  func take(
    _ head: FragmentHead, _ content: RawSpan, begunWith frame: UInt64
  ) throws(SyncError) -> GroupArrival {
    if head.packing == nil { stream = [] }
    try unpacker.expand(head, content, into: &stream)
    return try cutStream(begunWith: frame)
  }

  /// Takes all complete groups off the front of the stream.
  private func cutStream(begunWith frame: UInt64) throws(SyncError) -> GroupArrival {
    var ranges: [Range<Int>] = []
    var position = 0
    let block = stream
    do throws(CodecError) {
      while position < block.count {
        var reader = ByteReader(block.span.bytes, offset: position)
        guard let length = try reader.readLengthIfComplete() else { break }
        guard length <= UInt64(SyncLimits.smallGroupBytes) else {
          throw reader.failure(.limit, "a small group announces \(length) bytes")
        }
        guard length <= UInt64(reader.remaining) else { break }
        ranges.append(reader.offset..<reader.offset + Int(length))
        position = reader.offset + Int(length)
      }
    } catch {
      throw SyncError(error, in: "a group", base: 0)
    }
    guard !ranges.isEmpty else { return GroupArrival() }
    stream = position < block.count ? Array(block[position...]) : []
    return GroupArrival(block: block, ranges: ranges, begun: frame)
  }

  // MARK: - Large groups

  /// Takes a piece of a large group.
  ///
  /// - Returns: The group, if it is whole now.
  func take(
    _ head: ChunkHead, _ content: RawSpan, begunWith frame: UInt64
  ) throws(SyncError) -> GroupArrival? {
    guard head.packing != nil else {
      try drop(head.transfer)
      return nil
    }
    var current = try begin(
      head.transfer, totalBytes: head.totalBytes, offset: head.offset, begunWith: frame)
    try unpacker.expand(head, content, onto: &current.bytes)
    return try take(current)
  }

  /// Takes a stretch of a large group from what an earlier link has brought.
  ///
  /// - Returns: The group, if it is whole now.
  func take(_ frame: ReuseFrame, begunWith number: UInt64) throws(SyncError) -> GroupArrival? {
    guard frame.stage < staged.count,
      let range = staged[frame.stage].outline.range(
        first: frame.first, count: frame.count, includesTail: frame.includesTail),
      !range.isEmpty, range.count <= frame.totalBytes - frame.offset
    else { throw SyncError(.malformed, "a stretch that was not staged") }
    let source = staged[frame.stage]
    guard let bytes = try stretch(range, of: source) else {
      // Nobody's fault: in a long session the store may have forgotten them. The next one sends all of it.
      context.shared.stage.remove(source.number)
      throw SyncError(.closed, "Parts of a group that the peer was told of are not here any more")
    }
    guard ContentParts.hash(of: bytes) == frame.hash else {
      // Two parts of one name: the next session sends all of it.
      context.shared.stage.remove(source.number)
      throw SyncError(.checksum, "a stretch is not what the peer means")
    }
    if source.isParts { SyncPoint.partsReused.reached() }
    SyncPoint.transferResumed.reached()
    var current = try begin(
      frame.transfer, totalBytes: frame.totalBytes, offset: frame.offset, begunWith: number)
    current.bytes += bytes
    current.resumed = source
    if frame.isLearnt {
      let learnt = Array(bytes.suffix(SyncLimits.learntBytes))
      unpacker.learn(learnt.span.bytes)
    }
    context.statistics.resumedBytes += UInt64(bytes.count)
    return try take(current)
  }

  private func stretch(
    _ range: Range<Int>, of source: StagedTransfer
  ) throws(SyncError) -> ArraySlice<UInt8>? {
    do {
      return try source.bytes(in: range, of: context.store)
    } catch {
      throw SyncError(store: error)
    }
  }

  /// The transfer that a piece goes on with, or begins; taken out, so that its bytes are not copied.
  private func begin(
    _ number: UInt64, totalBytes: Int, offset: Int, begunWith frame: UInt64
  ) throws(SyncError) -> IncomingTransfer {
    if transfer == nil {
      transfer = IncomingTransfer(
        number: lastTransfer + 1, totalBytes: totalBytes, begunWith: frame, at: context.now)
      // Whatever a peer announces, no more than what an honest one nearly always sends.
      transfer?.bytes.reserveCapacity(min(totalBytes, 1 << 20))
    }
    guard let current = transfer, number == current.number, totalBytes == current.totalBytes,
      offset == current.bytes.count
    else {
      throw SyncError(.malformed, "a chunk does not continue its group")
    }
    transfer = nil
    return current
  }

  /// Goes on with a transfer that has got longer.
  private func take(_ current: IncomingTransfer) throws(SyncError) -> GroupArrival? {
    guard current.bytes.count == current.totalBytes else {
      SyncPoint.cameInChunks.reached()
      var current = current
      putAside(&current)
      transfer = current
      return nil
    }
    lastTransfer = current.number
    forgetStaged(current)
    let group = try whole(current.bytes)
    return GroupArrival(block: group, ranges: [0..<group.count], begun: current.begun)
  }

  /// A large group as groups are, whatever way it came.
  private func whole(_ group: [UInt8]) throws(SyncError) -> [UInt8] {
    guard ColumnGroup.isOne(group) else { return group }
    do throws(CodecError) {
      return try ColumnGroup.joined(group)
    } catch {
      throw SyncError(error, in: "a group", base: 0)
    }
  }

  /// Forgets a large group that the sender may not go on with.
  private func drop(_ number: UInt64) throws(SyncError) {
    guard let transfer, transfer.number == number else {
      throw SyncError(.malformed, "a chunk drops a group that was not begun")
    }
    lastTransfer = number
    self.transfer = nil
    forgetStaged(transfer)
  }

  // MARK: - What outlasts a link

  /// Tells the sender what earlier links have brought of large groups.
  func tellStaged() throws(SyncError) {
    guard let peer = context.peer, let gatekeeper = context.gatekeeper else { return }
    let stage = context.shared.stage
    try stage.load(
      from: context.store, context.shared.components, least: context.tuning.leastStagedBytes, at: context.now)
    var notices: [StagedNotice] = []
    for transfer in stage.transfers(at: context.now) {
      guard let notice = StagedNotice(transfer.outline, for: peer, gatekeeper) else { continue }
      staged.append(transfer)
      notices.append(notice)
    }
    guard !notices.isEmpty else { return }
    context.send(.staged) { out in
      out.writeVarint(notices.count)
      for notice in notices { notice.encode(to: &out) }
    }
  }

  /// Forgets what is whole now, or dropped; parts go with the last one of their group.
  private func forgetStaged(_ transfer: IncomingTransfer) {
    if let resumed = transfer.resumed, !resumed.isParts { context.shared.stage.remove(resumed.number) }
    guard let kept = transfer.kept else { return }
    pieces.removeAll()
    context.shared.stage.garbage.add(kept)
  }

  /// Forgets the parts that earlier links have brought, once a group came in parts to its end.
  func forgetParts() {
    for transfer in staged where transfer.isParts { context.shared.stage.remove(transfer.number) }
  }

  /// Has the store put aside what has come of a large group that takes long.
  private func putAside(_ transfer: inout IncomingTransfer) {
    guard let peer = context.peer, pieces.isEmpty,
      context.now - transfer.keptAt >= context.tuning.stagingSpan,
      transfer.bytes.count - transfer.keptBytes >= context.tuning.leastStagedBytes
    else { return }
    let id: StagingID
    if let kept = transfer.kept {
      id = kept
    } else {
      id = context.shared.stage.makeName(context.configuration.random())
      transfer.kept = id
      var site = ByteWriter(capacity: 16)
      site.write(peer.site)
      pieces.append(StagedPiece(id: id, part: 0, bytes: site.bytes))
    }
    while transfer.keptBytes < transfer.bytes.count, pieceBytes < SyncLimits.stagedAtOnceBytes {
      let end = min(transfer.keptBytes + WriteTransaction.stagedPartBytes, transfer.bytes.count)
      transfer.keptParts += 1
      pieces.append(
        StagedPiece(id: id, part: transfer.keptParts, bytes: Array(transfer.bytes[transfer.keptBytes..<end])))
      transfer.keptBytes = end
    }
    if transfer.keptBytes == transfer.bytes.count { transfer.keptAt = context.now }
  }

  /// Keeps the beginning of a group whose link is over.
  private func stageRest() {
    guard let transfer, let peer = context.peer else { return }
    let stage = context.shared.stage
    guard transfer.bytes.count >= context.tuning.leastStagedBytes,
      let rest = StagedTransfer(transfer.bytes, from: peer.site, kept: transfer.kept, at: context.now)
    else {
      if let kept = transfer.kept { stage.garbage.add(kept) }
      return
    }
    // Cut early, it may be less than what it was to go on from.
    if let resumed = transfer.resumed, !resumed.isParts, resumed.outline.byteCount <= rest.outline.byteCount {
      stage.remove(resumed.number)
    }
    stage.keep(rest)
  }
}

extension ByteReader {
  /// A varint that may not have arrived whole.
  fileprivate mutating func readLengthIfComplete() throws(CodecError) -> UInt64? {
    var probe = 0
    while probe < remaining, probe < 10 {
      if unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset + probe, as: UInt8.self) < 0x80 {
        return try readVarint()
      }
      probe += 1
    }
    guard probe < 10 else { throw failure(.malformed, "a group's length is too long") }
    return nil
  }
}
