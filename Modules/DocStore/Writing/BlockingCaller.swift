/// What a blocking call must know about the thread it blocks.
///
/// Swift's tasks share a few threads, about one for each core. A task that blocks its thread until another
/// task continues may keep that task from ever running. So such a wait has a limit.
enum BlockingCaller {
  /// How long a thread that runs tasks waits while an asynchronous transaction is open.
  static let patience = Duration.seconds(1)
  /// How often a waiting call checks whether such a transaction has been opened meanwhile.
  static let pollInterval = Duration.milliseconds(100)

  /// Whether the calling thread runs a task.
  ///
  /// The runtime stores the current task in the thread, so a synchronous function that a task calls sees it.
  /// A thread of the application, or of a dispatch queue, has none. A cooperative thread runs only tasks.
  static var isTask: Bool { unsafe withUnsafeCurrentTask { unsafe $0 != nil } }

  /// Whether the calling thread may execute a transaction itself: it runs no task, and its stack is deep.
  static var mayCarryOut: Bool { !isTask && CallerStack.isDeep }
}

extension Writer {
  /// Queues a job, and blocks the caller until the job has ended.
  ///
  /// - Parameters:
  ///   - job: The job.
  ///   - latch: The latch that the job's completion sets.
  ///   - form: The form that the caller should have awaited, for the error.
  /// - Returns: The job's result.
  /// - Throws: `wouldBlock` when a thread that runs tasks waited too long for an asynchronous transaction to
  ///   end, and the job has not run; what the job throws.
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
      // From here on the job depends on no task, because an asynchronous transaction begins its own batch.
      case .started: return try latch.wait().get()
      case .refused: job.finish(.failure(StoreError.wouldBlock(awaitedForm: form)))
      }
    }
  }

  /// Waits until the writer's thread has ended.
  ///
  /// If the caller's thread runs tasks, the wait gives the body of an asynchronous transaction one second.
  /// Then the transaction is rolled back, because its task may need this thread.
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
  /// The error of a blocking call that gave up, so that the tasks for which it waited can continue.
  ///
  /// - Parameter form: The form to await instead; `nil` if there is none.
  /// - Returns: The error, which names the form.
  package static func wouldBlock(awaitedForm form: String?) -> StoreError {
    let advice = form.map { "call `\($0)`" } ?? "call it on a thread that runs no task"
    return StoreError(
      .wouldBlock,
      "An asynchronous transaction is open, and its task may need the thread that this call blocks: \(advice)",
      operation: "write")
  }
}
