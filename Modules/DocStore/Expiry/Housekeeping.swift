/// What a store does of its own accord, on a thread that mostly sleeps.
///
/// It goes on with indexes that were left half made or half removed, looks what the rows of indexes are like
/// when they have changed, and forgets what has had its time. It writes in slices through the writer's queue, as
/// everybody does, and only when there is something to do.
final class Housekeeping: Sendable {
  private struct State {
    var isStopping = false
    /// Whether statistics of indexes have become too old since that was last looked at.
    var hasStaleStatistics = false
    var hasDamagedIndexes = false
    var hasEnded = true
    var thread: StoreThread?
    /// What the store as it was opened has unfinished, until that is taken up.
    var unfinished: [IndexState] = []
    /// Where the look at pages goes on.
    var scrub = PageScrub()
    /// Where the walk through the certificates goes on.
    var certificates: [UInt8] = []
    /// What is known of the collection of sites.
    var sites = SitePass()
  }

  let writer: Writer
  private let environment: Monitor<Environment?>
  let slice: WriterSlice
  let options: StoreOptions
  private let state = Monitor(State())
  let lifetimes: Monitor<Lifetimes>

  /// Who forgets together with the store.
  let collectors = Registrations<any SideCollector>()

  /// What was done so far, for the statistics.
  let tally = Monitor(ExpiryStatistics())

  /// Certificates that are looked through at a time; the rest waits for the next time.
  private static let certificateBatch = 4_096
  /// Certificates that are removed in one transaction.
  private static let removalBatch = 512
  /// The longest that the first collection of a session waits.
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

  /// Begins with what the store as it was opened has unfinished; driven by hand, it waits for ``keep()``.
  func start(unfinished state: StoreState) throws(StoreError) {
    let indexes = state.collections.flatMap(\.indexes).filter { $0.phase != .ready }
    guard !indexes.isEmpty || options.collectionInterval != nil else { return }
    let isStale = state.collections.flatMap(\.indexes).contains {
      $0.isStale(minimum: options.statisticsMinimum)
    }
    self.state.withLock { ($0.unfinished, $0.hasStaleStatistics) = (indexes, isStale) }
    // A phase of its own, so that the many that start together do not all do it at one time.
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

  /// Lets the slice under way be the last one.
  func stop() { state.withLock(wake: true) { $0.isStopping = true } }

  /// Waits until the thread has ended, unless what is called from here depends on that very wait.
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
        // Changes come in bursts, of which the last one counts.
        if state.wait(for: options.statisticsDelay, until: { $0.isStopping ? true : nil }) == true { return }
        renewStatistics()
      case .indexes: replaceDamaged()
      case .collection:
        forgetOld()
        collection = options.monotonic() + interval
      }
    }
  }

  /// Does at once what the thread would do in its time: for a store that is driven by hand.
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

  /// Looks at the next pages.
  ///
  /// - Returns: Whether all were looked at.
  func scrub() throws -> Bool {
    try read { access, _ in
      guard let snapshot = access.reading else { return true }
      var scrub = state.withLock { $0.scrub }
      let isDone = scrub.step(snapshot, pages: options.scrubPages)
      state.withLock { $0.scrub = scrub }
      return isDone
    }
  }

  /// Lets the rows of indexes be gone through soon; does not wait for it.
  func noteStaleStatistics() { state.withLock(wake: true) { $0.hasStaleStatistics = true } }

  /// Lets damaged indexes be made anew soon; does not wait for it.
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

  /// Makes indexes anew of which damage was met; what is left of the old ones is removed as far as it can be.
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

  /// Forgets what has had its time; of the certificates the next ones alone unless `everything` is to go.
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
      // Changed lifetimes count from the next slice on.
      let lifetime = lifetimes.withLock { $0.tombstone }
      let collectors = collectors.all
      let result = try write { try $0.collectExpired(lifetime, collectors, until: slice.end()) }
      try note(result.forgotten)
      if !result.hasMore { break }
    }
    while try collectCertificates(), everything {}
    try collectSites(atOnce: everything)
  }

  /// Whether the slice under way is to be the last one.
  var isStopping: Bool { state.withLock { $0.isStopping } }

  /// What is known of the collection of sites.
  var sitePass: SitePass {
    get { state.withLock { $0.sites } }
    set { state.withLock { $0.sites = newValue } }
  }

  func note(_ forgotten: ExpiryStatistics.Forgotten) throws {
    tally.withLock { $0.forgotten += forgotten }
    try options.reach(.sliceCollected)
  }

  /// Looks before the writer is bothered.
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
    // Nothing is, but it must be kept how long the store has lived, for what it remembers.
    return try time.isBehind
      && [tables.expiry, tables.log, tables.certificates].contains { table throws(StoreError) in
        try access.entryCount(table) > 0
      }
  }

  /// Looks through the next certificates, and removes those that have had their time.
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

  /// What waits to be forgotten in a snapshot, and what was so far.
  func statistics(_ access: PageAccess, _ tables: Tables) throws(StoreError) -> ExpiryStatistics {
    var result = tally.withLock { $0 }
    // Each document stands there twice.
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
