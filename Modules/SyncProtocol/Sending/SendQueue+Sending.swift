import CRDTCore

extension SendQueue {
  /// Whether something that waits here may be sent now.
  var canSend: Bool {
    streamBytes > 0 && window.hasRoom || mayChunk
  }

  /// Plain bytes of the next fragment.
  var fragmentBytes: Int { plainBytes(scheduler.fragments) }

  /// Plain bytes of the next chunk.
  private var chunkBytes: Int { plainBytes(scheduler.chunks) }

  private var mayChunk: Bool {
    guard !transfers.isEmpty, !packing.isFull else { return false }
    let spared = scheduler.sparedBytes(window, context.now)
    return window.hasRoom(for: chunkWireBytes + packing.reservedBytes + spared)
  }

  private var chunkWireBytes: Int {
    guard let transfer = transfers.first else { return 0 }
    return scheduler.chunks.wireBytes(min(transfer.bytes.count - transfer.offset, chunkBytes))
  }

  private func plainBytes(_ ratio: PackingRatio) -> Int {
    // On the same machine only the receiver can be slow, and small pieces make it slower.
    if context.configuration.isLocal { return SyncLimits.smallTransactionBytes }
    return min(
      max(ratio.plainBytes(window.pieceBytes(LinkScheduler.pieceSpan)), SyncLimits.pieceBytes),
      packer.pieceLimit(rate: window.rate))
  }

  /// Sends one fragment or one chunk, if there is one and the window has room.
  ///
  /// - Returns: The plain bytes that were sent.
  func sendNext() throws(SyncError) -> Int {
    let mayChunk = mayChunk
    if !transfers.isEmpty, !mayChunk, !packing.isFull { window.noteFull() }
    guard streamBytes > 0, window.hasRoom else { return mayChunk ? try sendChunk() : 0 }
    if mayChunk, scheduler.isChunkDue { return try sendChunk() }
    return try sendFragment()
  }

  private func sendFragment() throws(SyncError) -> Int {
    lastPacked = context.now
    let isLive = stream.transactions.first.map { !$0.isBulk } ?? false
    let piece = stream.dequeue(atMost: fragmentBytes)
    let (count, documents) = (piece.bytes.count, piece.transactions.reduce(0) { $0 + $1.documents })
    gone.small += UInt64(piece.transactions.count)
    for transaction in piece.transactions { noteSent(transaction.sequence) }
    context.statistics.documentsSent += UInt64(documents)
    let packed = try packer.fragment(
      piece.bytes.span.bytes, rate: window.rate, for: use(of: count, documents: documents, isLive: isLive))
    scheduler.didSendFragment(
      plain: count, wire: packed.frame.count, besideTransfers: hasTransfers, now: context.now)
    finish(packed.frame, packed: packed.packedBytes, plain: count, transactions: piece.transactions.count)
    return count
  }

  private func use(of pieceBytes: Int, documents: Int, isLive: Bool) -> PackingPolicy.Use {
    if isLive {
      if pieceBytes < SyncLimits.changePieceBytes, window.wireBytesInFlight == 0 { return .change }
      return documents >= SyncLimits.idPieceDocuments && pieceBytes <= documents * SyncLimits.idPieceBytesEach
        ? .ids : .other
    }
    return pieceBytes >= SyncLimits.bulkPieceBytes ? .bulk : .other
  }

  /// Appends the next chunk of a large transaction to the packing line, and sends the chunks that are ready.
  private func sendChunk() throws(SyncError) -> Int {
    guard var transfer = transfers.removeFirst() else { return 0 }
    lastPacked = context.now
    if transfer.offset == 0 { transfer.reusableRanges = peerStages.plan(transfer.bytes)[...] }
    let (range, content) = try pack(&transfer)
    let bytes = transfer.bytes
    transfer.offset = range.upperBound
    let isWhole = transfer.offset == bytes.count
    packing.append(
      PackingLine.Entry(
        transfer.number, bytes, range, collections: transfer.collections,
        end: isWhole ? (transfer.documents, transfer.sequence) : nil,
        reservedBytes: scheduler.chunks.wireBytes(range.count), content: content))
    if !isWhole { transfers.prepend(transfer) }
    sendPacked()
    if case .reuse = content { return SyncLimits.pieceBytes }
    return range.count
  }

