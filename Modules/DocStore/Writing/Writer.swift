import CLMDB
import CRDTCore
import Platform
import Synchronization

/// The writer of a store: it takes jobs in order, and waiting jobs share one sync.
// SAFETY: `state`, `environment` and the current batch belong to one thread at a time: to the writer's, or to
// a caller's while the queue is lent, and the queue's lock hands them over. In a store that is driven by
// hand, they belong to its user. The rest is guarded or never changes.
final class Writer: @unchecked Sendable {
  private(set) var settings: WriterSettings
  let listeners = CommitListeners()
  let siteListeners = StoreListeners<IdentityChange>()
  let preCommitHooks = PreCommitHooks()
  let erasureHooks = ErasureHooks()
  /// The store's current identity, and what changed it in this session.
  let identity: Monitor<(current: StoreIdentity, change: IdentityChange?)>
  let queue = Monitor(JobQueue())
  private let published: Monitor<Catalogue>
  let ended = Monitor(false)
  private let thread = Monitor<StoreThread?>(nil)
  /// The thread of a caller that executes its own job; 0 for none.
  ///
  /// Relaxed: each thread compares it only with itself.
  private let borrower = Atomic<UInt>(0)
  private let watch: WaitWatch
  private(set) var environment: Environment?
  /// Environments that a compaction replaced, on which snapshots may still be open.
  private var retired: [Retired] = []
  private var state: StoreState
  private var reserve: DiskReserve
  /// In a store that is driven by hand: the batch that was executed or committed, and not announced yet.
  var batch: CommitBatch?
  /// In a store that is driven by hand: whether a step is in progress.
  var isStepping = false
  private var told = ToldCommits()
  let keeper: InstanceKeeper
  let archive: SiteArchive
  let siteMarks: SiteMarks
  /// The failure that poisoned the store.
  private var failure: StoreError? { health.withLock { $0.failure } }
  /// The parts of the writer's status that other threads may read.
  let health = Monitor(Health())
  /// Is called on the writer's thread when statistics of indexes are outdated; set before the start.
  var noteStale: () -> Void = {}

  private struct Retired {
    weak var environment: Environment?
  }

  struct Health: Sendable {
    /// In milliseconds since 1970.
    var lastCommit: UInt64?
    /// The failure that poisoned the store.
    var failure: StoreError?
    /// Why the last write that needed room found none; `nil` while there is room.
    var shortage: StoreError?
  }

  /// How many documents the last transaction changed: the next one may change as many.
  private var lastChanges = 0
  /// The maximum number of changes for which room is reserved.
  private static let expectedChanges = 4_096

  /// How long a batch accepts further waiting jobs, so that the first jobs do not wait for the last.
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

  /// Whether the store has no thread, so that its owner executes queued jobs.
  var isManual: Bool { settings.options.drive == .manual }

  /// Whether the caller is inside a body or a listener, on the writer's thread or one that replaces it.
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

  /// Queues a job, or finishes it at once if the store is closing or the job's caller gave up.
  func enqueue(_ job: Job) {
    enum Verdict { case queued(watch: Bool), closed, cancelled }
    let verdict = queue.withLock(wake: true) { queue -> Verdict in
      if job.isCancelled { return .cancelled }
      if queue.isClosing { return .closed }
      let mustWatch = queue.append(job)
      return .queued(watch: mustWatch && !isManual)
    }
    switch verdict {
    case .queued(let wake): if wake { watch.wake() }
    case .closed: job.finish(.failure(Self.closed))
    case .cancelled: job.finish(.failure(CancellationError()))
    }
  }

  /// Queues a job for which its caller waits; driven by hand, it is executed before this returns.
  func submit(_ job: Job) {
    enqueue(job)
    if isManual { drive() }
  }

  /// Removes a job from the queue unless it is already running.
  func cancel(_ job: Job) {
    let isWaiting = queue.withLock { queue in
      job.isCancelled = true
      return queue.remove(job)
    }
    if isWaiting { job.finish(.failure(CancellationError())) }
  }

  /// Lets the queued jobs finish, then ends the thread and waits for that.
  ///
  /// - Parameter waits: Whether the caller may wait; a caller for which the writer itself waits must not.
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

  /// Ends like a killed process: what is not committed is lost, and nothing is saved for the next session.
  ///
  /// With a thread, one commit may be completed first, and waiting jobs fail because the store is closed.
  /// Driven by hand, everything ends where it is, and nobody is informed.
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

