import CRDTCore

/// What a session does for the others of its store, and they for it.
extension Session {
  /// Asks for what was announced and did not come, and tells the other sessions how this one fares.
  func lookAtAnnouncements() throws(SyncError) {
    reply(try intake.lookAtAnnouncements())
    context.shared.pulls.note(
      id, roundTrip: context.roundTrip.shortest, progressedAt: intake.progressedAt,
      isApplying: intake.receivedGroups > intake.appliedGroups, promise: intake.promise)
    intake.noteBulk()
  }

  func take(_ announcement: Announcement) throws(SyncError) {
    guard !context.features.isDisjoint(with: [.mesh, .cursors]) else { return }
    reply(try intake.take(announcement))
  }

  private func reply(_ requests: [DocumentRequest]) {
    supply.enqueue(requests.filter { supply.concerns($0.collection) }, isGroup: false)
  }

  /// Has those go on that waited for this session.
  func leaveMesh() {
    let waiting = context.shared.leave(id)
    if !waiting.isEmpty { context.ask(.nudge(waiting)) }
  }
}
