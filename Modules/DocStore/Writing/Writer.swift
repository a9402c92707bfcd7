import CLMDB
import CRDTCore
import Platform
import Synchronization

/// The thread that writes: it takes jobs in order, and those that wait share one sync.
// SAFETY: `state`, `environment` and what is under way belong to one thread at a time: to the writer's, or to a caller's
// while the queue is lent, which the queue's lock hands over; driven by hand, to whoever uses the store. The rest is
// guarded or never changes.
final class Writer: @unchecked Sendable {
  private(set) var settings: WriterSettings
  let listeners = CommitListeners()
  let siteListeners = StoreListeners<IdentityChange>()
  let preCommitHooks = PreCommitHooks()
  /// Who the store is now, and what made it so in this session.
  let identity: Monitor<(current: StoreIdentity, change: IdentityChange?)>
  let queue = Monitor(JobQueue())
  private let published: Monitor<Catalogue>
  let ended = Monitor(false)
  private let thread = Monitor<StoreThread?>(nil)
  /// The thread of a caller that carries out its own job; 0 for none.
  ///
  /// Relaxed: each thread compares it with itself.
  private let borrower = Atomic<UInt>(0)
  private let watch: WaitWatch
  private(set) var environment: Environment?
  /// Environments that a compaction replaced, and that snapshots may still be open on.
  private var retired: [Retired] = []
  private var state: StoreState
  private var reserve: DiskReserve
  /// Driven by hand: what was executed or committed, and not announced yet.
  var batch: CommitBatch?
  /// Driven by hand: whether a step is being taken.
  var isStepping = false
  private var told = ToldCommits()
  let keeper: InstanceKeeper
  let archive: SiteArchive
  let siteMarks: SiteMarks
  /// The failure that poisoned the store.
  private var failure: StoreError? { health.withLock { $0.failure } }
  /// What others may know of the writer's doings.
  let health = Monitor(Health())
  /// Hears on the writer's thread that the statistics of indexes have become too old; set before the start.
  var noteStale: () -> Void = {}

  private struct Retired {
    weak var environment: Environment?
  }

  struct Health: Sendable {
    /// In milliseconds since 1970.
    var lastCommit: UInt64?
    /// The failure that poisoned the store.
    var failure: StoreError?
  }

  /// Documents that the last transaction changed: the next one may change as many.
  private var lastChanges = 0
  /// For more than these no room is kept.
  private static let expectedChanges = 4_096

  /// After this long a commit takes no more waiting jobs along, so that the first ones do not wait for the last.
  private static let batchDuration = Duration.milliseconds(20)

  init(
    _ environment: Environment, state: StoreState, settings: WriterSettings, keeper: InstanceKeeper,
    archive: SiteArchive
  ) {
    self.keeper = keeper
    self.archive = archive
    siteMarks = settings.siteMarks
    identity = Monitor((keeper.identity, keeper.change))
    self.environment = environment
    self.state = state
    self.settings = settings
    reserve = DiskReserve(settings.options.reserveFault)
    let catalogue = Catalogue(state)
    published = Monitor(catalogue)
    environment.publish(catalogue)
    environment.publish(state.log)
    watch = WaitWatch(queue: queue, options: settings.options)
  }

  var catalogue: Catalogue { published.withLock { $0 } }

  /// Whether the store has no thread, so that its owner carries out what is queued.
  var isManual: Bool { settings.options.drive == .manual }

  /// Whether the caller is inside a body or a listener, on the writer's thread or on one that stands in for it.
  var isCurrentThread: Bool {
    if isManual { return isStepping }
    return borrower.load(ordering: .relaxed) == StoreThread.current
      || thread.withLock { $0 }?.isCurrent ?? false
  }

  // MARK: - From any thread

  func start() throws(StoreError) {
    guard settings.options.drive == .thread else { return }
    AllocatorHint.given
    let started = try StoreThread { self.run() }
    started.detach()
    thread.withLock { $0 = started }
  }

  /// Queues a job, or finishes it at once where the store is closing or its caller gave up.
  func enqueue(_ job: Job) {
    enum Verdict { case queued(watch: Bool), closed, cancelled }
    let verdict = queue.withLock(wake: true) { queue -> Verdict in
      if job.isCancelled { return .cancelled }
      if queue.isClosing { return .closed }
      queue.append(job)
      guard queue.running != nil, !queue.isWatched, !isManual else { return .queued(watch: false) }
      queue.isWatched = true
      return .queued(watch: true)
    }
    switch verdict {
    case .queued(let wake): if wake { watch.wake() }
    case .closed: job.finish(.failure(Self.closed))
    case .cancelled: job.finish(.failure(CancellationError()))
    }
  }

