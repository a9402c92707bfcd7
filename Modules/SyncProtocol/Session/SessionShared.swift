/// What the sessions of one store know together.
///
/// Each part is behind a lock of its own, and calls nothing under it.
public final class SessionShared: Sendable {
  /// Who asks whom for what is announced.
  let pulls = PullDesk()
  /// What several send of the same changes.
  let encoding = SharedEncoding()

  /// Makes the shared part; a store has one, however many sessions.
  public init() {}

  /// Forgets a session whose link is gone.
  ///
  /// - Returns: Sessions to be nudged, since they waited for it.
  public func leave(_ session: UInt64) -> [UInt64] {
    encoding.leave(session)
    return pulls.leave(session)
  }
}
