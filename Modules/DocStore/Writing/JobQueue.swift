/// The transactions that wait for the writer: those of the application in order, and those of remote sources.
///
/// The two kinds alternate, batch by batch. So a write of the application waits at most for the remote batch
/// that is running, and remote writes are not delayed for ever. Among the sources, the one with the least
/// recent cost comes first. So a source with few writes need not wait for all that have many.
struct JobQueue {
  private var own = WaitingJobs()
  private var remote = WaitingJobs()
  private var costs = SourceCosts()
  /// Whether the last batch began with a job of the application.
  private var wasOwn = false
  /// The origin and the hint of the running job.
  private(set) var running: (origin: Origin, hint: String?)?
  /// The asynchronous transaction whose body is open, and its start by the system's clock.
  private(set) var open: (interaction: Interaction, since: Duration)?
  /// Whether a caller executes its job itself, so that the writer's thread does nothing.
  private(set) var isLent = false
  /// Whether the writer keeps its last commits, which it frees when it has no job.
  var keepsCommits = false
  var isClosing = false
  /// Whether the store ends as in a crash.
  private(set) var isAbandoned = false
  /// Whether the watch over waiting jobs is awake.
  var isWatched = false

  var isEmpty: Bool { own.isEmpty && remote.isEmpty }

  var waiting: [Job] { Array(own.jobs) + remote.jobs }

  /// Queues a job.
  ///
  /// - Returns: Whether the watch over waiting jobs must be woken: it sleeps, and the job waits for another
  ///   one, which runs or is about to.
  mutating func append(_ job: Job) -> Bool {
    let waits = running != nil || !isEmpty
    if job.origin == .user { own.append(job) } else { remote.append(job) }
    guard waits, !isWatched else { return false }
    isWatched = true
    return true
  }

  /// Returns the next job, which then counts as running and begins a batch.
  mutating func take() -> Job? {
    let isOwn = !own.isEmpty && (!wasOwn || remote.isEmpty)
    guard let job = isOwn ? own.take() : takeRemote() else { return nil }
    wasOwn = isOwn
    begin(job)
    return job
  }

  private mutating func takeRemote() -> Job? { remote.take { costs.cost(of: $0.origin) } }

  /// Records how many bytes of records a transaction has read and written.
  mutating func note(_ recordBytes: Int, of origin: Origin) { costs.note(recordBytes, of: origin) }

  private mutating func begin(_ job: Job) {
    running = (job.origin, job.hint)
    open = job.interaction.map { ($0, StoreOptions.systemMonotonic()) }
  }

  /// Lets another thread do the work of the writer's thread, if no job runs or waits.
  ///
  /// - Returns: `false` if the work must be queued instead.
  mutating func lend(to origin: Origin, _ hint: String? = nil) -> Bool {
    guard running == nil, isEmpty, !isClosing else { return false }
    (running, isLent) = ((origin, hint), true)
    return true
  }

  /// Records that the other thread has finished.
  ///
  /// - Returns: Whether the writer's thread has work to do.
  mutating func takeBack(keepsCommits: Bool) -> Bool {
    let wasKeeping = self.keepsCommits
    (isLent, self.keepsCommits) = (false, keepsCommits)
    idle()
    return !isEmpty || isClosing || keepsCommits && !wasKeeping
  }

  /// Returns the next job if it may share the commit of a batch that has begun.
  ///
  /// An asynchronous transaction begins its own batch. Otherwise, the jobs whose bodies have run would wait
  /// for the task of its body, and that task may wait for them.
  mutating func takeWriting() -> Job? {
    guard let next = own.first ?? remote.first, next.maintenance == nil, next.interaction == nil,
      let job = own.take() ?? takeRemote()
    else { return nil }
    begin(job)
    return job
  }

  /// Records that the running job no longer waits for a task.
  mutating func endInteraction() { open = nil }

  mutating func idle() { (running, open) = (nil, nil) }

  /// Returns all waiting jobs, and closes the queue.
  mutating func abandon() -> [Job] {
    (isClosing, isAbandoned) = (true, true)
    defer { (own, remote) = (WaitingJobs(), WaitingJobs()) }
    return waiting
  }

  func isWaiting(_ job: Job) -> Bool { waiting.contains { $0 === job } }

  /// Removes a waiting job from the queue.
  ///
  /// - Returns: `false` when it no longer waits.
  mutating func remove(_ job: Job) -> Bool { own.remove(job) || remote.remove(job) }
}

/// Jobs in the order of their arrival.
private struct WaitingJobs {
  private var all: [Job] = []
  private var head = 0

  var isEmpty: Bool { head == all.count }
  var first: Job? { isEmpty ? nil : all[head] }
  var jobs: ArraySlice<Job> { all[head...] }

  mutating func append(_ job: Job) { all.append(job) }

  mutating func take() -> Job? {
    guard let job = first else { return nil }
    head += 1
    forgetTaken()
    return job
  }

  private mutating func forgetTaken() {
    guard head == all.count || head > 1_000 else { return }
    all.removeFirst(head)
    head = 0
  }

  /// Removes the job with the least `cost`, the first of several.
  mutating func take(_ cost: (Job) -> Int) -> Job? {
    guard jobs.count > 1, let cheapest = jobs.indices.min(by: { cost(all[$0]) < cost(all[$1]) }) else {
      return take()
    }
    defer { forgetTaken() }
    return all.remove(at: cheapest)
  }

  mutating func remove(_ job: Job) -> Bool {
    guard let index = jobs.firstIndex(where: { $0 === job }) else { return false }
    all.remove(at: index)
    return true
  }
}

/// The recent costs of sources to the writer, in bytes of records.
struct SourceCosts {
  /// The base cost of a transaction.
  private static let transactionBytes = 64 << 10
  /// After this much cost of all sources, all costs are halved.
  private static let span = 64 << 20

  private var costs: [UInt64: Int] = [:]
  private var sinceHalving = 0

  func cost(of origin: Origin) -> Int {
    if case .remote(let source) = origin { costs[source] ?? 0 } else { 0 }
  }

  mutating func note(_ recordBytes: Int, of origin: Origin) {
    guard case .remote(let source) = origin else { return }
    let cost = recordBytes + Self.transactionBytes
    costs[source, default: 0] += cost
    sinceHalving += cost
    guard sinceHalving >= Self.span else { return }
    sinceHalving = 0
    costs = costs.compactMapValues { $0 / 2 >= Self.transactionBytes ? $0 / 2 : nil }
  }
}
