import SyncProtocol

/// The state of a session for observers, as of its last turn.
struct SessionFigures {
  var statistics = SyncStatistics()
  private(set) var progress = SyncProgress()
  private(set) var delivery = PeerDelivery()
  /// The number of the newest set of subscriptions that is complete here; 0 before the first.
  ///
  /// Complete means that everything that the peer had for them is stored here.
  private(set) var caughtUpNumber: UInt64 = 0
  /// Whether everything that the peer had for the subscriptions is stored here.
  private(set) var hasAll = false
  /// The number of the newest set that the session knows.
  private var subscriptionsNumber: UInt64 = 0

  /// Records the session's state after a turn.
  ///
  /// `hasAll` says whether everything that the peer had for the subscriptions is stored here.
  ///
  /// - Returns: Whether anything has changed besides the numbers of the pull.
  mutating func take(
    _ progress: SyncProgress, _ delivery: PeerDelivery, _ number: UInt64, hasAll: Bool
  ) -> Bool {
    // The numbers of a pull change at each step, and nobody waits for them.
    self.progress.pull = progress.pull
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
