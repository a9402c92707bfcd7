import CRDTCore

/// Whether a link is alive and its peer makes progress.
struct LinkHealth {
  /// When bytes last arrived.
  var lastReceived = Duration.zero
  /// When the session started.
  private(set) var startedAt = Duration.zero
  private var sending = StallWatch()
  private var pulling = StallWatch()
  private var answeredPings = 0
  /// When a peer that is being probed counts as dead.
  private(set) var lifeDeadline: Duration?

  /// Begins with the session.
  mutating func start(now: Duration) { (lastReceived, startedAt) = (now, now) }

  /// Reserves the answer to one ping.
  ///
  /// Answers are limited by received bytes and elapsed time, since a peer that sends pings may read nothing.
  mutating func mayAnswerPing(bytesReceived: UInt64, now: Duration) -> Bool {
    let earned =
      SyncLimits.pingsAtOnce + Int(bytesReceived) / SyncLimits.bytesPerPing
      + Int((now - startedAt) / SyncLimits.timePerPing)
    guard answeredPings < earned else { return false }
    answeredPings += 1
    return true
  }

  /// Records what the peer has acknowledged in bytes, and how many frames it has sent as a sender.
  ///
  /// A peer that only pings would hold memory here forever.
  mutating func note(
    acknowledged: UInt64, isSending: Bool, answers: UInt64, isPulling: Bool, asked: UInt64, now: Duration
  ) {
    sending.note(acknowledged, asked: asked, isWaiting: isSending, now: now)
    pulling.note(answers, asked: asked, isWaiting: isPulling, now: now)
  }

  /// When to give up on the peer's acknowledgements, and on its answers.
  func stallDeadlines(_ patience: Duration) -> [Duration] {
    [sending.deadline(patience), pulling.deadline(patience)].compactMap { $0 }
  }

  /// - Throws: `timeout` when the peer was silent for too long, or has made no progress.
  func check(silence: Duration, patience: Duration, now: Duration) throws(SyncError) {
    guard now - lastReceived < silence else {
      throw SyncError(.timeout, "The peer has said nothing for \(silence)")
    }
    if let deadline = sending.deadline(patience), now >= deadline {
      throw SyncError(.timeout, "The peer has acknowledged nothing of what was sent for \(patience)")
    }
    if let deadline = pulling.deadline(patience), now >= deadline {
      throw SyncError(.timeout, "The peer has answered nothing that it was asked for \(patience)")
    }
  }

  /// Begins to probe whether the peer is alive; any bytes count.
  mutating func probe(until deadline: Duration) { lifeDeadline = deadline }

  /// Ends the probe; at the deadline, the peer counts as dead.
  ///
  /// - Returns: Whether one was running.
  mutating func endProbe() -> Bool {
    defer { lifeDeadline = nil }
    return lifeDeadline != nil
  }
}
