import QueryEngine
import Synchronization

/// One observer: receives the results of its query, and delivers each change in order.
///
/// A slow handler gets the changes of up to 16 commits one by one; further changes are combined. An iterator
/// always gets the newest state, with its exact diff from the last one that it got.
final class QueryObservation: Sendable {
  typealias Handler = @Sendable (_ delivery: Delivery, _ next: @escaping DunlinSignalNext) -> Void

  /// Arranges calls soon, on a thread of its choice, one call at a time.
  typealias Caller = @Sendable (_ call: @escaping @Sendable () -> Void) -> Void

  enum Sink: Sendable {
    case handler(Handler, by: Caller)
    case iterator

    /// The number of queued changes above which changes are combined.
    fileprivate var capacity: Int {
      switch self {
      case .handler: 16
      case .iterator: 1
      }
    }
  }

  /// A queued change; `diff` is `nil` for several combined changes, and for the first result.
  struct Pending {
    var isInitial: Bool
    var rows: RowList<Row>
    var diff: ResultDiff?
  }

  private struct State {
    var pending: [Pending] = []
    /// Whether the handler is being called, or has not asked for the next call.
    var isBusy = false
    var waiter: CheckedContinuation<Void, Never>?
    var isOver = false
    var onCancel: (@Sendable () -> Void)?
  }

  /// The result that was delivered last.
  private struct Shown {
    private var result: ObservedResult

    init(_ origin: RowOrigin) { result = ObservedResult(origin) }

    /// Advances to the result of a change.
    ///
    /// - Returns: The delivery; `nil` if the result has not changed.
    mutating func advance(to change: Pending) -> Delivery? {
      let diff = change.diff ?? ResultDiff(from: result.rows, to: change.rows)
      guard change.isInitial || !diff.isEmpty else { return nil }
      let old = result
      result = ObservedResult(change.rows, following: old, by: diff)
      return Delivery(diff: DunlinDiff(diff, from: old, to: result, isInitial: change.isInitial))
    }
  }

  private let sink: Sink
  private let reporter: Reporter
  private let state = Mutex(State())
  /// Used by the thread that takes the next delivery, one at a time.
  private let shown: Mutex<Shown>

  init(sink: Sink, reporter: Reporter, _ origin: RowOrigin) {
    self.sink = sink
    self.reporter = reporter
    shown = Mutex(Shown(origin))
  }

  // MARK: - For the query

  /// Queues a change of the result; the caller keeps changes in order.
  func enqueue(_ change: Pending) {
    let (waiter, mustCall) = state.withLock { state -> (CheckedContinuation<Void, Never>?, Bool) in
      guard !state.isOver else { return (nil, false) }
      if state.pending.count >= sink.capacity {
        let last = state.pending.removeLast()
        state.pending.append(Pending(isInitial: last.isInitial, rows: change.rows))
      } else {
        state.pending.append(change)
      }
      defer { state.waiter = nil }
      guard case .handler = sink, !state.isBusy else { return (state.waiter, false) }
      state.isBusy = true
      return (nil, true)
    }
    waiter?.resume()
    if mustCall { callHandler() }
  }

  /// Ends the observation because its query has failed; otherwise the handler would wait for nothing.
  func fail(_ error: any Error) {
    if !isOver { reporter.fail("an observer", error) }
    cancel()
  }

  // MARK: - Delivery

  private func callHandler() {
    guard case .handler(let handler, let caller) = sink else { return }
    caller { [self] in
      guard let delivery = takeDelivery() else { return }
      let signal = SignalOnce { [weak self] in self?.handlerIsDone() }
      handler(delivery) { signal.fire() }
    }
  }

  private func handlerIsDone() {
    let goesOn = state.withLock { state in
      state.isBusy = !state.pending.isEmpty && !state.isOver
      return state.isBusy
    }
    if goesOn { callHandler() }
  }

  /// The next delivery that is not empty; `nil` when none waits.
  private func takeDelivery() -> Delivery? {
    while let change = takePending() {
      if let delivery = shown.withLock({ $0.advance(to: change) }) { return delivery }
    }
    return nil
  }

  private func takePending() -> Pending? {
    state.withLock { state in
      guard !state.isOver, !state.pending.isEmpty else {
        state.isBusy = false
        return nil
      }
      return state.pending.removeFirst()
    }
  }

  /// Waits for the next delivery; for one iterator at a time.
  ///
  /// - Returns: `nil` when the observation is over.
  func next() async -> Delivery? {
    while !isOver {
      if let delivery = takeDelivery() { return delivery }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let resumesNow = state.withLock { state in
            if state.isOver || !state.pending.isEmpty { return true }
            state.waiter = continuation
            return false
          }
          if resumesNow { continuation.resume() }
        }
      } onCancel: {
        cancel()
      }
    }
    return nil
  }

  // MARK: - The end

  var isOver: Bool { state.withLock { $0.isOver } }

  func onCancel(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onCancel = body } }

  /// Ends the observation; a call of the handler that is in progress ends by itself.
  ///
  /// - Returns: Whether it had not ended before.
  @discardableResult
  func cancel() -> Bool {
    let (wasGoingOn, waiter, onCancel) = state.withLock { state in
      let wasGoingOn = !state.isOver
      let ends = (wasGoingOn, state.waiter, state.onCancel)
      state.isOver = true
      state.pending = []
      state.waiter = nil
      state.onCancel = nil
      return ends
    }
    waiter?.resume()
    onCancel?()
    return wasGoingOn
  }
}

/// Lets a handler ask for its next call once.
private final class SignalOnce: Sendable {
  private let isFired = Mutex(false)
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  func fire() {
    let isFirst = isFired.withLock { isFired in
      defer { isFired = true }
      return !isFired
    }
    if isFirst { body() }
  }
}
