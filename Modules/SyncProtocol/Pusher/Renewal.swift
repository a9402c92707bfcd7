/// Whether the peer must reconcile everything again.
///
/// The peer may lack documents under the current interest and policy.
///
/// A reconciliation that it began before it read the renew frame may cover some collections only.
struct Renewal {
  private var unheard = 0
  /// Whether it must, and has not begun.
  private(set) var isOpen = false

  /// Records that a renew frame was sent, which the peer acknowledges.
  mutating func noteSent() {
    isOpen = true
    unheard += 1
  }

  /// Records the peer's acknowledgement.
  ///
  /// - Throws: `outOfOrder` when no renew frame is unacknowledged.
  mutating func hear() throws(SyncError) {
    guard unheard > 0 else { throw SyncError(.outOfOrder, "The peer has heard of what it was not told") }
    unheard -= 1
  }

  /// Records that the peer begins to reconcile.
  ///
  /// - Returns: Whether it has read every renew frame, so that it reconciles everything if it must.
  mutating func begin() -> Bool {
    guard unheard == 0 else { return false }
    isOpen = false
    return true
  }
}
