import CRDTCore
import DocStore
import Failpoints

/// Transactions that one frame has completed, as ranges of one block.
struct TransactionArrival {
  var block: [UInt8] = []
  var ranges: [Range<Int>] = []
  /// How many of this peer's transactions their sender had applied when their first frame came.
  var seen: UInt64 = 0

  /// The number of uncompressed bytes.
  var byteCount: Int { ranges.reduce(0) { $0 + $1.count } }
}

/// The uncompressed bytes received so far of a large transaction.
private struct IncomingTransfer {
  var number: UInt64
  var totalBytes: Int
  var bytes: [UInt8] = []
  /// The staged transfer that this one continues.
  var resumed: StagedTransfer?
  /// The name under which the store stages this transfer, if it does.
  var kept: StagingID?
  var keptBytes = 0
  var keptChunks: UInt32 = 0
  /// When bytes were last staged; at first, when the transfer began.
  var keptAt: Duration
  /// How many of this peer's transactions the sender had applied when the first frame came.
  let seen: UInt64
  /// How many documents the store had erased when the transfer began.
  let erasedCount: UInt64

  init(number: UInt64, totalBytes: Int, seen: UInt64, erasedCount: UInt64, at now: Duration) {
    self.number = number
    self.totalBytes = totalBytes
    self.seen = seen
    self.erasedCount = erasedCount
    keptAt = now
  }
}

/// Assembles transactions from frames: small ones from the fragments of a stream, large ones from chunks.
///
/// A large transaction may also reuse bytes that an earlier link has delivered.
final class TransactionAssembly {
  private let context: SessionContext
  private let unpacker = Unpacker()
  /// Uncompressed bytes of small transactions; the last one may be incomplete.
  private var stream: [UInt8] = []
  private var transfer: IncomingTransfer?
  private var lastTransfer: UInt64 = 0
  /// The transfers from earlier links that this session has reported to the sender.
  private var staged: [StagedTransfer] = []
  /// Bytes that the next batch writes to the staging table.
  private var pieces: [StagedChunk] = []
  /// The number of bytes that the current batch writes there.
  private var stagingBytes = 0

  init(_ context: SessionContext) { self.context = context }

  // However the session ends, no more bytes can arrive over its link.
  deinit { stageRest() }

  /// Whether no transaction is partially received.
  var isEmpty: Bool { transfer == nil && stream.isEmpty }
  /// Uncompressed bytes of partially received transactions.
  var byteCount: Int { stream.count + (transfer?.bytes.count ?? 0) }
  /// Copies of received bytes that wait to be staged, or are being staged.
  var pieceBytes: Int { waitingPieceBytes + stagingBytes }
  private var waitingPieceBytes: Int { pieces.reduce(0) { $0 + $1.bytes.count } }
  /// Whether bytes wait to be staged.
  var hasPieces: Bool { !pieces.isEmpty }

  /// Removes and returns the bytes to stage.
  func removeChunks() -> [StagedChunk] {
    defer { pieces = [] }
    stagingBytes = waitingPieceBytes
    return pieces
  }

  /// Records that the current batch is over.
  func didStage() { stagingBytes = 0 }

  // MARK: - Small transactions

  /// Receives a fragment of the stream of small transactions, and returns the transactions that it completes.
  func receive(
    _ head: FragmentHead, _ content: RawSpan, seen: UInt64
  ) throws(SyncError) -> TransactionArrival {
    if head.packing == nil { stream = [] }
    try unpacker.expand(head, content, into: &stream)
    return try cutStream(seen: seen)
  }

  /// Removes all complete transactions from the front of the stream.
  private func cutStream(seen: UInt64) throws(SyncError) -> TransactionArrival {
    var ranges: [Range<Int>] = []
    var position = 0
    let block = stream
    do throws(CodecError) {
      while position < block.count {
        var reader = ByteReader(block.span.bytes, offset: position)
        guard let length = try reader.readLengthIfComplete() else { break }
        guard length <= UInt64(SyncLimits.smallTransactionBytes) else {
          throw reader.failure(.limit, "a small transaction announces \(length) bytes")
        }
        guard length <= UInt64(reader.remaining) else { break }
        ranges.append(reader.offset..<reader.offset + Int(length))
        position = reader.offset + Int(length)
      }
    } catch {
      throw SyncError(error, in: "a group", base: 0)
    }
    guard !ranges.isEmpty else { return TransactionArrival() }
    stream = position < block.count ? Array(block[position...]) : []
    return TransactionArrival(block: block, ranges: ranges, seen: seen)
  }

