/// Logs transactions that wait long for their turn, and the transactions for which they wait.
///
/// Its thread starts with the first job that must wait, and sleeps while none does.
final class WaitWatch: Sendable {
  private struct State {
    var isAwake = false
    var isClosing = false
    var isStarted = false
  }

  private let queue: Monitor<JobQueue>
  private let options: StoreOptions
  private let state = Monitor(State())

  init(queue: Monitor<JobQueue>, options: StoreOptions) {
    self.queue = queue
    self.options = options
  }

  /// Informs the watch that a job waits.
  func wake() {
    let starts = state.withLock(wake: true) { state in
      state.isAwake = true
      guard !state.isStarted else { return false }
      state.isStarted = true
      return true
    }
    // Without the thread nothing is logged, which is no reason to refuse a write.
    if starts, let thread = try? StoreThread({ self.run() }) { thread.detach() }
  }

  func close() { state.withLock(wake: true) { $0.isClosing = true } }

  private func run() {
    while waitForWork() {
      guard let due = logWaiting() else { continue }
      let isClosing: Bool? = state.wait(for: due - options.monotonic()) { $0.isClosing ? true : nil }
      if isClosing == true { return }
    }
  }

  private func waitForWork() -> Bool {
    state.wait { state -> Bool? in
      if state.isClosing { return false }
      return state.isAwake ? true : nil
    } ?? false
  }

  /// Logs the waits that are due.
  ///
  /// - Returns: When to check again; `nil` when no job waits.
  private func logWaiting() -> Duration? {
    var lines: [(StoreLogLevel, String)] = []
    let due = queue.withLock { queue -> Duration? in
      let now = options.monotonic()
      for job in queue.waiting where job.nextWarning <= now {
        let seconds = Int((now - job.queuedAt).components.seconds)
        let holder = queue.running.map { Job.title($0.origin, $0.hint) } ?? "None"
        lines.append(
          (
            Self.level(job.warnings),
            "Waiting for write transaction (elapsed: \(seconds)s), originator=\(job.title) blocked_by=\(holder)"
          ))
        job.warnings += 1
        job.nextWarning = now + options.waitRepeat
      }
      let due = queue.waiting.map(\.nextWarning).min()
      if due == nil {
        queue.isWatched = false
        state.withLock { $0.isAwake = false }
      }
      return due
    }
    for (level, line) in lines { options.write(level, line) }
    return due
  }

  /// The level of a line: loggers show warnings by default, and a wait that goes on may be a deadlock.
  private static func level(_ earlier: Int) -> StoreLogLevel { earlier < 3 ? .warning : .error }
}
