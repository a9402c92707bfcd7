/// What a session holds in memory that grows with what peers do: for tests that hold it to bounds.
package struct SessionFootprint: Hashable, Sendable {
  /// Bytes of commits that wait to be sent, as the queue's limit counts them.
  package var liveBytes = 0
  /// Plain bytes of groups that are encoded and have not gone out.
  package var waitingBytes = 0
  /// Plain bytes that came in and are not applied.
  package var unappliedBytes = 0
  /// Bytes of all that came in and is not applied, in the form in which it is held.
  package var heldBytes = 0
  /// Bytes that came in and were not looked at.
  package var unreadBytes = 0
  /// Documents that the peer has asked for or told of.
  package var requests = 0
  /// Documents that were announced, by either side, and are not settled, or offered and not looked at.
  package var announcements = 0
  /// Documents that are kept of what is being compared.
  package var compared = 0
  /// Questions, answers and pieces of work on either side of a reconciliation.
  package var tasks = 0

  /// Whether nothing waits.
  package var isEmpty: Bool { self == SessionFootprint() }
}

extension Session {
  /// Bytes of the filters of what the peer holds, and of those that are being made for it.
  package var filterBytes: Int { puller.telling.filterBytes + pusher.telling.filterBytes }

  /// Whether the beginning of a frame has come, and not its end.
  package var isWithinFrame: Bool { !input.isEmpty }

  package var footprint: SessionFootprint {
    var footprint = SessionFootprint()
    footprint.liveBytes = pusher.live.byteCount
    footprint.waitingBytes = pusher.queue.streamBytes + pusher.queue.waitingTransferBytes
    footprint.unappliedBytes = puller.queue.pendingBytes
    footprint.heldBytes = puller.queue.heldBytes
    footprint.unreadBytes = backlog.byteCount + (input.isWhole ? input.bytes.count : 0)
    footprint.requests = pusher.pendingRequests
    footprint.announcements =
      puller.announced.documentCount + pusher.announcing.openDocuments + puller.earlyOffers.count
      + pusher.waitingOffers.count + pusher.met.count + puller.telling.waitingCount
      + pusher.telling.waitingCount
    footprint.compared = puller.reconciler.heldCount + pusher.reconciliation.responder.heldCount
    footprint.tasks = puller.pendingTasks + pusher.pendingTasks
    return footprint
  }
}

extension Puller {
  fileprivate var pendingTasks: Int {
    tasks.count + reconciler.pendingCount + evicted.before.count + queue.unsettledCount + pulls.count
  }
}

extension Pusher {
  fileprivate var pendingRequests: Int {
    requests.count + reconciliation.wanted.count + deferred.count + live.heldCount
  }

  fileprivate var pendingTasks: Int {
    reconciliation.responder.pendingCount + reconciliation.streamWalks.count + tellingTasks.count
  }
}
