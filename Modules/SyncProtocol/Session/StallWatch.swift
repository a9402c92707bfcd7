/// Notices that a peer which is there gets nowhere.
struct StallWatch {
  private var progress: UInt64 = 0
  /// When the wait for the next progress began; `nil` while nothing is waited for.
  private var since: Duration?
  /// The longest wait so far that came to something.
  private var longest: Duration = .zero
  /// Bytes of what the peer was asked, at the end, at the last progress and at the one before.
  private var asked: UInt64 = 0
  private var askedBefore: (last: UInt64, former: UInt64) = (0, 0)

  /// Takes note of a total that grows as the peer gets on, and of all bytes that it was asked with.
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

  /// When to give up: a peer that was slow before, for example on a slow disk, gets more time, and so does one that is yet to
  /// hear of what it is asked, at a thousand bytes a second: up to ten times the patience, whatever is asked.
  func deadline(_ patience: Duration) -> Duration? {
    since.map { $0 + patience + longest * 2 + min(.milliseconds(asked &- askedBefore.former), patience * 10) }
  }
}