  /// Executes a job on its caller's thread, with the jobs that arrive meanwhile and share its commit.
  ///
  /// That saves two context switches, which take longer than a commit in memory.
  /// - Returns: `false` if other jobs run or wait, so that the job must be queued.
  func carryOutHere(_ job: Job) -> Bool {
    guard queue.withLock({ $0.lend(to: job.origin, job.hint) }) else { return false }
    borrower.store(StoreThread.current, ordering: .relaxed)
    if let batch = execute(job), commit(batch) { announce(batch) }
    borrower.store(0, ordering: .relaxed)
    let keepsCommits = !told.isEmpty
    if queue.withLock({ $0.takeBack(keepsCommits: keepsCommits) }) { queue.withLock(wake: true) { _ in } }
    return true
  }

  /// After this long without a job, the writer frees its last commits.
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

  /// Frees the last commits, unless another thread is writing now.
  private func letGoOfTold() {
    guard queue.withLock({ $0.lend(to: .user) }) else { return }
    told.keep([])
    _ = queue.withLock { $0.takeBack(keepsCommits: false) }
  }

  /// Releases the files after the last job.
  func end() {
    guard environment != nil else { return }
    if failure == nil, !queue.withLock({ $0.isAbandoned }) { keeper.finish(state.log) }
    keeper.letGo()
    told.keep([])
    environment = nil
  }