  /// Queues a job that its caller waits for; driven by hand, it is carried out before this returns.
  func submit(_ job: Job) {
    enqueue(job)
    if isManual { drive() }
  }

  /// Takes a job back unless it runs already.
  func cancel(_ job: Job) {
    let isWaiting = queue.withLock { queue in
      job.isCancelled = true
      return queue.remove(job)
    }
    if isWaiting { job.finish(.failure(CancellationError())) }
  }

  /// Lets the queued jobs finish, then ends the thread and waits for that.
  ///
  /// - Parameter waits: Whether the caller may wait; one that the writer itself waits for must not.
  func close(waits: Bool) {
    queue.withLock(wake: true) { $0.isClosing = true }
    watch.close()
    guard waits, !isCurrentThread else { return }
    if isManual {
      drive()
      end()
    } else {
      awaitEnd()
    }
  }

  /// Ends as a killed process would: what is not committed is lost, and nothing is noted down.
  ///
  /// A thread may carry one commit to its end first, and those who wait behind it are told that the store is
  /// closed. Driven by hand, everything ends where it is, and nobody is told anything.
  func crash() {
    let lost = queue.withLock(wake: true) { $0.abandon() }
    watch.close()
    if isManual {
      precondition(!isStepping, "A step under way cannot be left by a crash")
      (batch, environment) = (nil, nil)
      keeper.letGo()
    } else {
      for job in lost { job.finish(.failure(Self.closed)) }
      if !isCurrentThread { _ = ended.wait { $0 ? true : nil } }
    }
  }

  private static var closed: StoreError {
    StoreError(.closed, "The store is closed", operation: "write")
  }

  // MARK: - On the writer thread

  private func run() {
    while let job = nextJob() {
      if let batch = execute(job), commit(batch) { announce(batch) }
      let keepsCommits = !told.isEmpty
      queue.withLock { $0.keepsCommits = keepsCommits }
    }
    end()
    ended.withLock(wake: true) { $0 = true }
  }

  /// Carries out a job on its caller's thread, with those that come meanwhile and share its commit.
  ///
  /// That saves two changes of thread, which take longer than a commit in memory.
  /// - Returns: `false` where others write or wait to, so that the job has to be queued.
  func carryOutHere(_ job: Job) -> Bool {
    guard queue.withLock({ $0.lend(to: job.origin, job.hint) }) else { return false }
    borrower.store(StoreThread.current, ordering: .relaxed)
    if let batch = execute(job), commit(batch) { announce(batch) }
    borrower.store(0, ordering: .relaxed)
    let keepsCommits = !told.isEmpty
    if queue.withLock({ $0.takeBack(keepsCommits: keepsCommits) }) { queue.withLock(wake: true) { _ in } }
    return true
  }

  /// The writer frees its last commits after so long without a job.
  private static let rest = Duration.milliseconds(200)

  private enum Call { case job(Job), commitsKept, close }

  private func nextJob() -> Job? {
    while true {
      let isRest = queue.withLock { $0.keepsCommits }
      let call = queue.wait(for: isRest ? Self.rest : nil) { queue -> Call? in
        if queue.isLent { return nil }
        if let job = queue.take() { return .job(job) }
        queue.idle()
        if queue.isClosing { return .close }
        return queue.keepsCommits && !isRest ? .commitsKept : nil
      }
      switch call {
      case .job(let job): return job
      case .close: return nil
      case .commitsKept: continue
      case nil: letGoOfTold()
      }
    }
  }

  /// Frees the last commits, unless another thread writes just now.
  private func letGoOfTold() {
    guard queue.withLock({ $0.lend(to: .user) }) else { return }
    told.keep([])
    _ = queue.withLock { $0.takeBack(keepsCommits: false) }
  }

  /// Lets go of the files, the last job being over.
  func end() {
    guard environment != nil else { return }
    if failure == nil, !queue.withLock({ $0.isAbandoned }) { keeper.finish(state.log) }
    keeper.letGo()
    told.keep([])
    environment = nil
  }