  // MARK: - Large transactions

  /// Receives a chunk of a large transaction.
  ///
  /// - Returns: The transaction, if it is complete now.
  func receive(
    _ head: ChunkHead, _ content: RawSpan, seen: UInt64
  ) throws(SyncError) -> TransactionArrival? {
    guard head.packing != nil else {
      try drop(head.transfer)
      return nil
    }
    var current = try begin(
      head.transfer, totalBytes: head.totalBytes, offset: head.offset, seen: seen)
    try unpacker.expand(head, content, onto: &current.bytes)
    return try advance(current)
  }

  /// Receives a reference to bytes of a large transaction that an earlier link has delivered.
  ///
  /// - Returns: The transaction, if it is complete now.
  func receive(_ frame: ReuseFrame, seen: UInt64) throws(SyncError) -> TransactionArrival? {
    guard frame.stage < staged.count,
      let range = staged[frame.stage].outline.range(
        first: frame.first, count: frame.count, includesTail: frame.includesTail),
      !range.isEmpty, range.count <= frame.totalBytes - frame.offset
    else { throw SyncError(.malformed, "a stretch that was not staged") }
    let source = staged[frame.stage]
    guard let bytes = try reusedBytes(range, of: source) else {
      // No peer is to blame: in a long session the store may have dropped the staged bytes. The next session
      // sends all of them again.
      context.shared.stage.remove(source.number)
      throw SyncError(.closed, "Parts of a group that the peer was told of are not here any more")
    }
    guard ContentChunks.hash(of: bytes) == frame.hash else {
      // Two different contents have the same name. The next session sends all of them again.
      context.shared.stage.remove(source.number)
      throw SyncError(.checksum, "a stretch is not what the peer means")
    }
    if source.isSegments { SyncPoint.partsReused.reached() }
    SyncPoint.transferResumed.reached()
    var current = try begin(
      frame.transfer, totalBytes: frame.totalBytes, offset: frame.offset, seen: seen)
    current.bytes += bytes
    current.resumed = source
    if frame.isLearnt {
      let learnt = Array(bytes.suffix(SyncLimits.learntBytes))
      unpacker.learn(learnt.span.bytes)
    }
    context.statistics.resumedBytes += UInt64(bytes.count)
    return try advance(current)
  }

  private func reusedBytes(
    _ range: Range<Int>, of source: StagedTransfer
  ) throws(SyncError) -> ArraySlice<UInt8>? {
    do {
      return try source.bytes(in: range, of: context.store)
    } catch {
      throw SyncError(store: error)
    }
  }

