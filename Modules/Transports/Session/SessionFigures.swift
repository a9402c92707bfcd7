import SyncProtocol

/// What is known of a session from outside, as of its last turn.
struct SessionFigures {
  var statistics = SyncStatistics()
  private(set) var progress = SyncProgress()
  private(set) var delivery = PeerDelivery()
  /// The newest set of subscriptions for which all that the peer had is here, by its number; 0 before the first.
  private(set) var caughtUpNumber: UInt64 = 0
  /// Whether all that the peer had for the subscriptions is here.
  private(set) var hasAll = false
  /// The newest set that the session knows.
  private var subscriptionsNumber: UInt64 = 0

  /// Takes what the session says after a turn, and whether all that the peer had for the subscriptions is here.
  ///
  /// - Returns: Whether it says anything else than before.
  mutating func take(
    _ progress: SyncProgress, _ delivery: PeerDelivery, _ number: UInt64, hasAll: Bool
  ) -> Bool {
    guard
      progress != self.progress || delivery != self.delivery || number != subscriptionsNumber
        || hasAll != self.hasAll
    else { return false }
    self.hasAll = hasAll
    self.progress = progress
    self.delivery = delivery
    subscriptionsNumber = number
    if hasAll { caughtUpNumber = number }
    return true
  }
}