  /// Runs a job and those that wait behind it, as far as the commit.
  ///
  /// - Returns: What is to be committed; `nil` when the job is over, and has been told so.
  func execute(_ first: Job) -> CommitBatch? {
    guard failure == nil, let environment else {
      refuse(first)
      return nil
    }
    if let maintenance = first.maintenance {
      first.finish(Result { try maintenance(self) })
      return nil
    }
    grow(environment)
    guard failure == nil else {
      refuse(first)
      return nil
    }
    let old = state
    do {
      let batch = try CommitBatch(environment, before: old)
      do {
        batch.finished.append((first, try execute(first, batch.access, environment)))
      } catch {
        state = old
        first.finish(.failure(error))
        return nil
      }
      takeAlong(&batch.finished, batch.access, environment)
      return batch
    } catch {
      state.revert(to: old)
      poison(unlessHarmless: error)
      first.finish(.failure(error))
      return nil
    }
  }

  /// Makes a batch durable.
  ///
  /// - Returns: `false` when that failed, and everybody in it has been told.
  func commit(_ batch: CommitBatch) -> Bool {
    let environment = batch.environment
    let changesAnything = batch.changesAnything
    do throws(StoreError) {
      publish(to: environment)
      if changesAnything { try keeper.renew(batch.access, environment.tables, state.log) }
      try StoreError.check(settings.options.commitFault?() ?? MDB_SUCCESS, "mdb_txn_commit")
      try batch.commit()
      if changesAnything { try keeper.files.checkData(try environment.dataDescriptor()) }
      environment.publish(state.log)
      if state.forgetSites(kept: settings.options.keptSites) { publish(to: environment) }
    } catch {
      state.revert(to: batch.old)
      poison(unlessHarmless: error)
      for (job, _) in batch.finished { job.finish(.failure(error)) }
      return false
    }
    if changesAnything { noteCommit() }
    return true
  }

  /// Tells everybody of a batch that is durable.
  func announce(_ batch: CommitBatch) {
    noteStatistics()
    let commits = announce(batch.finished.map(\.outcome), batch.previous, batch.environment)
    // Before the writers go on, who may look at once whether a snapshot of theirs is still good.
    warnOfOldReaders(batch.environment)
    for (job, outcome) in batch.finished { job.finish(.success(outcome.receipt)) }
    keeper.catchUp(state.log)
    told.keep(commits)
  }

  /// Whether a full disk could still be made room on, were a transaction committed that leaves so many pages in use.
  private func keepsReserve(_ tablePages: Int, _ environment: Environment) throws(StoreError) -> Bool {
    let usedPages = tablePages + Environment.metaPages
    reserve.secure(
      try environment.dataDescriptor(), pageCount: max(try environment.pageCount(), usedPages),
      usedPages: usedPages)
    return !reserve.isMissing
  }

  private func noteStatistics() {
    guard state.hasStaleStatistics else { return }
    state.hasStaleStatistics = false
    noteStale()
  }

  private func noteCommit() {
    keeper.didCommit()
    let now = settings.options.now()
    health.withLock { $0.lastCommit = now }
  }

  /// Ends snapshots that are older than the deadline, which keep pages from being used again.
  private func warnOfOldReaders(_ environment: Environment) {
    let (deadline, now) = (settings.options.readerDeadline, settings.options.monotonic)
    retired.removeAll { $0.environment == nil }
    var old = environment.readers.withLock { $0.expire(after: deadline, now: now) }
    for environment in retired.compactMap(\.environment) {
      old += environment.readers.withLock { $0.expire(after: deadline, now: now) }
    }
    for (place, age) in old {
      settings.options.write(
        .warning,
        "A snapshot taken at \(place.text) has been open for \(age.components.seconds) s: the file grows meanwhile"
      )
    }
  }

  /// Runs waiting jobs in transactions nested in the batch's, so that each can fail alone.
  private func takeAlong(
    _ finished: inout [(job: Job, outcome: FinishedJob)], _ parent: PageAccess, _ environment: Environment
  ) {
    let clock = settings.options.monotonic
    let end = clock() + Self.batchDuration
    while clock() < end, let job = queue.withLock({ $0.takeWriting() }) {
      let before = state
      do {
        let transaction = try LMDBTransaction(environment, parent: parent)
        let outcome = try execute(job, transaction.access, environment)
        try transaction.commit()
        finished.append((job, outcome))
      } catch {
        state = before
        job.finish(.failure(error))
      }
    }
  }

