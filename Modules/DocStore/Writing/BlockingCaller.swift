/// What a call that blocks its thread must know about that thread.
///
/// Swift's tasks share a few threads, about one a core. One that blocks until another task goes on may keep that
/// task from ever running, so such a wait has a limit.
enum BlockingCaller {
  /// How long a task's thread waits while an asynchronous transaction is open.
  static let patience = Duration.seconds(1)
  /// How often a wait looks whether such a transaction has been opened meanwhile.
  static let pollInterval = Duration.milliseconds(100)

  /// Whether the calling thread runs a task.
  ///
  /// The runtime keeps the current task in the thread: a synchronous function that a task calls sees it, and a
  /// thread of the application's own, or of a dispatch queue, has none. All that a cooperative thread runs is tasks.
  static var isTask: Bool { unsafe withUnsafeCurrentTask { unsafe $0 != nil } }

  /// Whether the calling thread may carry out a transaction in the writer's place: no task's, and with a deep stack.
  static var mayCarryOut: Bool { !isTask && CallerStack.isDeep }
}

extension Writer {
  /// Queues a job whose caller blocks until it is over.
  ///
  /// - Parameters:
  ///   - job: The job.
  ///   - latch: What the job's completion sets.
  ///   - form: What the caller should have awaited, for the error.
  /// - Returns: What the job's caller gets.
  /// - Throws: `wouldBlock` when a task's thread waited too long for an asynchronous transaction to end, and then the
  ///   job has not run; what the job throws.
  func carryOut(
    _ job: Job, _ latch: Latch<Job.Outcome>, awaitedForm form: String?
  ) throws -> CommitReceipt {
    if !isManual, BlockingCaller.mayCarryOut, carryOutHere(job) { return try latch.wait().get() }
    submit(job)
    guard !isManual, BlockingCaller.isTask else { return try latch.wait().get() }
    let start = StoreOptions.systemMonotonic()
    while true {
      if let outcome = latch.wait(for: BlockingCaller.pollInterval) { return try outcome.get() }
      let verdict = queue.withLock { queue -> Verdict in
        guard queue.isWaiting(job) else { return .started }
        guard let (_, since) = queue.open else { return .goesOn }
        guard StoreOptions.systemMonotonic() - max(start, since) >= BlockingCaller.patience else {
          return .goesOn
        }
        return queue.remove(job) ? .refused : .started
      }
      switch verdict {
      case .goesOn: continue
      // From here on it depends on no task: an asynchronous transaction begins a batch of its own.
      case .started: return try latch.wait().get()
      case .refused: job.finish(.failure(StoreError.wouldBlock(awaitedForm: form)))
      }
    }
  }

  /// Waits until the thread has ended.
  ///
  /// A caller on a thread that tasks run on gives the body of an asynchronous transaction a second; then the
  /// transaction is rolled back, because its task may need this very thread.
  func awaitEnd() {
    guard BlockingCaller.isTask else { return _ = ended.wait { $0 ? true : nil } }
    let start = StoreOptions.systemMonotonic()
    while ended.wait(for: BlockingCaller.pollInterval, until: { $0 ? true : nil }) == nil {
      let overdue = queue.withLock { queue -> Interaction? in
        guard let (interaction, since) = queue.open else { return nil }
        return StoreOptions.systemMonotonic() - max(start, since) >= BlockingCaller.patience
          ? interaction : nil
      }
      overdue?.abort(
        StoreError(.closed, "The store was closed while the transaction was open", operation: "write"))
    }
  }

  private enum Verdict { case goesOn, started, refused }
}

extension StoreError {
  /// The error of a blocking call that gave up, so that the tasks it waited for can go on.
  ///
  /// - Parameter form: What can be awaited in its place; `nil` where nothing can.
  /// - Returns: The error, which names the form.
  package static func wouldBlock(awaitedForm form: String?) -> StoreError {
    let advice = form.map { "call `\($0)`" } ?? "call it on a thread that runs no task"
    return StoreError(
      .wouldBlock,
      "An asynchronous transaction is open, and its task may need the thread that this call blocks: \(advice)",
      operation: "write")
  }
}
