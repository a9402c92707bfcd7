import CRDTCore

/// The store's only writer while the body that received it runs.
///
/// Everything written in it becomes durable together, or not at all. It reads its own writes. Outside its
/// body, every call throws `closed`.
public final class WriteTransaction {
  public let origin: Origin
  let tables: Tables
  let settings: WriterSettings
  /// Whether records before and after are kept, for listeners of commits.
  let isCapturing: Bool
  private var stored: DocumentPages
  private let startPages: Int
  private var isOver = false
  /// Why this transaction cannot be committed, even if its body ignores the error.
  private var doom: StoreError?
  private var readDepth = 0
  private var state: StoreState
  private var activeTables = RecordTables()
  private var activeIndex: Int?
  private var stamp: Stamping?
  /// Whether a write of this site has arrived that this store did not make.
  ///
  /// Then the store was restored from an earlier state, or it has a clone.
  package private(set) var hasMetLaterSelf = false
  /// By a collection's position, for the collections that have indexes.
  private var maintainers: [Int: IndexMaintainer] = [:]
  var rows = IndexWriteBuffer()
  var changes: ChangeList
  /// The names to which the changes refer.
  let names = CommitNames()
  var log = LogDraft()
  /// The writer of the transaction, for the log.
  var logOrigin: LogOrigin
  private var drawnCommitID: UInt64?
  private var firstTime: UInt64?
  /// The limits on documents' sizes when this transaction began.
  let limits: SizeLimits.Values
  /// The bytes of records that were read for changes, or written: the cost of the transaction so far.
  package internal(set) var recordBytes = 0
  /// Whether the last written document that might have been new was already known.
  var findsKnown = false
  var encoder = JSONRecordEncoder()
  /// Memory of the last changed record, for the next one.
  var room: [UInt8] = []
  /// The collection that was written last, whose name has been checked.
  private var latest: (name: String, index: Int)?
  /// Whether to save the store's lived time, even if nothing is written.
  var keepsTime = false
  var didEvict = false { didSet { makesRoom = true } }
  /// The documents that this transaction has stored as erased.
  var erased: Set<HashedDocument> = []
  /// Whether the transaction frees space on a full disk, and so may use the reserve.
  var makesRoom = false
  var sizes: [SizeFinding] = []
  /// The reading of another site that was last recorded: the documents of one import repeat it.
  private var lastMet = (site: SiteID.zero, reading: ClockReading.zero)
  /// Whether sites are being collected, so that written records must be marked.
  let isMarking: Bool

  init(
    _ stored: DocumentPages, state: StoreState, origin: Origin, settings: WriterSettings, isCapturing: Bool,
    expecting changes: Int
  ) throws(StoreError) {
    self.changes = ChangeList(capacity: changes)
    self.stored = stored
    tables = stored.tables
    self.state = state
    self.origin = origin
    logOrigin = origin == .user ? .user : .unknown
    self.settings = settings
    self.isCapturing = isCapturing
    limits = settings.sizes.current
    isMarking = settings.siteMarks.isOn
    startPages = try tables.pageCount(stored.access)
  }

  // MARK: - For the operations

  /// The pages, for reading.
  func pages() throws(StoreError) -> DocumentPages {
    guard !isOver else { throw StoreError(.closed, "The write transaction is over", operation: "write") }
    if let doom { throw doom }
    return stored
  }

  /// The pages, for writing; throws while a read of this transaction uses them.
  func pagesToWrite(_ operation: String) throws(StoreError) -> PageAccess {
    let pages = try pages()
    guard readDepth == 0 else {
      throw StoreError(
        .writeInsideRead, "A transaction cannot write while it reads a record in place", operation: operation)
    }
    return pages.access
  }

  /// The cursor with which rows that may be replaced are looked up.
  func cursor() throws(StoreError) -> WritingCursor {
    if let cursor = stored.cursor { return cursor }
    let cursor = try WritingCursor(stored.access, tables.documents)
    stored.cursor = cursor
    return cursor
  }

