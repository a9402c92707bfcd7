/// What a session asks its driver to do.
///
/// A driver performs the actions of one call in order, before it calls the session again.
public enum Action: Sendable {
  /// Send these bytes after all earlier ones.
  case send([UInt8])
  /// Run on any thread and report with `Session.packed`; only with `SessionConfiguration.packsOutside`.
  case pack(PackJob)
  /// Apply in a write transaction with origin `.remote(id)`, and report with `Session.applied`.
  case apply(ApplyBatch)
  /// The session is over: close the link after sending the remaining bytes, unless that takes long.
  case close(SyncError)
  /// Pass this event to observers.
  case event(SyncEvent)
  /// Perform an action for statements between peers.
  case query(QueryAction)
  /// Call `Session.tick` after this long, even if nothing else happens.
  ///
  /// Zero means immediately after all other actions.
  ///
  /// Never call it earlier because of this action, since the session does not ask again. Earlier wake-ups
  /// stay valid: each needs its call, and those that are due together may share one.
  case wake(after: Duration)
  /// Call `Session.nudged` of these other sessions of the store.
  case nudge([UInt64])
  /// Decide about the peer, in view of the other sessions.
  case admission(AdmissionAction)
  /// Process the presence of the other peer.
  case presence(SignedPresence)
}