  /// Returns the next chunk of a large transaction, compressed unless another thread does that.
  private func pack(
    _ transfer: inout Transfer
  ) throws(SyncError) -> (range: Range<Int>, content: PackingLine.Content?) {
    let bytes = transfer.bytes
    if let reusableRange = transfer.reusableRanges.first, reusableRange.range.lowerBound == transfer.offset {
      transfer.reusableRanges.removeFirst()
      let learnt = Array(bytes[reusableRange.range].suffix(SyncLimits.learntBytes))
      let isLearnt = packing.isEmpty && packer.learn(learnt.span.bytes, rate: window.rate)
      return (reusableRange.range, .reuse(reusableRange, isLearnt: isLearnt))
    }
    let end = transfer.reusableRanges.first?.range.lowerBound ?? bytes.count
    let range = transfer.offset..<transfer.offset + min(end - transfer.offset, chunkBytes)
    let chunk = try packer.chunk(
      of: bytes.span.bytes, offset: range.lowerBound, plainBytes: range.count, rate: window.rate,
      isBulk: transfer.isBulk && transfer.documents > 1,
      mayLeave: context.configuration.packsOutside, goesNext: packing.isEmpty)
    switch chunk {
    case .packed(let content): return (range, content)
    case .job(let level):
      context.ask(.pack(PackJob(ticket: packing.nextTicket, transaction: bytes, range: range, level: level)))
      return (range, nil)
    }
  }

  /// Receives a chunk that another thread has compressed.
  func receive(_ piece: PackedPiece) throws(SyncError) {
    let packed = try piece.result.get()
    packing.complete(piece.ticket, packed)
    sendPacked()
  }

  /// Sends the compressed chunks at the front of the packing line.
  private func sendPacked() {
    while let entry = packing.removeFirst(), let content = entry.content {
      if entry.range.lowerBound == 0 { transferNumber += 1 }
      openTransfer = entry.end == nil ? entry.transfer : nil
      if let end = entry.end {
        waitingTransferBytes -= entry.transaction.count
        gone.large += 1
        context.statistics.documentsSent += UInt64(end.documents)
        noteSent(end.sequence)
      }
      let transactions = entry.end == nil ? 0 : 1
      switch content {
      case .piece(let packed, let packing):
        let head = ChunkHead(
          packing, transfer: transferNumber, totalBytes: entry.transaction.count,
          offset: entry.range.lowerBound, plainBytes: entry.range.count)
        let piece = packer.frame(head, packed, of: entry.transaction.span.bytes)
        scheduler.didSendChunk(plain: entry.range.count, wire: piece.frame.count)
        finish(piece.frame, packed: piece.packedBytes, plain: entry.range.count, transactions: transactions)
      case .reuse(let reusableRange, let isLearnt):
        let frame = ReuseFrame(
          transfer: transferNumber, totalBytes: entry.transaction.count, offset: entry.range.lowerBound,
          stage: reusableRange.stage, first: reusableRange.first, count: reusableRange.count,
          includesTail: reusableRange.includesTail, isLearnt: isLearnt,
          hash: ContentChunks.hash(of: entry.transaction[entry.range]))
        context.statistics.resumedBytes += UInt64(entry.range.count)
        reusedBytes += entry.range.count
        finish(
          FrameCodec.frame(.reuse) { frame.encode(to: &$0) }, packed: 0, plain: 0, transactions: transactions)
      }
      if entry.end != nil, reusedBytes > 0 {
        window.didReuse(reusedBytes)
        reusedBytes = 0
      }
    }
  }

  /// Reports to the packing policy, at the end of a call, whether compression held back the link.
  func noteEnd(isExhausted: Bool) {
    packer.policy.note(
      isHeldBack: (isExhausted || packing.isFull) && window.hasRoom,
      isIdle: isIdle && window.wireBytesInFlight == 0,
      plainBytes: window.sent.plainBytes, rate: window.rate, now: context.now)
  }

  private func finish(_ frame: [UInt8], packed: Int, plain: Int, transactions: Int) {
    context.statistics.transactionsSent += UInt64(transactions)
    context.statistics.packedBytesSent += UInt64(packed)
    context.statistics.plainBytesSent += UInt64(plain)
    context.send(frame)
    window.didSend(wireBytes: frame.count, plainBytes: plain, transactions: transactions, now: context.now)
  }
}
