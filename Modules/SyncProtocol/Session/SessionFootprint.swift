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
