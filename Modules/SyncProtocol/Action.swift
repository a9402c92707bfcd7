/// What a session asks of the driver around it.
///
/// A driver carries out the actions of one call in their order, and before it calls the session again.
public enum Action: Sendable {
  /// Send these bytes, after all earlier ones.
  case send([UInt8])
  /// Run on any thread and report with `Session.packed`; comes only where the configuration asks for it.
  case pack(PackJob)
  /// Apply in a write transaction of origin `.remote(id)` and report with `Session.applied`.
  case apply(ApplyBatch)
  /// The session is over: close the link after what was sent has gone out, where that takes no long wait.
  case close(SyncError)
  /// Tell whoever listens.
  case event(SyncEvent)
  /// Do what statements between peers ask for.
  case query(QueryAction)
  /// Call `Session.tick` after this long, even if nothing else happens; zero means at once, after all other actions.
  ///
  /// Never call it earlier for this: the session does not ask again. An earlier wish stays, so each needs its call; those that
  /// are due together may share one.
  case wake(after: Duration)
  /// Call `Session.nudged` of these other sessions of the store.
  case nudge([UInt64])
  /// Decide about the peer, beside the other sessions that there are.
  case admission(AdmissionAction)
  /// Take what the other peer says of itself.
  case presence(SignedPresence)
}
