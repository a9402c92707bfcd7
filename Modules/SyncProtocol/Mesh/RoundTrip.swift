/// Measures how long the peer takes to answer, by the requests that are sent anyway.
struct RoundTrip {
  /// The shortest round trip so far.
  private(set) var shortest: Duration?
  private var asked: (answer: FrameType, at: Duration)?

  /// Returns the type of the answer, for frames that the peer answers at once.
  private static func answer(to type: FrameType) -> FrameType? {
    switch type {
    case .compare: .answer
    case .ping: .pong
    default: nil
    }
  }

  mutating func didSend(_ type: FrameType, now: Duration) {
    guard asked == nil, let answer = Self.answer(to: type) else { return }
    asked = (answer, now)
  }

  mutating func didReceive(_ type: FrameType, now: Duration) {
    guard let asked, asked.answer == type else { return }
    self.asked = nil
    shortest = min(shortest ?? .seconds(60), now - asked.at)
  }
}
