/// The maintenance that a store does by itself, on a thread that mostly sleeps.
///
/// It finishes indexes that are half built or half removed, renews the statistics of indexes that have
/// changed, and forgets what has expired. It writes in slices through the writer's queue, like every writer,
/// and only when there is work.
final class Housekeeping: Sendable {
  private struct State {
    var isStopping = false
    /// Whether statistics of indexes have become stale since the last check.
    var hasStaleStatistics = false
    var hasDamagedIndexes = false
    var hasEnded = true
    var thread: StoreThread?
    /// The unfinished indexes that the store had when it was opened, until they are processed.
    var unfinished: [IndexState] = []
    /// The state of the page scrub: where it continues.
    var scrub = PageScrub()
    /// The certificate key at which the walk through the certificates continues.
    var certificates: [UInt8] = []
    /// The state of the collection of unused sites.
    var sites = SitePass()
  }

  let writer: Writer
  private let environment: Monitor<Environment?>
  let slice: WriterSlice
  let options: StoreOptions
  private let state = Monitor(State())
  let lifetimes: Monitor<Lifetimes>

  /// The collectors of higher modules, which remove old entries together with the store.
  let collectors = Registrations<any SideCollector>()

  /// The work so far, for the statistics.
  let tally = Monitor(ExpiryStatistics())

  /// The number of certificates that one collection examines; the next one continues behind them.
  private static let certificateBatch = 4_096
  /// The number of certificates that one transaction removes.
  private static let removalBatch = 512
  /// The longest wait before the first collection of a session.
  private static let firstPause = Duration.seconds(60)

  init(_ writer: Writer, _ environment: Monitor<Environment?>, _ options: StoreOptions) {
    self.writer = writer
    self.environment = environment
    self.options = options
    slice = WriterSlice(options)
    lifetimes = Monitor(
      Lifetimes(tombstone: options.tombstoneLifetime, certificate: options.certificateLifetime))
  }

  // MARK: - The thread

  /// Starts the thread with the unfinished indexes; a store driven by hand waits for ``keep()``.
  func start(unfinished state: StoreState) throws(StoreError) {
    guard !options.isReadOnly else { return }
    let indexes = state.collections.flatMap(\.indexes).filter { $0.phase != .ready }
    guard !indexes.isEmpty || options.collectionInterval != nil else { return }
    let isStale = state.collections.flatMap(\.indexes).contains {
      $0.isStale(minimum: options.statisticsMinimum)
    }
    self.state.withLock { ($0.unfinished, $0.hasStaleStatistics) = (indexes, isStale) }
    // A random phase, so that many stores that start together do not all collect at the same time.
    let phase = Double(options.random() >> 11) * 0x1p-53
    guard options.drive == .thread else { return }
    self.state.withLock { $0.hasEnded = false }
    do throws(StoreError) {
      let thread = try StoreThread {
        self.run(phase)
        self.state.withLock(wake: true) { $0.hasEnded = true }
      }
      thread.detach()
      self.state.withLock { $0.thread = thread }
    } catch {
      self.state.withLock(wake: true) { $0.hasEnded = true }
      throw error
    }
  }

  /// Ends the work after the current slice.
  func stop() { state.withLock(wake: true) { $0.isStopping = true } }

  /// Waits until the thread has ended, unless the calling thread is the writer or this thread itself.
  func join() {
    if writer.isCurrentThread || state.withLock({ $0.thread })?.isCurrent == true { return }
    _ = state.wait { $0.hasEnded ? true : nil }
  }

  private func run(_ phase: Double) {
    finishIndexes()
    guard let interval = options.collectionInterval else { return }
    var collection = options.monotonic() + min(interval, Self.firstPause) * phase
    var scrubbing = options.scrubs ? options.monotonic() + options.scrubPause : nil
    while true {
      let next = min(collection, scrubbing ?? collection)
      let reason = state.wait(for: next - options.monotonic()) { state -> Reason? in
        state.isStopping
          ? .end : state.hasDamagedIndexes ? .indexes : state.hasStaleStatistics ? .statistics : nil
      }
      switch reason ?? (next == collection ? .collection : .scrub) {
      case .end: return
      case .scrub:
        attempt("The store's pages could not be looked at") { _ = try scrub() }
        scrubbing = options.monotonic() + options.scrubPause
      case .statistics:
        // Changes come in bursts; the statistics should include the last one.
        if state.wait(for: options.statisticsDelay, until: { $0.isStopping ? true : nil }) == true { return }
        renewStatistics()
      case .indexes: replaceDamaged()
      case .collection:
        forgetOld()
        collection = options.monotonic() + interval
      }
    }
  }

