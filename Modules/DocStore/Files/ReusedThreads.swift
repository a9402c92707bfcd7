import Dispatch
import Synchronization

/// Threads that are kept for a while when their work is done: a short read takes less time than a new thread.
final class ReusedThreads: Sendable {
  typealias Work = @Sendable () -> Void

  /// A thread, as whoever has work for it sees it.
  private final class Worker: Sendable {
    private let handed: Mutex<Work?>
    private let wake = DispatchSemaphore(value: 0)

    init(_ work: @escaping Work) { handed = Mutex(work) }

    /// Hands over work, or `nil` to end a thread that is idle.
    func hand(_ work: Work?) {
      handed.withLock { $0 = work }
      wake.signal()
    }

    /// Does what it was handed, and lets go of that.
    ///
    /// - Returns: `false` when it was to end.
    func work() -> Bool {
      let work = handed.withLock { handed in
        defer { handed = nil }
        return handed
      }
      work?()
      return work != nil
    }

    /// Waits until it is handed something.
    ///
    /// - Returns: `false` when that has not happened in time.
    func wait(for time: DispatchTimeInterval?) -> Bool {
      guard let time else {
        wake.wait()
        return true
      }
      return wake.wait(timeout: .now() + time) == .success
    }
  }

  private struct State {
    /// The one that has worked last is the last one.
    var idle: [Worker] = []
    var isClosed = false
  }

  /// Threads that are kept idle at most, and for how long.
  private static let idleLimit = 8
  private static let idleTime = DispatchTimeInterval.seconds(5)

  private let state = Mutex(State())

  /// How many threads wait for work.
  var idleCount: Int { state.withLock { $0.idle.count } }

  /// Runs `work` on a thread of its own.
  ///
  /// - Throws: `noMemory` when the system gives no thread; `work` does not run then.
  func run(_ work: @escaping Work) throws(StoreError) {
    if let worker = state.withLock({ $0.idle.popLast() }) { return worker.hand(work) }
    let worker = Worker(work)
    try StoreThread { self.serve(worker) }.detach()
  }

  private func serve(_ worker: Worker) {
    while worker.work() {
      let isKept = state.withLock { state in
        guard !state.isClosed, state.idle.count < Self.idleLimit else { return false }
        state.idle.append(worker)
        return true
      }
      guard isKept else { return }
      if worker.wait(for: Self.idleTime) { continue }
      let wasIdle = state.withLock { state in
        guard let place = state.idle.firstIndex(where: { $0 === worker }) else { return false }
        state.idle.remove(at: place)
        return true
      }
      if wasIdle { return }
      // Somebody has taken it off the list, and is about to hand it something.
      _ = worker.wait(for: nil)
    }
  }

  /// Ends the idle threads, and keeps none from now on.
  func close() {
    let idle = state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
    for worker in idle { worker.hand(nil) }
  }
}
