/// Threads that are kept for a while after their work: a short read takes less time than a new thread.
final class ReusedThreads: Sendable {
  typealias Work = @Sendable () -> Void

  /// A thread, as seen by the code that has work for it.
  private final class Worker: Sendable {
    enum Order {
      case work(Work)
      case end
    }

    private let order: Monitor<Order?>

    init(_ work: @escaping Work) { order = Monitor(.work(work)) }

    func give(_ order: Order) { self.order.withLock(wake: true) { $0 = order } }

    /// Waits for the next order and removes it; `nil` if none arrived in time.
    func next(within time: Duration?) -> Order? {
      order.wait(for: time) { order in
        defer { order = nil }
        return order
      }
    }
  }

  private struct State {
    /// The idle threads; the one that worked last is the last element.
    var idle: [Worker] = []
    var isClosed = false
  }

  /// The maximum number of idle threads.
  private static let idleLimit = 8

  private let idleTime: Duration
  private let state = Monitor(State())

  /// - Parameter idleTime: How long an idle thread is kept.
  init(idleTime: Duration = .seconds(5)) { self.idleTime = idleTime }

  /// The number of threads that wait for work.
  var idleCount: Int { state.withLock { $0.idle.count } }

  /// Runs `work` on a thread of its own.
  ///
  /// - Throws: `noMemory` if the system cannot create a thread; then `work` does not run.
  func run(_ work: @escaping Work) throws(StoreError) {
    if let worker = state.withLock({ $0.idle.popLast() }) { return worker.give(.work(work)) }
    let worker = Worker(work)
    try StoreThread { self.serve(worker) }.detach()
  }

  private func serve(_ worker: Worker) {
    while carryOut(next(of: worker)) {
      let isKept = state.withLock { state in
        guard !state.isClosed, state.idle.count < Self.idleLimit else { return false }
        state.idle.append(worker)
        return true
      }
      guard isKept else { return }
    }
  }

  /// Carries out an order, and releases its closure.
  ///
  /// - Returns: Whether the thread continues.
  private func carryOut(_ order: Worker.Order) -> Bool {
    guard case .work(let work) = order else { return false }
    work()
    return true
  }

  private func next(of worker: Worker) -> Worker.Order {
    if let order = worker.next(within: idleTime) { return order }
    let wasIdle = state.withLock { state in
      guard let place = state.idle.firstIndex(where: { $0 === worker }) else { return false }
      state.idle.remove(at: place)
      return true
    }
    // Otherwise another thread has removed it from the list, and is about to give it an order.
    return wasIdle ? .end : worker.next(within: nil) ?? .end
  }

  /// Ends the idle threads, and keeps none from now on.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
    for worker in idle { worker.give(.end) }
  }
}