  /// Runs a job and those that wait behind it, up to the commit.
  ///
  /// - Returns: The batch to commit; `nil` when the job has ended and its caller has been informed.
  func execute(_ first: Job) -> CommitBatch? {
    guard failure == nil, let environment else {
      refuse(first)
      return nil
    }
    guard !settings.options.isReadOnly else {
      first.finish(.failure(StoreError.readOnly("write")))
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
  /// - Returns: `false` when that failed and all its callers have been informed.
  func commit(_ batch: CommitBatch) -> Bool {
    let environment = batch.environment
    let changesAnything = batch.changesAnything
    do throws(StoreError) {
      try save(batch)
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
      note(error)
      for (job, _) in batch.finished { job.finish(.failure(error)) }
      return false
    }
    if changesAnything { noteCommit() }
    return true
  }

  /// Writes what the batch's jobs changed of the state besides the documents, once for all of them.
  private func save(_ batch: CommitBatch) throws(StoreError) {
    let (access, tables) = (batch.access, batch.environment.tables)
    try state.flush(access, tables)
    try state.flushSites(
      access, tables, kept: settings.options.keptSites, run: settings.options.siteRun)
    if batch.finished.contains(where: \.outcome.changesLog) || state.log.sites != batch.old.log.sites {
      try state.log.write(access, tables)
    }
  }

  /// Informs the listeners and the callers of a durable batch.
  func announce(_ batch: CommitBatch) {
    noteStatistics()
    let commits = announce(batch.finished.map(\.outcome), batch.previous, batch.environment)
    // Before the callers continue, because they may check at once whether one of their snapshots is still
    // valid.
    warnOfOldReaders(batch.environment)
    for (job, outcome) in batch.finished { job.finish(.success(outcome.receipt)) }
    keeper.catchUp(state.log)
    told.keep(commits)
  }

  /// Whether the disk's reserve can be kept after a commit that leaves this many pages in use.
  ///
  /// A full disk needs the reserve so that space can be freed.
  private func keepsReserve(_ tablePages: Int, _ environment: Environment) throws(StoreError) -> Bool {
    let usedPages = tablePages + Environment.metaPages
    reserve.secure(
      try environment.dataDescriptor(), pageCount: max(try environment.pageCount(), usedPages),
      usedPages: usedPages, pageBytes: environment.pageBytes)
    return !reserve.isMissing
  }

  /// Records that a write found no room.
  private func note(_ error: any Error) {
    guard let error = error as? StoreError, error.code == .full else { return }
    health.withLock { $0.shortage = error }
  }

  /// Looks whether there is room again, after a write that found none.
  ///
  /// A transaction that changes nothing looks too, so that a store without writers notices it. There must be
  /// room for a write of some size, so that one after the other is not refused and allowed.
  /// - Parameters:
  ///   - access: The transaction's pages.
  ///   - environment: The store's files.
  ///   - hasGrown: Whether the transaction has written, and not only freed space.
  private func noteRoom(_ access: PageAccess, _ environment: Environment, hasGrown: Bool) {
    guard health.withLock({ $0.shortage != nil }) else { return }
    if !hasGrown {
      guard var pages = try? environment.tables.pageCount(access) else { return }
      pages += DiskReserve.wantedPages(of: pages)
      guard pages <= settings.pageLimit, (try? keepsReserve(pages, environment)) == true else { return }
    }
    health.withLock { $0.shortage = nil }
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

  /// Expires snapshots that are older than the deadline, because their pages cannot be reused.
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
      try transaction.finishErasing(erasureHooks)
      for hook in preCommitHooks.all { try hook(transaction) }
      let (outcome, state) = try transaction.finish { pages throws(StoreError) in
        try keepsReserve(pages, environment)
      }
      self.state = state
      noteRoom(access, environment, hasGrown: !outcome.isEmpty && !transaction.makesRoom)
      lastChanges = outcome.changes.count
      for finding in transaction.sizes where finding.isStored {
        settings.sizes.report(finding, settings.options)
      }
      return outcome
    } catch {
      if let failure = transaction.engineFailure { poison(unlessHarmless: failure) }
      note(transaction.engineFailure ?? error)
      throw error
    }
  }

  /// Publishes the dictionaries that readers of the next commit need, and that its listeners need afterwards.
  func publish(to environment: Environment) {
    guard state.isCatalogueStale else { return }
    state.isCatalogueStale = false
    let catalogue = Catalogue(state)
    environment.publish(catalogue)
    published.withLock { $0 = catalogue }
  }

  /// Calls the listeners.
  ///
  /// - Returns: The commits with which they were called.
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

  /// Changes the store's site: later writes are those of another writer.
  ///
  /// The last write as the former site was at the reading `latest`, or before; by default at the clock's.
  func renewSite(
    _ reason: IdentityChange.Reason, _ environment: Environment, after latest: ClockReading? = nil
  ) throws(StoreError) {
    do throws(StoreError) {
      let change = try keeper.renewSite(
        reason, environment, state.log, after: latest ?? state.log.clock.latest)
      settings.site = keeper.identity.site
      state.own = (settings.site, .zero)
      identity.withLock { $0 = (keeper.identity, change) }
      siteListeners.call([change])
    } catch {
      poison(unlessHarmless: error)
      throw error
    }
  }

  /// Resets a clock that is ahead to wall time, and changes the store's site.
  func trustClock(_ environment: Environment) throws(StoreError) {
    let former = state.log.clock
    guard former.latest.milliseconds > settings.options.now() else { return }
    state.log.clock = HybridClock()
    do throws(StoreError) {
      try renewSite(.clock, environment, after: former.latest)
    } catch {
      state.log.clock = former
      throw error
    }
    settings.opening = .zero
    settings.issued.forget()
    environment.publish(state.log)
  }

  /// Continues in another environment with the same contents.
  func adopt(_ environment: Environment) {
    // The new environment numbers transactions from the beginning, and all of them have the current indexes.
    state.noteIndexes(in: 0)
    archive.adopt(environment)
    publish(to: environment)
    environment.publish(state.log)
    retired.append(Retired(environment: self.environment))
    self.environment = environment
    settings.pageLimit = environment.pageLimit
    reserve = DiskReserve(settings.options.reserveFault)
  }

  /// Adopts the new size of the environment.
  func adoptSize() { if let environment { settings.pageLimit = environment.pageLimit } }

  /// Refuses all writes from now on, because nobody knows what is durable.
  func poison(by error: StoreError) {
    health.withLock { $0.failure = $0.failure ?? error }
    settings.options.write(.error, "The store takes no more writes until it is opened anew: \(error)")
  }

  /// Poisons the store after an error, unless the error leaves no doubt about what reached the disk.
  ///
  /// After a failed write or sync, nobody knows what is durable, so nothing more is acknowledged.
  private func poison(unlessHarmless error: StoreError) {
    guard settings.options.poisonsAfterFailure else { return }
    switch error.code {
    case .full, .transactionTooLarge, .tooManyReaders, .limit, .closed, .document, .removedInTransaction,
      .writeInsideRead:
      return
    // A read found this before anything was written there; the disk's contents are known.
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
