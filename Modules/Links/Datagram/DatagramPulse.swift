/// When the other end was heard, and when to ask it for a sign of life or for credit.
package struct DatagramPulse: Sendable {
  /// The longest pause between two questions for credit.
  private static let longestPause: Duration = .seconds(4)

  private let keepAlive: Duration
  private let silence: Duration
  private var lastHeard: Duration
  private var lastAsked: Duration
  /// Questions for credit in a row that brought none.
  private var vain = 0

  /// Starts with an end that was heard at `now`.
  package init(_ options: DatagramOptions, at now: Duration) {
    keepAlive = options.keepAlive
    silence = options.silence
    lastHeard = now
    lastAsked = now
  }

  /// When the other end has been silent for too long.
  package var end: Duration { lastHeard + silence }

  /// When the next question is due; while this end waits for credit, `patience` is how long an answer takes.
  package func nextQuestion(starving patience: Duration?) -> Duration {
    let alive = max(lastHeard + keepAlive, lastAsked + keepAlive / 4)
    guard let patience else { return alive }
    let pause = min(patience * (1 << min(vain, 8)), Self.longestPause)
    return min(alive, max(lastHeard, lastAsked) + pause)
  }

  /// Records that a valid packet arrived.
  package mutating func heard(at now: Duration) { lastHeard = now }

  /// Records that a question is sent.
  package mutating func asked(at now: Duration, starving: Bool) {
    lastAsked = now
    if starving { vain += 1 }
  }

  /// Records that there is credit.
  package mutating func fed() { vain = 0 }
}
