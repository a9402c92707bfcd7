import CRDTCore
import DocStore
import Failpoints

/// Groups that a peer has sent, from their first byte until they are applied, and what is acknowledged of them.
///
/// They are applied in the order in which they became whole. What is held in memory is bounded, for this peer and for all
/// together: beyond the bounds the session reads no more.
final class ReceiveQueue {
  /// What one frame is worth in the sender's window.
  private struct Receipt {
    var wireBytes: UInt64
    var plainBytes: UInt64
  }

  let assembly: GroupAssembly
  private let context: SessionContext
  private var drafter: RecordDrafter
  private var component = IncomingComponent()
  /// Groups that have come, the first of them taken apart, with the documents and plain bytes of these.
  private var arrived = ArrivedQueue()
  private var ready = WorkQueue<IncomingGroup>()
  private var readyDocuments = 0
  private var readyBytes = 0
  /// What taking apart has made of groups that are not applied.
  private var takenApartBytes = 0
  /// Plain bytes of groups that wait or are being applied.
  private(set) var unappliedBytes = 0
  private var applying: (ticket: UInt64, groups: [IncomingGroup])?
  private var nextTicket: UInt64 = 1
  /// How many groups have come, and how many of them are applied.
  private(set) var receivedGroups: UInt64 = 0
  private(set) var appliedGroups: UInt64 = 0
  /// When a piece of a group last came in.
  private(set) var progressedAt = Duration.zero
  /// What is to be acknowledged for groups that wait, by the number of the group that settles it.
  private var unsettled = WorkQueue<(group: UInt64, receipt: Receipt)>()
  private var acknowledged = Acknowledgement()
  private var isAcknowledgementDue = false

  init(_ context: SessionContext) {
    self.context = context
    assembly = GroupAssembly(context)
    drafter = RecordDrafter(context.store)
  }

  /// Whether something is with the driver.
  var isApplying: Bool { applying != nil }
  /// Whether documents that have come wait to be applied, or are being applied.
  var hasUnapplied: Bool { isApplying || hasReady || !arrived.isEmpty }
  /// Whether groups wait that are taken apart.
  var hasReady: Bool { !ready.isEmpty }
  /// Whether all groups that have come are applied.
  var isApplied: Bool { receivedGroups == appliedGroups }
  /// Whether nothing of a group has come that is not applied.
  var isQuiet: Bool { isApplied && assembly.isEmpty }
  /// Plain bytes that have come and are not applied.
  var pendingBytes: Int { unappliedBytes + assembly.byteCount }
  /// Frames that wait to be acknowledged.
  var unsettledCount: Int { unsettled.count }

  // MARK: - Frames

  /// Takes a piece of the stream of small groups, of what is wanted under an interest.
  func take(
    _ head: FragmentHead, _ content: RawSpan, frameBytes: Int, under interest: Interest,
    begunWith frame: UInt64
  ) throws(SyncError) {
    let arrival = try assembly.take(head, content, begunWith: frame)
    note(packed: content.byteCount, plain: head.plainBytes)
    append(arrival, under: interest)
    acknowledge(frameBytes, plainBytes: head.plainBytes, isSettled: arrival.ranges.isEmpty)
  }

  /// Takes a piece of a large group.
  func take(
    _ head: ChunkHead, _ content: RawSpan, frameBytes: Int, under interest: Interest, begunWith frame: UInt64
  ) throws(SyncError) {
    let arrival = try assembly.take(head, content, begunWith: frame)
    let isDropped = head.packing == nil
    if !isDropped { note(packed: content.byteCount, plain: head.plainBytes) }
    if let arrival { append(arrival, under: interest) }
    acknowledge(frameBytes, plainBytes: isDropped ? 0 : head.plainBytes, isSettled: arrival == nil)
  }

  /// Takes a stretch of a large group from what an earlier link has brought.
  func take(
    _ frame: ReuseFrame, frameBytes: Int, under interest: Interest, begunWith number: UInt64
  ) throws(SyncError) {
    let arrival = try assembly.take(frame, begunWith: number)
    if let arrival { append(arrival, under: interest) }
    acknowledge(frameBytes, plainBytes: 0, isSettled: arrival == nil)
  }