  /// Runs an update of pages; if it fails, the transaction can no longer be committed.
  func update<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do { return try body() } catch {
      throw doomed(by: error)
    }
  }

  /// Ensures that nothing of this transaction is committed.
  func doomed(by error: StoreError) -> StoreError {
    doom = doom ?? error
    return error
  }

  /// Makes the whole transaction fail: nothing of it is committed, and nothing more can be done in it.
  package func giveUp(_ reason: String) {
    _ = doomed(by: StoreError(.closed, "The transaction was given up: \(reason)", operation: "giveUp"))
  }

  /// Marks pages as being read while `body` runs.
  func reading<R>(_ body: (DocumentPages) throws -> R) throws -> R {
    let pages = try pages()
    if readDepth == 0, !rows.isEmpty { try flushRows(pages.access) }
    readDepth += 1
    defer { readDepth -= 1 }
    return try body(pages)
  }

  /// Passes the dictionaries of a collection to `body`, which may add to them.
  func withTables<R>(of index: Int, _ body: (inout RecordTables) throws -> R) rethrows -> R {
    if activeIndex != index {
      settleTables()
      activeTables = RecordTables(keys: state.collections[index].keys, sites: state.sites)
      activeIndex = index
    }
    return try body(&activeTables)
  }

  /// Moves additions to the active dictionaries into the state.
  private func settleTables() {
    guard let index = activeIndex else { return }
    state.collections[index].keys = activeTables.keys
    state.sites = activeTables.sites
    activeIndex = nil
  }

  /// Passes the state with all dictionaries in place.
  func withState<R>(_ body: (inout StoreState) throws -> R) rethrows -> R {
    settleTables()
    return try body(&state)
  }

  /// The object that maintains the indexes of a collection; `nil` when it has none.
  func maintainer(at index: Int) -> IndexMaintainer? {
    if state.collections[index].indexes.isEmpty { return nil }
    if let known = maintainers[index] { return known }
    let maintainer = IndexMaintainer(state.collections[index].indexes)
    maintainers[index] = maintainer
    return maintainer
  }

  /// Moves the counts of rows into the state; later changes use the state of the indexes.
  func settleIndexes() {
    let minimum = settings.options.statisticsMinimum
    for (index, maintainer) in maintainers {
      let isStale = maintainer.settle(&state.collections[index].indexes, minimum: minimum)
      if isStale { state.hasStaleStatistics = true }
    }
    maintainers.removeAll()
  }

  /// Writes the deferred rows of indexes.
  func flushRows(_ access: PageAccess) throws(StoreError) {
    try update { () throws(StoreError) in try rows.flush(access, tables) }
    settleIndexes()
  }

  /// Moves ids of new documents to the main table of ids when there are many.
  private func settleIDs(_ access: PageAccess) throws(StoreError) {
    try update { () throws(StoreError) in
      try state.settling.run(
        IDPages(access: access, tables: tables), limit: settings.options.recentIDs)
    }
  }

  func index(of collection: String) -> Int? {
    if let latest, latest.name.isSame(as: collection) { return latest.index }
    return state.index(of: collection)
  }

  /// The position of a collection to be written, which is created if necessary, and whether it is new.
  func intern(_ collection: String, operation: String) throws(StoreError) -> (index: Int, isNew: Bool) {
    if let latest, latest.name.isSame(as: collection) { return (latest.index, false) }
    try CollectionName.check(collection, operation: operation)
    let isNew = state.index(of: collection) == nil
    let index = state.intern(collection)
    latest = (collection, index)
    return (index, isNew)
  }

  /// Removes the collection that was created last, to which nothing refers.
  func forgetLastCollection() {
    latest = nil
    settleTables()
    if let name = state.collections.popLast()?.name { state.numbers[TextKey(name)] = nil }
  }

  /// Whether no other collection has a greater number.
  func isLastCollection(_ index: Int) -> Bool { index == state.collections.count - 1 }

  /// The number of the next document that is new here.
  var nextNumber: DocumentNumber { state.log.lastNumber.next }

  /// Caches a document's number, so that reading the document need not look it up.
  func noteNumber(_ number: DocumentNumber, _ path: RawSpan) {
    stored.numbers.note(number, under: stored.numbers.hash(of: path))
  }

  /// The greatest number given so far.
  var lastNumber: DocumentNumber { state.log.lastNumber }

  /// Uses up ``nextNumber``.
  func drawNumber() { state.log.lastNumber = nextNumber }

  func number(at index: Int) -> UInt32 { state.collections[index].id }

  func name(of number: UInt32) -> String { state.collections[Int(number) - 1].name }

  /// The documents written so far that are too large for a peer that has nothing of them.
  package var oversizeDocuments: [OversizeDocument] {
    sizes.filter { $0.sizeClass == .hard && $0.isStored }.map(\.document)
  }

  var oversizeCount: Int {
    get { state.oversizeCount }
    set { state.oversizeCount = newValue }
  }

  func count(_ isAlive: Bool, since wasAlive: Bool, at index: Int) {
    guard isAlive != wasAlive else { return }
    let count = state.collections[index].aliveCount
    state.collections[index].aliveCount = isAlive ? count + 1 : count &- min(count, 1)
    state.collections[index].isDirty = true
  }

  /// Counts a record that was created or removed.
  func countRecord(_ change: Int, at index: Int) {
    let count = state.collections[index].recordCount
    state.collections[index].recordCount = change > 0 ? count + 1 : count &- min(count, 1)
    state.collections[index].isDirty = true
  }

  /// An id for a document without one.
  func freshID() -> String { state.ids.next(now: settings.options.now(), random: settings.options.random) }

  /// The site and time of this transaction's writes: one reading for all its documents.
  func stamping() -> Stamping {
    if let stamp { return stamp }
    let now = settings.options.now()
    let reading = state.log.clock.tick(now: now)
    if reading.milliseconds > now + WriterSettings.tolerableLead { settings.warnOfLead(reading, now) }
    settings.issued.note(reading, met: state.highestMet)
    let stamping = Stamping(
      site: settings.site, reading: reading, beyond: beyond, opening: settings.opening)
    stamp = stamping
    return stamping
  }

  /// The highest known reading of this site that may not be stored in any record.
  private var beyond: ClockReading { state.own.site == settings.site ? state.own.met : .zero }

  /// Records a write of this site that arrives from another store.
  ///
  /// A write older than this store's last also shows that there was a clone. But that clone may have another
  /// site by now.
  func noteOwn(_ reading: ClockReading, born birth: ClockReading = .zero) {
    if !settings.issued.reaches(reading) || !settings.issued.reaches(birth: birth) { hasMetLaterSelf = true }
  }

  /// Records a write of this site that is above its clock, and about to be evicted.
  func noteLeaving(_ vector: VersionVector) {
    let own = vector.elements.lazy.filter { $0.writer.site == self.settings.site }.map(\.reading).max()
    guard let own, own > state.log.clock.latest else { return }
    if !state.log.clock.goOn(from: own, now: settings.options.now()) { noteMet(settings.site, own) }
    // Later writes of this transaction must come after it, too.
    stamp = nil
  }

  /// Records the reading of a site's clock that a record contains or contained.
  func noteMet(_ site: SiteID, _ reading: ClockReading) {
    if site == lastMet.site, reading <= lastMet.reading { return }
    // Default data has no time.
    guard site != .zero else { return }
    lastMet = (site, reading)
    if site == state.own.site { state.own.met = max(state.own.met, reading) }
    let known = activeIndex == nil ? state.sites.ordinal(of: site) : activeTables.sites.ordinal(of: site)
    if let known { return state.note(reading, at: Int(known)) }
    // The site is in no record here, or is no longer in memory; in the second case it is stored once more.
    guard state.sites.firstKept > 0 else { return }
    let ordinal = withState { $0.sites.intern(site) }
    recordBytes += Self.siteBytes
    state.note(reading, at: Int(ordinal))
  }

  /// Whether a peer's document may be accepted, judged by the times in it.
  func isAccepted(_ latest: ClockReading) -> Bool {
    // A reading that is not above the clock has been checked before.
    if latest <= state.log.clock.latest { return true }
    if HybridClock.accepts(latest, now: settings.options.now()) { return true }
    settings.write(
      .error, .farFuture,
      "A peer's document is from a time more than a hundred years ahead; it is not taken in")
    return false
  }

  /// The time by which lifetimes are measured.
  func livedTime() -> UInt64 {
    state.log.lived.advance(to: settings.options.now())
    if firstTime == nil { firstTime = state.log.lived.now }
    return state.log.lived.now
  }

  /// The earliest lived time of anything in this transaction.
  func logTime() -> UInt64 { firstTime ?? livedTime() }

  /// Records a reading in a peer's data.
  func observe(_ reading: ClockReading) {
    if reading <= state.log.clock.latest { return }
    if !state.log.clock.observe(reading, now: settings.options.now()) {
      settings.write(
        .warning, .ahead,
        "A peer's clock is more than \(HybridClock.maximumLead) ahead; this clock does not follow it")
    }
  }

  /// The sequence of the group being written, drawn at its first change.
  func drawSequence() -> UInt64 {
    let sequence = nextSequence
    state.log.sequence = sequence
    changes.groupSequence = sequence
    return sequence
  }

  /// The sequence that ``drawSequence()`` will give.
  var nextSequence: UInt64 { changes.groupSequence ?? state.log.sequence + 1 }

  // MARK: - Groups and the end

  /// Begins a group: changes from here on become visible together at receivers, apart from earlier ones.
  public func beginGroup() throws {
    let access = try pagesToWrite("beginGroup")
    try closeGroup(access)
  }

  private func closeGroup(_ access: PageAccess) throws(StoreError) {
    if let sequence = changes.groupSequence { try logGroup(changes.groupChanges, sequence: sequence, access) }
    changes.endGroup()
  }

  /// The random number that names this transaction's commit.
  func commitID() -> UInt64 {
    if let drawnCommitID { return drawnCommitID }
    let id = max(settings.options.random(), 1)
    drawnCommitID = id
    return id
  }

  /// The log is complete from this sequence on.
  var logStart: UInt64 {
    get { state.log.logStart }
    set { state.log.logStart = newValue }
  }

  /// How many bytes are free on the store's disk; the maximum if that is unknown.
  var freeDiskBytes: Int {
    if let fault = settings.options.freeDiskBytes { return fault() }
    return (try? stored.access.freeDiskBytes()) ?? .max / 2
  }

  /// The maximum number of entries in the log.
  var logLimit: Int { settings.options.logEntries }

  /// Ends the body's part, before the commit.
  ///
  /// - Parameter keepsReserve: Whether a full disk would still have enough reserve with this many pages in
  ///   use.
  /// - Returns: The job's result, and the store's state after it.
  /// - Throws: What prevents the commit, even if the body ignored it.
  func finish(
    _ keepsReserve: (_ tablePages: Int) throws(StoreError) -> Bool
  ) throws(StoreError) -> (FinishedJob, StoreState) {
    let access = try pagesToWrite("commit")
    defer { isOver = true }
    try closeGroup(access)
    try flushRows(access)
    try settleIDs(access)
    settleTables()
    var job = FinishedJob(origin: origin, names: names, isCaptured: isCapturing)
    if changes.lastSequence > 0 {
      state.log.commitID = commitID()
      if didEvict { state.log.evictionEpoch += 1 }
      job.sequence = changes.lastSequence
      job.commitID = state.log.commitID
      job.evictionEpoch = state.log.evictionEpoch
      job.changes = changes.changes
      try finishLog(through: changes.lastSequence, access)
    }
    job.changesLog = changes.lastSequence > 0 || keepsTime
    try checkRoom(access, keepsReserve)
    job.oversize = oversizeDocuments
    return (job, state)
  }

  /// Makes the transaction unusable; call it before the engine's transaction ends.
  func end() {
    isOver = true
    stored.cursor?.close()
    stored.cursor = nil
  }

  /// The engine's failure, if there was one.
  var engineFailure: StoreError? { doom }

  /// Reserves the last pages for transactions that free space.
  private func checkRoom(
    _ access: PageAccess, _ keepsReserve: (_ tablePages: Int) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let pages = try tables.pageCount(access)
    if pages > settings.pageLimit, pages > startPages {
      throw StoreError(.full, "The store has reached its size limit", operation: "commit")
    }
    // Only transactions that change something are checked; those that free space may use the reserve.
    guard changes.lastSequence > 0 || pages > startPages else { return }
    if pages <= startPages, makesRoom || pages < startPages { return }
    if !(try keepsReserve(pages)) {
      throw StoreError(.full, "The disk is full: only evicting has room", operation: "commit")
    }
  }
}

/// The settings of a writer.
struct WriterSettings: Sendable {
  /// The site of new writes.
  var site: SiteID
  /// The first reading of this opening of the store, which writes under names of its own.
  var opening: ClockReading
  let options: StoreOptions
  var pageLimit: Int
  let sizes: SizeLimits
  let issued: IssuedReadings
  let damagedIndexes: DamagedIndexes
  let siteMarks = SiteMarks()
  let clockLines = ClockLines()
}