  private func execute(_ job: Job, _ access: PageAccess, _ environment: Environment) throws -> FinishedJob {
    let pages = DocumentPages(access: access, tables: environment.tables, numbers: environment.numbers)
    let transaction = try WriteTransaction(
      pages, state: state, origin: job.origin, settings: settings,
      isCapturing: !(listeners.isEmpty && preCommitHooks.isEmpty),
      expecting: min(lastChanges, Self.expectedChanges))
    defer { transaction.end() }
    do {
      defer { if job.interaction != nil { queue.withLock { $0.endInteraction() } } }
      try job.run(transaction)
      queue.withLock { $0.note(transaction.recordBytes, of: job.origin) }
      for hook in preCommitHooks.all { try hook(transaction) }
      let (outcome, state) = try transaction.finish { pages throws(StoreError) in
        try keepsReserve(pages, environment)
      }
      self.state = state
      lastChanges = outcome.changes.count
      for finding in transaction.sizes where finding.isStored {
        settings.sizes.report(finding, settings.options)
      }
      return outcome
    } catch {
      if let failure = transaction.engineFailure { poison(unlessHarmless: failure) }
      throw error
    }
  }

  /// Gives readers the dictionaries that the commit to come needs, and those who are told of it after that.
  func publish(to environment: Environment) {
    guard state.isCatalogueStale else { return }
    state.isCatalogueStale = false
    let catalogue = Catalogue(state)
    environment.publish(catalogue)
    published.withLock { $0 = catalogue }
  }

  /// Tells listeners.
  ///
  /// - Returns: The commits of which they were told.
  private func announce(
    _ jobs: [FinishedJob], _ previous: PreviousSnapshot?, _ environment: Environment
  ) -> [Commit] {
    guard !listeners.isEmpty else { return [] }
    let catalogue = catalogue
    let changing = jobs.filter { !$0.isEmpty }
    let missed = changing.prefix { !$0.isCaptured }
    var commits: [Commit] = []
    if !missed.isEmpty, let previous {
      let rest = changing[missed.endIndex...]
      if let job = previous.restore(Array(missed), before: rest, environment) {
        commits.append(job.commit(catalogue))
      }
    }
    commits += changing[missed.endIndex...].map { $0.commit(catalogue) }
    listeners.call(commits)
    return commits
  }

  /// Becomes a site of its own: later writes are those of another writer.
  func renewSite(_ reason: IdentityChange.Reason, _ environment: Environment) throws(StoreError) {
    do throws(StoreError) {
      let change = try keeper.renewSite(reason, environment, state.log)
      settings.site = keeper.identity.site
      state.own = (settings.site, .zero)
      identity.withLock { $0 = (keeper.identity, change) }
      siteListeners.call([change])
    } catch {
      poison(unlessHarmless: error)
      throw error
    }
  }

  /// Begins the clock anew at wall time, as another site, where it is ahead.
  func trustClock(_ environment: Environment) throws(StoreError) {
    let former = state.log.clock
    guard former.latest.milliseconds > settings.options.now() else { return }
    state.log.clock = HybridClock()
    do throws(StoreError) {
      try renewSite(.clock, environment)
    } catch {
      state.log.clock = former
      throw error
    }
    settings.opening = .zero
    settings.issued.forget()
    environment.publish(state.log)
  }

  /// Goes on in another environment with the same contents.
  func adopt(_ environment: Environment) {
    // Its transactions are numbered anew, and all of them have the indexes of now.
    state.noteIndexes(in: 0)
    archive.adopt(environment)
    publish(to: environment)
    environment.publish(state.log)
    retired.append(Retired(environment: self.environment))
    self.environment = environment
    settings.pageLimit = environment.pageLimit
    reserve = DiskReserve(settings.options.reserveFault)
  }

  /// Notes that the environment has another size.
  func adoptSize() { if let environment { settings.pageLimit = environment.pageLimit } }

  /// Refuses all writes from now on, because nobody knows what is durable.
  func poison(by error: StoreError) {
    health.withLock { $0.failure = $0.failure ?? error }
    settings.options.write(.error, "The store takes no more writes until it is opened anew: \(error)")
  }

  /// After a write or sync that failed nobody knows what reached the disk: nothing more is acknowledged.
  private func poison(unlessHarmless error: StoreError) {
    guard settings.options.poisonsAfterFailure else { return }
    switch error.code {
    case .full, .transactionTooLarge, .tooManyReaders, .limit, .closed, .document, .removedInTransaction,
      .writeInsideRead:
      return
    // Met before anything was written there; what is on the disk is known.
    case .corrupt where error.operation.isSame(as: StoreError.meeting): return
    default:
      poison(by: error)
    }
  }

  private func refuse(_ job: Job) {
    let cause = failure.map { ": \($0.message)" } ?? ""
    job.finish(
      .failure(
        StoreError(
          .poisoned, "An earlier write failed, so the store has to be opened anew\(cause)",
          operation: "write",
          underlying: failure?.underlying)))
  }
}
