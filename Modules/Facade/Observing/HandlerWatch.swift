import Dispatch
import DocStore
import Logging
import Synchronization

/// Logs handlers of the application that run for long: a handler that blocks keeps others from being called.
///
/// One timer serves all handlers. It runs only while handlers are called, and at most once in the time limit
/// where all of them are fast.
final class HandlerWatch: Sendable {
  /// How a handler is called, which decides what has to wait for it.
  enum Place: Sendable {
    /// One after another with all handlers that have no queue of their own.
    case shared
    /// On a queue of the application.
    case ownQueue
    /// On a thread that runs tasks.
    case task

    fileprivate var effect: String {
      switch self {
      case .shared: "until it returns, no other handler without a queue of its own is called"
      case .ownQueue: "it keeps the queue on which it is called"
      case .task: "it keeps a thread on which tasks run"
      }
    }
  }

  /// A call that has not returned.
  private struct Call {
    let name: String
    let place: Place
    let start: Duration
    /// When to log it next.
    var due: Duration

    func line(at now: Duration) -> String {
      "A handler of \(name) has run for \((now - start).components.seconds) s: \(place.effect)"
    }
  }

  private struct State {
    var calls: [UInt64: Call] = [:]
    var nextID: UInt64 = 0
    var isScheduled = false
  }

  private let limit: Duration
  private let reporter: Reporter
  private let now: @Sendable () -> Duration
  private let timer = DispatchQueue(label: "dunlin.handlers")
  private let state = Mutex(State())

  /// Makes a watch.
  ///
  /// - Parameters:
  ///   - limit: How long a handler may run before it is logged.
  ///   - reporter: Gets the log lines.
  ///   - now: A monotonic clock.
  init(
    limit: Duration, reporter: Reporter,
    now: @escaping @Sendable () -> Duration = StoreOptions.systemMonotonic
  ) {
    self.limit = limit
    self.reporter = reporter
    self.now = now
  }

  /// Calls a handler, and logs it if it runs for too long: at the limit, then each time after twice as long.
  ///
  /// - Parameters:
  ///   - name: What the handler observes.
  ///   - place: How it is called.
  ///   - handler: The handler.
  func run(_ name: String, _ place: Place, _ handler: () -> Void) {
    let start = now()
    let id = state.withLock { state in
      state.nextID += 1
      state.calls[state.nextID] = Call(name: name, place: place, start: start, due: start + limit)
      if !state.isScheduled {
        state.isScheduled = true
        schedule(after: limit)
      }
      return state.nextID
    }
    defer { state.withLock { $0.calls[id] = nil } }
    handler()
  }

  private func schedule(after delay: Duration) {
    timer.asyncAfter(deadline: .now() + delay / .seconds(1)) { [weak self] in self?.check() }
  }

  /// Logs the calls that are due, and schedules the next check if a call has not returned.
  private func check() {
    let lines = state.withLock { state in
      let now = now()
      var lines: [String] = []
      for (id, call) in state.calls where call.due <= now {
        lines.append(call.line(at: now))
        state.calls[id]?.due = now + (now - call.start)
      }
      let next = state.calls.values.map(\.due).min()
      state.isScheduled = next != nil
      if let next { schedule(after: next - now) }
      return lines
    }
    for line in lines { reporter.logger.warning("\(line)") }
  }
}

extension HandlerWatch {
  /// A query as log lines name it, without the end of a long text.
  static func name(ofQuery text: String) -> String {
    text.count > 200 ? "'\(text.prefix(200))…'" : "'\(text)'"
  }
}
