import Dispatch
import NIOConcurrencyHelpers
import NIOCore

/// Where a session's steps run: one after another, in the order in which they were handed over.
protocol SessionExecutor: Sendable {
  /// Runs `body` soon; callable from any thread.
  func execute(_ body: @escaping @Sendable () -> Void)
}

/// The event loop of a link: what the socket received is looked at where it was read, and what the session
/// answers goes into the socket with no other thread between.
struct LoopExecutor: SessionExecutor {
  let loop: any EventLoop

  func execute(_ body: @escaping @Sendable () -> Void) { loop.execute(body) }
}

/// Threads for steps too long for an event loop, which other links share.
enum SessionWorkers {
  private static let queue = DispatchQueue(
    label: "dunlin.sessions", qos: .userInitiated, attributes: .concurrent)

  private static let waiting = NIOLockedValueBox(0)

  /// Whether steps wait for a thread.
  static var isBusy: Bool { waiting.withLockedValue { $0 > 0 } }

  static func execute(_ body: @escaping @Sendable () -> Void) {
    waiting.withLockedValue { $0 += 1 }
    queue.async {
      waiting.withLockedValue { $0 -= 1 }
      body()
    }
  }
}
