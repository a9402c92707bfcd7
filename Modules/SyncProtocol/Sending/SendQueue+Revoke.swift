import CRDTCore

extension SendQueue {
  /// Drops what may no longer leave the device.
  ///
  /// These are queued groups with a document of a collection that `isForbidden`, and the unsent rest of
  /// such groups. Reconciliation finds the documents of a dropped group that may leave; the peer is asked
  /// to reconcile in any case.
  func revoke(where isForbidden: (String) -> Bool) {
    revokeLarge(where: isForbidden)
    revokeSmall(where: isForbidden)
  }

  private func revokeLarge(where isForbidden: (String) -> Bool) {
    var dropped = packing.remove { $0.contains(where: isForbidden) }
    var kept = WorkQueue<Transfer>()
    while let transfer = transfers.removeFirst() {
      if transfer.collections.contains(where: isForbidden) {
        dropped[transfer.number] = transfer.bytes.count
      } else {
        kept.append(transfer)
      }
    }
    transfers = kept
    waitingTransferBytes -= dropped.values.reduce(0, +)
    gone.large += UInt64(dropped.count)
    guard let openTransfer, dropped[openTransfer] != nil else { return }
    self.openTransfer = nil
    reusedBytes = 0
    let head = ChunkHead(dropping: transferNumber)
    abort(FrameCodec.frame(.chunk) { head.encode(to: &$0) })
  }

  private func revokeSmall(where isForbidden: (String) -> Bool) {
    let waiting = smallGroups.map { $0 }
    guard waiting.contains(where: { $0.collections.contains(where: isForbidden) }) else { return }
    var left: [UInt8] = []
    var groups = WorkQueue<SmallGroup>()
    // The start of the group, counted from the stream's first unsent byte; 0 for a group that was begun.
    var start = 0
    for (index, group) in waiting.enumerated() {
      let end = Int(group.end - streamStart)
      defer { start = end }
      guard group.collections.contains(where: isForbidden) else {
        left += stream[streamHead + start..<streamHead + end]
        var moved = group
        moved.end = streamStart + UInt64(left.count)
        groups.append(moved)
        continue
      }
      gone.small += 1
      if index == 0, isFirstBegun {
        isFirstBegun = false
        abort(FrameCodec.frame(.fragment) { FragmentHead(nil, plainBytes: 0).encode(to: &$0) })
      }
    }
    stream = left
    streamHead = 0
    smallGroups = groups
  }

  private func abort(_ frame: [UInt8]) {
    context.send(frame)
    window.didSend(wireBytes: frame.count, plainBytes: 0, groups: 0, now: context.now)
  }
}
