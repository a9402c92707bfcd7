/// The transactions that wait for the writer thread, in the order they came.
struct JobQueue {
  private var jobs: [Job] = []
  private var head = 0
  /// Whose job runs now.
  private(set) var running: Origin?
  /// The asynchronous transaction whose body is open, and since when by the system's clock.
  private(set) var open: (interaction: Interaction, since: Duration)?
  /// Whether a caller carries out its job itself, so that the writer's thread keeps still.
  private(set) var isLent = false
  var isClosing = false
  /// Whether the store ends as in a crash.
  private(set) var isAbandoned = false
  /// Whether the watch over waiting jobs is awake.
  var isWatched = false

  var isEmpty: Bool { head == jobs.count }

  var waiting: ArraySlice<Job> { jobs[head...] }

  mutating func append(_ job: Job) { jobs.append(job) }

  /// Hands over the next job, which then counts as running.
  mutating func take() -> Job? {
    guard head < jobs.count else { return nil }
    let job = jobs[head]
    head += 1
    if head == jobs.count || head > 1_000 {
      jobs.removeFirst(head)
      head = 0
    }
    running = job.origin
    open = job.interaction.map { ($0, StoreOptions.systemMonotonic()) }
    return job
  }

  /// Lets the caller of a job carry it out, where nothing runs or waits.
  ///
  /// - Returns: `false` where the job has to be queued.
  mutating func lend(for job: Job) -> Bool {
    guard running == nil, isEmpty, !isClosing else { return false }
    (running, isLent) = (job.origin, true)
    return true
  }

  /// Takes in that such a job is over.
  ///
  /// - Returns: Whether the writer's thread has something to do.
  mutating func takeBack() -> Bool {
    isLent = false
    idle()
    return !isEmpty || isClosing
  }

  /// Hands over the next job if it may share the commit of a batch that has begun.
  ///
  /// An asynchronous transaction begins a batch of its own: those whose bodies have run would else wait for the
  /// task that its body belongs to, which may wait for them.
  mutating func takeWriting() -> Job? {
    guard head < jobs.count, jobs[head].maintenance == nil, jobs[head].interaction == nil else { return nil }
    return take()
  }

  /// Records that the running job waits for no task any more.
  mutating func endInteraction() { open = nil }

  mutating func idle() { (running, open) = (nil, nil) }

  /// Hands over all that wait, and closes the queue.
  mutating func abandon() -> [Job] {
    (isClosing, isAbandoned) = (true, true)
    defer { (jobs, head) = ([], 0) }
    return Array(waiting)
  }

  func isWaiting(_ job: Job) -> Bool { waiting.contains { $0 === job } }

  /// Takes a waiting job out of the queue.
  ///
  /// - Returns: `false` when it does not wait any more.
  mutating func remove(_ job: Job) -> Bool {
    guard let index = jobs[head...].firstIndex(where: { $0 === job }) else { return false }
    jobs.remove(at: index)
    return true
  }
}
