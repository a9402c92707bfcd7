/// Notices that a peer which is there gets nowhere.
struct StallWatch {
  private var progress: UInt64 = 0
  /// When the wait for the next progress began; `nil` while nothing is waited for.
  private var since: Duration?
  /// The longest wait so far that came to something.
  private var longest: Duration = .zero

  /// Takes note of a total that grows as the peer gets on.
  mutating func note(_ progress: UInt64, isWaiting: Bool, now: Duration) {
    if progress != self.progress, let since {
      longest = max(longest, now - since)
      self.since = nil
    }
    self.progress = progress
    since = isWaiting ? since ?? now : nil
  }

  /// When to give up: a peer that was slow before, for example on a slow disk, gets more time.
  func deadline(_ patience: Duration) -> Duration? { since.map { $0 + patience + longest * 2 } }
}
