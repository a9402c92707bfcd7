import CRDTCore

extension SendQueue {
  /// Drops what may no longer leave the device.
  ///
  /// These are queued transactions with a document of a collection that `isForbidden`, and the unsent rest of
  /// such transactions. Reconciliation finds the documents of a dropped transaction that may leave; the peer
  /// is asked to reconcile in any case.
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
    let dropped = stream.remove(where: isForbidden)
    gone.small += dropped.count
    guard dropped.isBegun else { return }
    abort(FrameCodec.frame(.fragment) { FragmentHead(nil, plainBytes: 0).encode(to: &$0) })
  }

  private func abort(_ frame: [UInt8]) {
    context.send(frame)
    window.didSend(wireBytes: frame.count, plainBytes: 0, transactions: 0, now: context.now)
  }
}