  /// Does the thread's work at once, for a store that is driven by hand.
  func keep() {
    finishIndexes()
    if state.withLock({ $0.hasDamagedIndexes }) { replaceDamaged() }
    if state.withLock({ $0.hasStaleStatistics }) { renewStatistics() }
    forgetOld()
  }

  private func finishIndexes() {
    let indexes = state.withLock { state in
      defer { state.unfinished = [] }
      return state.unfinished
    }
    for index in indexes {
      attempt("The index \(index.definition.name) could not be finished") { try finish(index) }
    }
  }

  private func renewStatistics() {
    state.withLock { $0.hasStaleStatistics = false }
    attempt("The statistics of indexes could not be made anew") { try updateStatistics() }
  }

  private func forgetOld() {
    attempt("What is old could not be forgotten") { try collect(everything: false) }
  }

  /// Why the thread wakes.
  private enum Reason { case end, statistics, indexes, collection, scrub }

  /// Verifies the next pages.
  ///
  /// - Returns: Whether all pages were verified.
  func scrub() throws -> Bool {
    try read { access, _ in
      guard let snapshot = access.reading else { return true }
      var scrub = state.withLock { $0.scrub }
      let isDone = scrub.step(snapshot, pages: options.scrubPages)
      state.withLock { $0.scrub = scrub }
      return isDone
    }
  }

  /// Requests a renewal of statistics; does not wait for it.
  func noteStaleStatistics() { state.withLock(wake: true) { $0.hasStaleStatistics = true } }

  /// Requests a rebuild of damaged indexes; does not wait for it.
  func noteDamagedIndexes() { state.withLock(wake: true) { $0.hasDamagedIndexes = true } }

  private func attempt(_ failure: String, _ body: () throws -> Void) {
    do { try body() } catch {
      switch (error as? StoreError)?.code {
      case .closed?, .indexNotFound?: return
      default: options.write(.error, "\(failure): \(error)")
      }
    }
  }

  // MARK: - Indexes

  private func finish(_ index: IndexState) throws {
    if index.phase != .dropping {
      do {
        while try write({ [slice] in try $0.extendIndex(index.number, until: slice.end()) }) != nil {}
        return
      } catch let error as StoreError where error.code == .corrupt {
        options.write(.error, "The index \(index.definition.name) is dropped: \(error)")
        let collection = index.definition.collection
        _ = try write { try $0.dropIndex({ $0.number == index.number }, in: collection) }
      }
    }
    try removeRows(of: index)
  }

  /// Rebuilds damaged indexes, and removes the old ones' rows as far as they can be read.
  private func replaceDamaged() {
    state.withLock { $0.hasDamagedIndexes = false }
    attempt("Damaged indexes could not be made anew") {
      guard let damaged = environment.withLock({ $0?.damagedIndexes }) else { throw Self.closed }
      let ranges = damaged.ranges
      let (dropped, made) = try write { try $0.replaceIndexes { n in ranges.contains { $0.contains(n) } } }
      damaged.note(replaced: dropped.map(\.number), forRanges: ranges.count)
      for index in made {
        options.write(.warning, "The index \(index.definition.name) is damaged, and is made anew")
        try finish(index)
      }
      for index in dropped {
        do {
          try removeRows(of: index)
        } catch let error as StoreError where error.code == .corrupt {
          options.write(
            .warning, "Rows of the damaged index \(index.definition.name) stay where they are: \(error)")
        }
      }
    }
  }

  private func removeRows(of index: IndexState) throws {
    while try !write({ [slice] in try $0.removeRows(ofIndex: index.number, until: slice.end()) }) {}
  }

  private func updateStatistics() throws {
    let minimum = options.statisticsMinimum
    for index in try write({ try $0.staleIndexes(minimum: minimum) }) {
      var survey = IndexSurvey(index)
      while try read({ [slice] in try survey.read($0, $1, until: slice.end()) }) {
        if state.withLock({ $0.isStopping }) { return }
      }
      let statistics = survey.statistics(minimum: minimum)
      try write { try $0.setStatistics(statistics, ofIndex: index.number) }
    }
  }

  // MARK: - Forgetting

  /// Forgets what has expired.
  ///
  /// Unless `everything` is set, it examines only the next batch of certificates.
  func collect(everything: Bool = true) throws {
    tally.withLock { $0.isCollecting = true }
    defer {
      tally.withLock {
        $0.isCollecting = false
        $0.lastCollection = options.now()
      }
    }
    let slice = slice
    while try isAnyDue() {
      // Changed lifetimes take effect from the next slice on.
      let lifetime = lifetimes.withLock { $0.tombstone }
      let collectors = collectors.all
      let result = try write { try $0.collectExpired(lifetime, collectors, until: slice.end()) }
      try note(result.forgotten)
      if !result.hasMore { break }
    }
    while try collectCertificates(), everything {}
    try collectSites(atOnce: everything)
  }

