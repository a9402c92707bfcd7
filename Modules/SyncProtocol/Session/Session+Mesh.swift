import CRDTCore

/// Coordination with the other sessions of the store.
extension Session {
  /// Requests announced documents that did not arrive, and publishes this session's progress to the others.
  func lookAtAnnouncements() throws(SyncError) {
    pusher.owe(try puller.takeNotices(), isGroup: false)
    pusher.owe(try puller.announcements.look(), isGroup: false)
    context.shared.pulls.note(
      id, roundTrip: context.roundTrip.shortest, progressedAt: puller.pull.queue.progressedAt,
      isApplying: !puller.pull.queue.isApplied, promise: puller.promise)
    puller.bulk.note()
  }

  /// Leaves the shared schedulers, and wakes the sessions that waited for this one.
  func leaveMesh() {
    let waiting = context.shared.leave(id)
    if !waiting.isEmpty { context.ask(.nudge(waiting)) }
  }
}
