import CRDTCore
import DocStore
import Failpoints

/// The plain bytes so far of a large group.
struct IncomingTransfer {
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

extension Intake {
  /// Takes a piece of the stream of small groups.
  func take(_ head: FragmentHead, _ content: RawSpan, frameBytes: Int) throws(SyncError) {
    if head.packing == nil { stream = [] }
    try unpacker.expand(head, content, into: &stream)
    note(packed: content.byteCount, plain: head.plainBytes)
    let before = receivedGroups
    try cutStream()
    acknowledge(
      Receipt(wireBytes: UInt64(frameBytes), plainBytes: UInt64(head.plainBytes)), at: receivedGroups,
      isSettled: receivedGroups == before)
  }

  /// Takes a piece of a large group.
  func take(_ head: ChunkHead, _ content: RawSpan, frameBytes: Int) throws(SyncError) {
    guard head.packing != nil else { return try drop(head.transfer, frameBytes: frameBytes) }
    var current = try begin(head.transfer, totalBytes: head.totalBytes, offset: head.offset)
    try unpacker.expand(head, content, onto: &current.bytes)
    note(packed: content.byteCount, plain: head.plainBytes)
    try take(current, Receipt(wireBytes: UInt64(frameBytes), plainBytes: UInt64(head.plainBytes)))
  }