  private func note(packed: Int, plain: Int) {
    progressedAt = context.now
    context.statistics.packedBytesReceived += UInt64(packed)
    context.statistics.plainBytesReceived += UInt64(plain)
  }

  private func append(_ arrival: GroupArrival, under interest: Interest) {
    receivedGroups += UInt64(arrival.ranges.count)
    context.statistics.groupsReceived += UInt64(arrival.ranges.count)
    unappliedBytes += arrival.byteCount
    arrived.append(arrival.ranges, of: arrival.block, begun: arrival.begun, interest)
  }

  // MARK: - Bounds

  /// Bytes in memory of what has come and is not applied.
  var heldBytes: Int { pendingBytes + arrived.indexBytes + takenApartBytes + assembly.pieceBytes }

  /// Whether so many bytes more may be held for the peer; what is `needed` so that anything goes on may be more than its
  /// part.
  private func mayHold(_ more: Int, isNeeded: Bool) -> Bool {
    (isNeeded || heldBytes + more <= context.configuration.arrivedBytes)
      && context.shared.memory.mayTake(more, context.id, limit: context.configuration.allArrivedBytes)
  }

  /// Whether nothing more is to be taken from the peer for now: what it has sent is applied first, or what others have.
  var isFull: Bool { !mayHold(SyncLimits.frameBytes, isNeeded: !hasUnapplied) }

  /// Whether something waits only for the memory that other sessions use.
  func waitsForMemory(_ isFull: Bool) -> Bool { !isApplying && (isFull || !arrived.isEmpty) }

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

  // MARK: - Applying

  /// Takes apart the groups whose turn is near: as many as one transaction applies, while others may be under way.
  func prepare() throws(SyncError) {
    while readyDocuments < context.tuning.applyDocuments, readyBytes < context.tuning.applyBytes,
      let next = arrived.first, mayHold(next.cost, isNeeded: !hasReady && !isApplying)
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
      if group.step == nil {
        group.removeDocuments { _ in true }
      } else if part.isLast {
        assembly.forgetParts()
      }
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

  /// Takes out the groups that one transaction is to apply.
  func takeBatch() -> [IncomingGroup] {
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
    return groups
  }

  /// Takes note that groups are with the driver, or something else that goes before them.
  ///
  /// - Returns: What the outcome is to be reported with.
  func begin(_ groups: [IncomingGroup]) -> UInt64 {
    defer { nextTicket += 1 }
    applying = (nextTicket, groups)
    return nextTicket
  }

  /// Takes note that the first of the groups that are with the driver are applied; the others wait again.
  ///
  /// - Returns: The groups that are applied; `nil` where there were none to apply.
  /// - Throws: `outOfOrder` where nothing is with the driver under that ticket.
  func end(_ ticket: UInt64, applied count: Int) throws(SyncError) -> [IncomingGroup]? {
    guard let applying, applying.ticket == ticket else {
      throw SyncError(.outOfOrder, "An outcome of a batch that was not handed out")
    }
    self.applying = nil
    let groups = Array(applying.groups.prefix(count))
    for group in applying.groups[groups.count...].reversed() {
      ready.prepend(group)
      readyDocuments += group.documentCount
      readyBytes += group.byteCount
    }
    unappliedBytes -= groups.reduce(0) { $0 + $1.byteCount }
    takenApartBytes -= groups.reduce(0) { $0 + $1.cost }
    guard !applying.groups.isEmpty else { return nil }
    appliedGroups += UInt64(groups.count)
    return groups
  }

  // MARK: - Acknowledging

  private func acknowledge(_ wireBytes: Int, plainBytes: Int, isSettled: Bool) {
    let receipt = Receipt(wireBytes: UInt64(wireBytes), plainBytes: UInt64(plainBytes))
    if isSettled { add(receipt) } else { unsettled.append((receivedGroups, receipt)) }
  }

  private func add(_ receipt: Receipt) {
    acknowledged.wireBytes += receipt.wireBytes
    acknowledged.plainBytes += receipt.plainBytes
    isAcknowledgementDue = true
  }

  /// Acknowledges the frames whose groups are all applied.
  func settle() {
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
