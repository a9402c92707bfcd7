/// The transactions that wait for the writer thread: those of the application in the order they came, and those of remote
/// sources.
///
/// Both take turns, a batch each, so that what comes from elsewhere keeps no write of the application's waiting for more than
/// the one that runs, and is not kept waiting for ever itself. Of the sources the one comes first that has cost the least of
/// late: one that brings little need not wait for all that bring much.
struct JobQueue {
  private var own = WaitingJobs()
  private var remote = WaitingJobs()
  private var costs = SourceCosts()
  /// Whether the last batch began with a job of the application's.
  private var wasOwn = false
  /// Whose job runs now.
  private(set) var running: (origin: Origin, hint: String?)?
  /// The asynchronous transaction whose body is open, and since when by the system's clock.
  private(set) var open: (interaction: Interaction, since: Duration)?
  /// Whether a caller carries out its job itself, so that the writer's thread keeps still.
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

  mutating func append(_ job: Job) {
    if job.origin == .user { own.append(job) } else { remote.append(job) }
  }

  /// Hands over the next job, which then counts as running and begins a batch.
  mutating func take() -> Job? {
    let isOwn = !own.isEmpty && (!wasOwn || remote.isEmpty)
    guard let job = isOwn ? own.take() : takeRemote() else { return nil }
    wasOwn = isOwn
    begin(job)
    return job
  }

  private mutating func takeRemote() -> Job? { remote.take { costs.cost(of: $0.origin) } }

  /// Takes note that a transaction has read and written so many bytes of records.
  mutating func note(_ recordBytes: Int, of origin: Origin) { costs.note(recordBytes, of: origin) }

  private mutating func begin(_ job: Job) {
    running = (job.origin, job.hint)
    open = job.interaction.map { ($0, StoreOptions.systemMonotonic()) }
  }

  /// Lets somebody do what else the writer's thread does, where nothing runs or waits.
  ///
  /// - Returns: `false` where that has to be queued.
  mutating func lend(to origin: Origin, _ hint: String? = nil) -> Bool {
    guard running == nil, isEmpty, !isClosing else { return false }
    (running, isLent) = ((origin, hint), true)
    return true
  }

  /// Takes in that this is over.
  ///
  /// - Returns: Whether the writer's thread has something to do.
  mutating func takeBack(keepsCommits: Bool) -> Bool {
    let wasKeeping = self.keepsCommits
    (isLent, self.keepsCommits) = (false, keepsCommits)
    idle()
    return !isEmpty || isClosing || keepsCommits && !wasKeeping
  }

  /// Hands over the next job if it may share the commit of a batch that has begun.
  ///
  /// An asynchronous transaction begins a batch of its own: those whose bodies have run would else wait for the
  /// task that its body belongs to, which may wait for them.
  mutating func takeWriting() -> Job? {
    guard let next = own.first ?? remote.first, next.maintenance == nil, next.interaction == nil,
      let job = own.take() ?? takeRemote()
    else { return nil }
    begin(job)
    return job
  }

  /// Records that the running job waits for no task any more.
  mutating func endInteraction() { open = nil }

  mutating func idle() { (running, open) = (nil, nil) }

  /// Hands over all that wait, and closes the queue.
  mutating func abandon() -> [Job] {
    (isClosing, isAbandoned) = (true, true)
    defer { (own, remote) = (WaitingJobs(), WaitingJobs()) }
    return waiting
  }

  func isWaiting(_ job: Job) -> Bool { waiting.contains { $0 === job } }

  /// Takes a waiting job out of the queue.
  ///
  /// - Returns: `false` when it does not wait any more.
  mutating func remove(_ job: Job) -> Bool { own.remove(job) || remote.remove(job) }
}

/// Jobs in the order in which they came.
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

  /// Takes the one out for which `cost` is the least, the first of several.
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

/// What sources have cost the writer of late, in bytes of records.
struct SourceCosts {
  /// What a transaction costs by itself.
  private static let transactionBytes = 64 << 10
  /// After so much of all sources what each has cost counts half.
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