  /// The transfer that a piece goes on with, or begins; taken out, so that its bytes are not copied.
  func begin(_ number: UInt64, totalBytes: Int, offset: Int) throws(SyncError) -> IncomingTransfer {
    if transfer == nil {
      transfer = IncomingTransfer(
        number: lastTransfer + 1, totalBytes: totalBytes, begunWith: answers, at: context.now)
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
  func take(_ current: IncomingTransfer, _ receipt: Receipt) throws(SyncError) {
    let isWhole = current.bytes.count == current.totalBytes
    if isWhole {
      lastTransfer = current.number
      forgetStaged(current)
      let group = try whole(current.bytes)
      take(groups: [0..<group.count], of: group, begunWith: current.begun)
    } else {
      SyncPoint.cameInChunks.reached()
      var current = current
      putAside(&current)
      transfer = current
    }
    acknowledge(receipt, at: receivedGroups, isSettled: !isWhole)
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
  private func drop(_ number: UInt64, frameBytes: Int) throws(SyncError) {
    guard let transfer, transfer.number == number else {
      throw SyncError(.malformed, "a chunk drops a group that was not begun")
    }
    lastTransfer = number
    self.transfer = nil
    forgetStaged(transfer)
    acknowledge(Receipt(wireBytes: UInt64(frameBytes), plainBytes: 0), at: receivedGroups, isSettled: true)
  }

  private func note(packed: Int, plain: Int) {
    progressedAt = context.now
    context.statistics.packedBytesReceived += UInt64(packed)
    context.statistics.plainBytesReceived += UInt64(plain)
  }

  /// Takes all complete groups off the front of the stream.
  private func cutStream() throws(SyncError) {
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
    guard !ranges.isEmpty else { return }
    stream = position < block.count ? Array(block[position...]) : []
    take(groups: ranges, of: block, begunWith: answers)
  }

  private func take(groups ranges: [Range<Int>], of block: [UInt8], begunWith frame: UInt64) {
    receivedGroups += UInt64(ranges.count)
    context.statistics.groupsReceived += UInt64(ranges.count)
    unappliedBytes += ranges.reduce(0) { $0 + $1.count }
    arrived.append(ranges, of: block, begun: frame, interest)
  }

  /// Takes apart the groups whose turn is near: as many as one transaction applies, while others may be under way.
  func prepareArrived() throws(SyncError) {
    while readyDocuments < context.tuning.applyDocuments, readyBytes < context.tuning.applyBytes,
      let next = arrived.first, mayHold(next.cost, isNeeded: ready.isEmpty && applying == nil)
    {
      arrived.removeFirst()
      let group = try group(next)
      context.statistics.documentsReceived += UInt64(group.documentCount)
      ready.append(group)
      readyDocuments += group.documentCount
      readyBytes += group.byteCount
      takenApartBytes += group.cost
      noteHeld()
    }
  }

  /// Bytes in memory of what has come and is not applied.
  var heldBytes: Int {
    unappliedBytes + arrived.indexBytes + takenApartBytes + stream.count + (transfer?.bytes.count ?? 0)
      + pieceBytes
  }

  /// Whether so many bytes more may be held for the peer; what is `needed` so that anything goes on may be more than its
  /// part.
  private func mayHold(_ more: Int, isNeeded: Bool) -> Bool {
    (isNeeded || heldBytes + more <= context.configuration.arrivedBytes)
      && context.shared.memory.mayTake(more, context.id, limit: context.configuration.allArrivedBytes)
  }

  /// Whether nothing more is to be taken from the peer for now: what it has sent is applied first, or what others have.
  var isFull: Bool { !mayHold(SyncLimits.frameBytes, isNeeded: !hasUnapplied) }

  /// Whether something waits only for the memory that other sessions use.
  func waitsForMemory(_ isFull: Bool) -> Bool { applying == nil && (isFull || !arrived.isEmpty) }

  /// Ends a session that stops within a group while others wait for the memory that it holds.
  func checkHold() throws(SyncError) {
    guard heldBytes > 0, !hasUnapplied, context.now - progressedAt > SyncLimits.holdSpan,
      context.shared.memory.arrivedBytes > context.configuration.allArrivedBytes
    else { return }
    throw SyncError(
      .limit, "The peer does not go on with a group, and others wait for the memory that it takes")
  }

  /// Tells the other sessions how much this one holds.
  func noteHeld() { context.shared.memory.noteArrived(heldBytes, of: context.id) }

  private func group(_ arrived: ArrivedGroup) throws(SyncError) -> IncomingGroup {
    var group: IncomingGroup
    do throws(CodecError) {
      group = try IncomingGroup(arrived.block, arrived.range) { accepts($0, under: arrived.interest) }
    } catch {
      throw SyncError(error, in: "a group", base: 0)
    }
    group.begun = arrived.begun
    if let part = group.part {
      group.step = component.step(for: part) {
        context.shared.components.makeName(
          context.configuration.random(), isKept: context.shared.stage.keepsParts)
      }
      // Of a group of which a part did not come nothing is taken.
      if group.step == nil { group.removeDocuments { _ in true } } else if part.isLast { forgetParts() }
    } else {
      group.makeDrafts(with: &drafter)
    }
    return group
  }

  /// Documents come in when they were asked for and the gate lets them.
  private func accepts(_ collection: String, under interest: Interest) -> Bool {
    guard interest.covers(collection) else { return false }
    guard context.gatekeeper?.mayAccept(collection) ?? false else {
      context.tellRefused(collection, "The collection is not accepted from this peer")
      return false
    }
    return true
  }

  /// Hands the next groups to the driver, unless some are with it.
  func applyNext() throws(SyncError) {
    try prepareArrived()
    guard applying == nil, !ready.isEmpty || !pieces.isEmpty else { return }
    var groups: [IncomingGroup] = []
    var documents = 0
    var bytes = 0
    while bytes < context.tuning.applyBytes, documents < context.tuning.applyDocuments,
      let group = ready.removeFirst()
    {
      let isTooMuch =
        documents + group.documentCount > context.tuning.applyDocuments
        || bytes + group.byteCount > context.tuning.applyBytes
      if isTooMuch, !groups.isEmpty {
        ready.prepend(group)
        break
      }
      groups.append(group)
      documents += group.documentCount
      bytes += group.byteCount
    }
    readyDocuments -= documents
    readyBytes -= bytes
    handOut(groups)
    try prepareArrived()
  }

  /// Hands groups to the driver, and with them the cursor that holds before them.
  func handOut(_ groups: [IncomingGroup]) {
    guard let peer = context.peer else { return }
    let cursor = takeCursor()
    // What was put aside is looked at again when it becomes visible.
    let gatekeeper = context.gatekeeper
    let accepted =
      groups.contains { $0.step != nil }
      ? interest.names.filter { gatekeeper?.mayAccept($0) ?? false } : []
    applying = (nextTicket, groups)
    let batch = ApplyBatch(
      ticket: nextTicket, groups: groups, sender: peer.site, cursor: cursor?.bytes,
      evictionEpoch: evicted.epoch, accepted: Set(accepted.map { TextKey($0) }), pieces: pieces,
      forgotten: context.shared.stage.garbage.take(), for: context)
    pieces = []
    context.ask(.apply(batch))
    nextTicket += 1
  }

  /// Lets go of documents that have left all subscriptions, while nothing is to be applied.
  func letGo() {
    guard let peer = context.peer, applying == nil, ready.isEmpty, pieces.isEmpty else { return }
    let leaving = context.shared.leaves.take(for: context.id)
    guard !leaving.isEmpty else { return }
    applying = (nextTicket, [])
    let batch = ApplyBatch(
      ticket: nextTicket, groups: [], sender: peer.site, leaving: leaving, for: context)
    context.ask(.apply(batch))
    nextTicket += 1
  }

  /// Takes what applying came to.
  ///
  /// - Returns: The documents of which the peer lacks something, and the sender's frame with which the last of the groups
  ///   that were applied began to come.
  func applied(_ ticket: UInt64, _ result: Result<ApplyOutcome, any Error>) throws(SyncError)
    -> (owed: [OwedDocument], begun: UInt64)
  {
    guard let applying, applying.ticket == ticket else {
      throw SyncError(.outOfOrder, "An outcome of a batch that was not handed out")
    }
    self.applying = nil
    let outcome: ApplyOutcome
    switch result {
    case .success(let value): outcome = value
    case .failure(let error): throw SyncError(store: error)
    }
    let groups = Array(applying.groups.prefix(outcome.groups))
    for group in applying.groups[groups.count...].reversed() {
      ready.prepend(group)
      readyDocuments += group.documentCount
      readyBytes += group.byteCount
    }
    unappliedBytes -= groups.reduce(0) { $0 + $1.byteCount }
    takenApartBytes -= groups.reduce(0) { $0 + $1.cost }
    if outcome.hasMetLaterSelf, !SyncDefect.siteNotRenewed.isPlanted { throw context.laterSelfMet }
    guard !applying.groups.isEmpty else {
      context.shared.leaves.finished(context.id)
      return ([], 0)
    }
    appliedGroups += UInt64(groups.count)
    updatedAt = context.now
    // The sender goes on announcing only when it hears of what is here.
    announced.isAnswered = announced.documentCount >= context.tuning.announcedDocuments / 2
    if outcome.refusedDocuments > 0 { following.isSpoiled = true }
    context.statistics.documentsChanged += UInt64(outcome.changedDocuments)
    if let torn = outcome.torn {
      context.tell(.groupSplit(documents: torn.documents, byteCount: torn.byteCount))
    }
    if outcome.hasLostParts { due = .everything }
    context.statistics.groupsMissingBase += UInt64(outcome.missing.count)
    for record in outcome.damaged { context.tellDamaged(record) }
    for document in outcome.exceeding { context.tellExceeding(document) }
    for versions in outcome.missing {
      guard versions.count <= SyncLimits.groupDocuments else {
        // More than can be asked for by name is found by comparing.
        for version in versions { due.add(version.collection) }
        continue
      }
      let wants = versions.map { DocumentWant($0, isHeld: $0.isDefault, context.gatekeeper) }
      sendWants(wants, round: 0, isGroup: true)
    }
    sendWants(
      outcome.differing.map { DocumentWant(whole: $0.id, in: $0.collection, isHeld: true) }, round: 0,
      isGroup: false)
    prune(groups, known: outcome.known)
    try tellReturned(groups)
    try takeEarlyOffers()
    settle()
    noteProgress()
    return (outcome.owed, groups.reduce(0) { max($0, $1.begun) })
  }

  // MARK: - Acknowledging

  /// What one frame is worth in the window.
  struct Receipt {
    var wireBytes: UInt64
    var plainBytes: UInt64
  }

  private func acknowledge(_ receipt: Receipt, at group: UInt64, isSettled: Bool) {
    if isSettled { add(receipt) } else { unsettled.append((group, receipt)) }
  }

  private func add(_ receipt: Receipt) {
    acknowledged.wireBytes += receipt.wireBytes
    acknowledged.plainBytes += receipt.plainBytes
    isAcknowledgementDue = true
  }

  /// Acknowledges the frames whose groups are all applied.
  private func settle() {
    while let next = unsettled.removeFirst() {
      guard next.group <= appliedGroups else {
        unsettled.prepend(next)
        break
      }
      add(next.receipt)
    }
    acknowledged.groups = appliedGroups
    isAcknowledgementDue = true
  }

  func sendAcknowledgement() {
    guard isAcknowledgementDue, !SyncDefect.acknowledgementLost.isPlanted else { return }
    isAcknowledgementDue = false
    acknowledged.room = UInt64(max(0, context.tuning.creditBytes - unappliedBytes))
    context.send(.acknowledge) { acknowledged.encode(to: &$0) }
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
