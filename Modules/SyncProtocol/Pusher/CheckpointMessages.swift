/// The checkpoint messages of a session: which was sent last, and which waits to be sent.
struct CheckpointMessages {
  /// A checkpoint message.
  struct Mark: Equatable {
    let sequence: UInt64
    let asksReceived: UInt64
    /// All transactions that were queued before it.
    let after: SendQueue.Progress
  }

  /// The shortest time between two messages while transactions are sent.
  static let interval = Duration.milliseconds(250)
  /// The shortest time between two messages that only report commits that do not concern the receiver.
  static let quietInterval = Duration.seconds(30)

  /// The number of request and have frames received.
  private(set) var asksReceived: UInt64 = 0
  /// Identifies the policy under which the receiver has followed the log.
  private(set) var policyHash: UInt64 = 0
  private var last: (mark: Mark, at: Duration)?
  private var waiting: Mark?

  /// Counts a request or have frame.
  mutating func countAsk() { asksReceived += 1 }

  /// Records the policy under which the receiver begins to follow the log; 0 while it does not.
  mutating func begin(under policy: UInt64) { policyHash = policy }

  /// Returns when a message for a commit is due; `nil` if none is to be sent.
  ///
  /// Everything up to the commit was queued.
  ///
  /// It is due later if no commit since the last message concerns the receiver (`isMoved`).
  func time(at sequence: UInt64, after queued: SendQueue.Progress, isMoved: Bool, now: Duration) -> Duration?
  {
    guard waiting == nil else { return nil }
    guard let (mark, time) = last, mark.asksReceived == asksReceived else { return now }
    guard mark.sequence != sequence else { return nil }
    return time + (mark.after == queued && !isMoved ? Self.quietInterval : Self.interval)
  }

  /// Makes the next message, which waits until everything before it is sent.
  mutating func make(at sequence: UInt64, after queued: SendQueue.Progress) -> Mark {
    let mark = Mark(sequence: sequence, asksReceived: asksReceived, after: queued)
    waiting = mark
    return mark
  }

  /// Records that the message that waits is sent, if it is this one.
  mutating func accept(_ mark: Mark, now: Duration) -> Bool {
    guard waiting == mark else { return false }
    waiting = nil
    last = (mark, now)
    return true
  }

  /// Records that the receiver knows a commit as its checkpoint.
  mutating func noteKnown(_ sequence: UInt64, after queued: SendQueue.Progress, now: Duration) {
    last = (Mark(sequence: sequence, asksReceived: asksReceived, after: queued), now)
  }

  /// Drops the message that waits: what it says has become doubtful.
  mutating func cancel() { waiting = nil }

  /// Begins anew, for another interest or policy.
  mutating func reset() { (last, waiting) = (nil, nil) }
}
