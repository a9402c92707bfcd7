/// Detects a peer that is alive but makes no progress.
struct StallWatch {
  private var progress: UInt64 = 0
  /// When the current wait for progress began; `nil` while there is nothing to wait for.
  private var since: Duration?
  /// The longest wait that ended with progress.
  private var longest: Duration = .zero
  /// Bytes of requests sent so far, now, at the last progress and at the one before.
  private var asked: UInt64 = 0
  private var askedBefore: (last: UInt64, former: UInt64) = (0, 0)

  /// Records a total that grows with the peer's progress, and the bytes of all requests sent to it.
  mutating func note(_ progress: UInt64, asked: UInt64 = 0, isWaiting: Bool, now: Duration) {
    if progress != self.progress { askedBefore = (self.asked, askedBefore.last) }
    self.asked = asked
    if progress != self.progress, let since {
      longest = max(longest, now - since)
      self.since = nil
    }
    self.progress = progress
    since = isWaiting ? since ?? now : nil
  }

  /// Returns when to give up waiting.
  ///
  /// A peer that was slow before, such as one with a slow disk, gets more time. So does one that has yet to
  /// receive requests, at a thousand bytes per second. The second extension is at most ten times `patience`.
  func deadline(_ patience: Duration) -> Duration? {
    since.map { $0 + patience + longest * 2 + min(.milliseconds(asked &- askedBefore.former), patience * 10) }
  }
}