  /// Whether the current slice is the last one.
  var isStopping: Bool { state.withLock { $0.isStopping } }

  /// The state of the collection of unused sites.
  var sitePass: SitePass {
    get { state.withLock { $0.sites } }
    set { state.withLock { $0.sites = newValue } }
  }

  func note(_ forgotten: ExpiryStatistics.Forgotten) throws {
    tally.withLock { $0.forgotten += forgotten }
    try options.reach(.sliceCollected)
  }

  /// Whether anything has expired, checked in a snapshot so as not to occupy the writer in vain.
  private func isAnyDue() throws -> Bool {
    let lifetime = lifetimes.withLock { $0.tombstone }
    let wall = options.now()
    let environment = try openEnvironment()
    let transaction = try ReadTransaction(environment, at: .store, isExempt: true)
    let pages = try transaction.pages
    let (access, tables) = (pages.access, pages.tables)
    let lived = transaction.log.lived
    let now = lived.advanced(to: wall).now
    let time = CollectionTime(
      now: now, horizon: Lifetimes.horizon(now, lifetime), isBehind: lived.isBehind(wall))
    let table = ExpiryTable(access: access, table: tables.expiry)
    if try !table.due(before: time.horizon, limit: 1).isEmpty { return true }
    var isDue = false
    try access.scan(tables.log, from: [UInt8]().rawBytes) { key, stored in
      guard let entered = LogRecord.head(stored, at: key)?.time else { return true }
      isDue = entered < time.horizon
      return false
    }
    if isDue { return true }
    for collector in collectors.all {
      if try collector.isDue(in: transaction, at: time) { return true }
    }
    // Nothing is due. But a long time without writes must be saved, because entries depend on the lived time.
    return try time.isBehind
      && [tables.expiry, tables.log, tables.certificates].contains { table throws(StoreError) in
        try access.entryCount(table) > 0
      }
  }

  /// Examines the next certificates and removes the expired ones.
  ///
  /// - Returns: Whether there are more.
  private func collectCertificates() throws -> Bool {
    guard let lifetime = lifetimes.withLock({ $0.certificate }) else { return false }
    let start = state.withLock { $0.certificates }
    let wall = options.now()
    let (horizon, found) = try read { access, tables in
      let horizon = Lifetimes.horizon(try LogState(access, tables).lived.advanced(to: wall).now, lifetime)
      let pages = DocumentPages(access: access, tables: tables)
      return (
        horizon,
        try pages.oldCertificates(
          from: start, before: horizon, limit: Self.certificateBatch, writer.catalogue.sites)
      )
    }
    for first in stride(from: 0, to: found.old.count, by: Self.removalBatch) {
      let keys = found.old[first..<min(first + Self.removalBatch, found.old.count)]
      let count = try write { try $0.removeCertificates(keys, before: horizon) }
      try note(.init(certificates: count))
    }
    state.withLock { $0.certificates = found.next ?? [] }
    return found.next != nil
  }

  /// What a snapshot has yet to forget, and what was forgotten so far.
  func statistics(_ access: PageAccess, _ tables: Tables) throws(StoreError) -> ExpiryStatistics {
    var result = tally.withLock { $0 }
    // The table has two entries for each document.
    result.waitingDocuments = try access.entryCount(tables.expiry) / 2
    result.logEntries = try access.entryCount(tables.log)
    result.certificates = try access.entryCount(tables.certificates)
    return result
  }

  func read<R>(_ body: (PageAccess, Tables) throws -> R) throws -> R {
    let environment = try openEnvironment()
    let reader = try environment.beginRead()
    defer { environment.recycle(reader) }
    return try body(reader.access, environment.tables)
  }

  func openEnvironment() throws(StoreError) -> Environment {
    guard let environment = environment.withLock({ $0 }) else { throw Self.closed }
    return environment
  }

  /// Runs `body` as the only writer and waits for its commit.
  func write<R: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> R) throws -> R {
    if state.withLock({ $0.isStopping }) { throw Self.closed }
    let result = Monitor<R?>(nil)
    let latch = Latch<Job.Outcome>()
    let job = Job(.user, options) { transaction in
      let value = try body(transaction)
      result.withLock { $0 = value }
    } completion: {
      latch.set($0)
    }
    writer.submit(job)
    _ = try latch.wait().get()
    guard let value = result.withLock({ $0 }) else { throw Self.closed }
    return value
  }

  static var closed: StoreError {
    StoreError(.closed, "The store is closing", operation: "write")
  }
}
