import CRDTCore
import DocStore
import Failpoints

extension Intake {
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

  /// Takes a stretch of a large group from what an earlier link has brought.
  func take(_ frame: ReuseFrame, frameBytes: Int) throws(SyncError) {
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
    var current = try begin(frame.transfer, totalBytes: frame.totalBytes, offset: frame.offset)
    current.bytes += bytes
    current.resumed = source
    if frame.isLearnt {
      let learnt = Array(bytes.suffix(SyncLimits.learntBytes))
      unpacker.learn(learnt.span.bytes)
    }
    context.statistics.resumedBytes += UInt64(bytes.count)
    try take(current, Receipt(wireBytes: UInt64(frameBytes), plainBytes: 0))
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

  /// Forgets what is whole now, or dropped; parts go with the last one of their group.
  func forgetStaged(_ transfer: IncomingTransfer) {
    if let resumed = transfer.resumed, !resumed.isParts { context.shared.stage.remove(resumed.number) }
    guard let kept = transfer.kept else { return }
    pieces.removeAll()
    context.shared.stage.garbage.add(kept)
  }

  /// Forgets the parts that earlier links have brought, once a group came in parts to its end.
  func forgetParts() {
    for transfer in staged where transfer.isParts { context.shared.stage.remove(transfer.number) }
  }

  /// Bytes of the pieces that wait to be put aside.
  var pieceBytes: Int { pieces.reduce(0) { $0 + $1.bytes.count } }

  /// Has the store put aside what has come of a large group that takes long.
  func putAside(_ transfer: inout IncomingTransfer) {
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
  func stageRest() {
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
