import NIOConcurrencyHelpers

/// What a session wants sent and was not yet handed to the link.
final class SessionOutbox: Sendable {
  private struct State {
    var pieces: [[UInt8]] = []
    var byteCount = 0
    var finished = false
  }

  /// What the sender does next.
  enum Next {
    case send([[UInt8]])
    case finish
    case wait
  }

  private let arrival = Latch()
  private let state = NIOLockedValueBox(State())

  /// Bytes that wait.
  var byteCount: Int { state.withLockedValue { $0.byteCount } }

  /// Puts pieces behind all earlier ones.
  func append(_ pieces: [[UInt8]]) {
    guard !pieces.isEmpty else { return }
    state.withLockedValue { state in
      state.pieces += pieces
      state.byteCount += pieces.reduce(0) { $0 + $1.count }
    }
    arrival.signal()
  }

  /// Nothing comes any more.
  func finish() {
    state.withLockedValue { $0.finished = true }
    arrival.signal()
  }

  /// Waits for something to do; `wait` only when the task is cancelled.
  func next() async -> Next {
    while true {
      let next = state.withLockedValue { state -> Next in
        guard state.pieces.isEmpty else {
          let pieces = state.pieces
          state.pieces = []
          state.byteCount = 0
          return .send(pieces)
        }
        return state.finished ? .finish : .wait
      }
      guard case .wait = next, !Task.isCancelled else { return next }
      await arrival.wait()
    }
  }
}
