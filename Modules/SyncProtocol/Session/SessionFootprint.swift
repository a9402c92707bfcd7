/// The memory of a session that grows with what peers do, for tests of its bounds.
package struct SessionFootprint: Hashable, Sendable {
  /// Bytes of commits that wait to be sent, as the limit of the queue counts them.
  package var liveBytes = 0
  /// Plain bytes of encoded transactions that have not been sent.
  package var waitingBytes = 0
  /// Plain bytes received and not applied.
  package var unappliedBytes = 0
  /// Bytes received and not applied, in the form in which they are held.
  package var heldBytes = 0
  /// Bytes received and not parsed.
  package var unreadBytes = 0
  /// Documents that the peer has requested or reported.
  package var requests = 0
  /// Documents that either side announced and that are not settled, and offers that are not processed.
  package var announcements = 0
  /// Documents held for reconciliation.
  package var compared = 0
  /// Questions, answers and tasks on both sides of a reconciliation.
  package var tasks = 0

  /// Whether nothing is pending.
  package var isEmpty: Bool { self == SessionFootprint() }
}

extension Session {
  /// Bytes of the Bloom filters of what the peer holds, including those being built for it.
  package var filterBytes: Int { puller.telling.filterBytes + pusher.offers.telling.filterBytes }

  /// Whether a frame has arrived in part.
  package var isWithinFrame: Bool { !input.isEmpty }

  package var footprint: SessionFootprint {
    var footprint = SessionFootprint()
    footprint.liveBytes = pusher.feed.live.byteCount
    footprint.waitingBytes = pusher.queue.streamBytes + pusher.queue.waitingTransferBytes
    footprint.unappliedBytes = puller.pull.queue.pendingBytes
    footprint.heldBytes = puller.pull.queue.heldBytes
    footprint.unreadBytes = backlog.byteCount + (input.isWhole ? input.bytes.count : 0)
    footprint.requests = pusher.pendingRequests
    footprint.announcements =
      puller.announcements.documentCount + pusher.feed.announcing.openDocuments + puller.pull.queue.noticedDocuments
      + pusher.queue.noticedDocuments + pusher.sender.motion.convergedCount + puller.telling.waitingCount
      + pusher.offers.telling.waitingCount
    footprint.compared = puller.reconciler.heldCount + pusher.peer.reconciliation.responder.heldCount
    footprint.tasks = puller.pendingTasks + pusher.pendingTasks
    return footprint
  }
}

extension Puller {
  fileprivate var pendingTasks: Int {
    ownLogScans.count + telling.taskCount + reconciler.pendingCount + evicted.count
      + pull.queue.unsettledCount + announcements.pullCount
  }
}

extension Pusher {
  fileprivate var pendingRequests: Int {
    sender.requests.count + peer.reconciliation.wanted.count + sender.deferred.count + feed.live.heldCount
  }

  fileprivate var pendingTasks: Int {
    peer.reconciliation.responder.pendingCount + peer.reconciliation.streamWalks.count
      + offers.telling.taskCount
  }
}
