import CRDTCore

/// What a session does for the others of its store, and they for it.
extension Session {
  /// Asks for what was announced and did not come, and tells the other sessions how this one fares.
  func lookAtAnnouncements() throws(SyncError) {
    pusher.owe(try puller.lookAtAnnouncements(), isGroup: false)
    context.shared.pulls.note(
      id, roundTrip: context.roundTrip.shortest, progressedAt: puller.queue.progressedAt,
      isApplying: !puller.queue.isApplied, promise: puller.promise)
    puller.noteBulk()
  }

  func take(_ announcement: Announcement) throws(SyncError) {
    pusher.owe(try puller.take(announcement), isGroup: false)
  }

  /// Has those go on that waited for this session.
  func leaveMesh() {
    let waiting = context.shared.leave(id)
    if !waiting.isEmpty { context.ask(.nudge(waiting)) }
  }
}
