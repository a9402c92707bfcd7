import Dispatch
import NIOConcurrencyHelpers

/// Threads for steps that are too long for an event loop, which other links share.
///
/// Of the waiting steps, the one runs first whose session has recently used the least time.
enum SessionWorkers {
  private struct Step {
    let spent: Duration
    let number: UInt64
    let body: @Sendable () -> Void
  }

  private struct State {
    var waiting: [Step] = []
    var lastNumber: UInt64 = 0

    mutating func add(_ body: @escaping @Sendable () -> Void, _ spent: Duration) {
      lastNumber += 1
      waiting.append(Step(spent: spent, number: lastNumber, body: body))
    }

    mutating func takeNext() -> Step? {
      let next = waiting.indices.min {
        (waiting[$0].spent, waiting[$0].number) < (waiting[$1].spent, waiting[$1].number)
      }
      return next.map { waiting.remove(at: $0) }
    }
  }

  private static let queue = DispatchQueue(
    label: "dunlin.sessions", qos: .userInitiated, attributes: .concurrent)
  private static let state = NIOLockedValueBox(State())

  /// Whether steps wait for a thread.
  static var isBusy: Bool { state.withLockedValue { !$0.waiting.isEmpty } }

  /// Runs a step of a session that has recently used so much time.
  static func execute(after spent: Duration, _ body: @escaping @Sendable () -> Void) {
    state.withLockedValue { $0.add(body, spent) }
    queue.async { state.withLockedValue { $0.takeNext() }?.body() }
  }
}

/// The time that a session's steps have recently used; older use counts less.
struct SpentTime {
  /// The time after which use counts half.
  private static let span = Duration.seconds(1)

  private(set) var spent = Duration.zero
  private var since = Duration.zero

  mutating func add(_ duration: Duration, at now: Duration) {
    spent += duration
    while now - since >= Self.span, spent > .zero {
      spent /= 2
      since += Self.span
      if spent < .microseconds(1) { spent = .zero }
    }
    if spent == .zero || now - since >= Self.span { since = now }
  }
}