  /// Returns the transfer that a chunk continues or begins.
  ///
  /// The transfer is moved out of `self` so that its bytes are not copied.
  private func begin(
    _ number: UInt64, totalBytes: Int, offset: Int, seen: UInt64
  ) throws(SyncError) -> IncomingTransfer {
    if transfer == nil {
      transfer = IncomingTransfer(
        number: lastTransfer + 1, totalBytes: totalBytes, seen: seen,
        erasedCount: context.shared.erased.count, at: context.now)
      // The peer's size is not trusted: the reserve covers nearly all honest transactions.
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

  /// Completes the transaction, or stores the transfer until the next chunk.
  private func advance(_ current: IncomingTransfer) throws(SyncError) -> TransactionArrival? {
    guard current.bytes.count == current.totalBytes else {
      SyncPoint.cameInChunks.reached()
      var current = current
      stageTransfer(&current)
      transfer = current
      return nil
    }
    lastTransfer = current.number
    forgetStaged(current)
    let transaction = try whole(current.bytes)
    return TransactionArrival(block: transaction, ranges: [0..<transaction.count], seen: current.seen)
  }

  /// Returns a large transaction in the row format, whichever format it arrived in.
  private func whole(_ transaction: [UInt8]) throws(SyncError) -> [UInt8] {
    guard ColumnarTransaction.isOne(transaction) else { return transaction }
    do throws(CodecError) {
      return try ColumnarTransaction.joined(transaction)
    } catch {
      throw SyncError(error, in: "a group", base: 0)
    }
  }

  /// Drops a large transaction that the sender may not continue.
  private func drop(_ number: UInt64) throws(SyncError) {
    guard let transfer, transfer.number == number else {
      throw SyncError(.malformed, "a chunk drops a group that was not begun")
    }
    lastTransfer = number
    self.transfer = nil
    forgetStaged(transfer)
  }

  // MARK: - What survives a disconnect

  /// Reports to the sender which bytes of large transactions earlier links have delivered.
  func sendStaged() throws(SyncError) {
    guard let peer = context.peer, let gatekeeper = context.gatekeeper else { return }
    let stage = context.shared.stage
    try stage.load(
      from: context.store, context.shared.segments, context.shared.erased,
      least: context.tuning.transfers.leastStagedBytes, at: context.now)
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

  /// Drops the staged bytes of a transfer that is complete or cancelled.
  ///
  /// Staged segments stay until the last segment of their transaction has arrived.
  private func forgetStaged(_ transfer: IncomingTransfer) {
    if let resumed = transfer.resumed, !resumed.isSegments { context.shared.stage.remove(resumed.number) }
    guard let kept = transfer.kept else { return }
    pieces.removeAll()
    context.shared.stage.garbage.add(kept)
  }

  /// Drops the segments from earlier links, once a transaction has arrived with its last segment.
  func forgetSegments() {
    for transfer in staged where transfer.isSegments { context.shared.stage.remove(transfer.number) }
  }

  /// Queues the received bytes of a slow large transaction for staging.
  ///
  /// They are in memory twice until the store has them, so this waits while other sessions hold much. Once
  /// the store has erased a document, which may be among them, no more of them is staged.
  private func stageTransfer(_ transfer: inout IncomingTransfer) {
    guard let peer = context.peer, pieces.isEmpty, stagingBytes == 0,
      context.shared.erased.count == transfer.erasedCount,
      context.shared.memory.arrivedBytes(besides: context.id) <= context.configuration.allArrivedBytes / 2,
      context.now - transfer.keptAt >= context.tuning.transfers.stagingSpan,
      transfer.bytes.count - transfer.keptBytes >= context.tuning.transfers.leastStagedBytes
    else { return }
    let id: StagingID
    if let kept = transfer.kept {
      id = kept
    } else {
      id = context.shared.stage.makeName(context.configuration.random())
      transfer.kept = id
      var site = ByteWriter(capacity: 16)
      site.write(peer.site)
      pieces.append(
        StagedChunk(id: id, number: 0, bytes: site.bytes, erasedCount: transfer.erasedCount))
    }
    while transfer.keptBytes < transfer.bytes.count, waitingPieceBytes < SyncLimits.stagedAtOnceBytes {
      let end = min(transfer.keptBytes + WriteTransaction.stagedChunkBytes, transfer.bytes.count)
      transfer.keptChunks += 1
      pieces.append(
        StagedChunk(
          id: id, number: transfer.keptChunks, bytes: Array(transfer.bytes[transfer.keptBytes..<end]),
          erasedCount: transfer.erasedCount))
      transfer.keptBytes = end
    }
    if transfer.keptBytes == transfer.bytes.count { transfer.keptAt = context.now }
  }

  /// Stages what has arrived of a large transaction when the link ends.
  private func stageRest() {
    guard let transfer, let peer = context.peer else { return }
    let stage = context.shared.stage
    guard transfer.bytes.count >= context.tuning.transfers.leastStagedBytes,
      !context.shared.erased.areNamed(in: transfer.bytes[...], since: transfer.erasedCount),
      let rest = StagedTransfer(transfer.bytes, from: peer.site, kept: transfer.kept, at: context.now)
    else {
      if let kept = transfer.kept { stage.garbage.add(kept) }
      return
    }
    // An early disconnect may leave fewer bytes than the staged transfer has. Then the staged one stays.
    if let resumed = transfer.resumed, !resumed.isSegments,
      resumed.outline.byteCount <= rest.outline.byteCount
    {
      stage.remove(resumed.number)
    }
    stage.keep(rest)
  }
}

extension ByteReader {
  /// Reads a varint; `nil` if it has not arrived completely.
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
