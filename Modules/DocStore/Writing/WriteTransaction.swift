import CRDTCore

/// The store's only writer for as long as the body that was handed it runs.
///
/// Everything written in it becomes durable together, or not at all. It reads its own writes. It is of
/// no use outside its body: every call then throws `closed`.
public final class WriteTransaction {
  public let origin: Origin
  let tables: Tables
  let settings: WriterSettings
  /// Whether records before and after are kept, for those who listen to commits.
  let isCapturing: Bool
  private var stored: DocumentPages
  private let startPages: Int
  private var isOver = false
  /// Why nothing of this transaction can last, whatever its body makes of the error.
  private var doom: StoreError?
  private var readDepth = 0
  private var state: StoreState
  private var activeTables = RecordTables()
  private var activeIndex: Int?
  private var stamp: Stamping?
  /// Whether a write of this site's has come from elsewhere that this store has not made: it was put back, or has a twin.
  package private(set) var hasMetLaterSelf = false
  /// By a collection's position, for those that have indexes.
  private var maintainers: [Int: IndexMaintainer] = [:]
  var rows = IndexWriteBuffer()
  var changes: ChangeList
  /// What the changes refer to.
  let names = CommitNames()
  var log = LogDraft()
  /// Who wrote all this, as the log tells it.
  var logOrigin: LogOrigin
  private var drawnCommitID: UInt64?
  private var firstTime: UInt64?
  /// The limits on documents' sizes as this transaction began.
  let limits: SizeLimits.Values
  /// Bytes of records that were read to be changed, and written: what the transaction has cost so far.
  package internal(set) var recordBytes = 0
  /// Whether the last document to be written that might have been new was known.
  var findsKnown = false
  var encoder = JSONRecordEncoder()
  /// Memory of the record that was changed last, for the next one.
  var room: [UInt8] = []
  /// The collection that was written last, which has been checked.
  private var latest: (name: String, index: Int)?
  /// Whether how far the store has lived is to last, also where nothing is written.
  var keepsTime = false
  var didEvict = false { didSet { makesRoom = true } }
  /// Whether the transaction does what helps a full disk, and so may use the last of its room.
  var makesRoom = false
  var sizes: [SizeFinding] = []
  /// The reading of another site that was noted last: the documents of one import tell the same over and over.
  private var lastMet = (site: SiteID.zero, reading: ClockReading.zero)
  /// What is known of all sites as this transaction began.
  private let formerSites: SiteCounts
  /// Whether sites are being collected, so that records are marked.
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
    formerSites = state.log.sites
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

  /// The pages, for writing: not while a read of this transaction holds on to them.
  func pagesToWrite(_ operation: String) throws(StoreError) -> PageAccess {
    let pages = try pages()
    guard readDepth == 0 else {
      throw StoreError(
        .writeInsideRead, "A transaction cannot write while it reads a record in place", operation: operation)
    }
    return pages.access
  }

  /// Where a row was looked up that may be replaced.
  func cursor() throws(StoreError) -> WritingCursor {
    if let cursor = stored.cursor { return cursor }
    let cursor = try WritingCursor(stored.access, tables.documents)
    stored.cursor = cursor
    return cursor
  }

  /// Runs an update of pages; when it fails, the transaction cannot be committed any more.
  func update<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do { return try body() } catch {
      throw doomed(by: error)
    }
  }

  /// Sees to it that nothing of this transaction lasts.
  func doomed(by error: StoreError) -> StoreError {
    doom = doom ?? error
    return error
  }

  /// Lets the transaction fail as a whole: nothing of it lasts, and nothing more can be done in it.
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

  /// Hands the dictionaries of a collection to `body`, which may add to them.
  func withTables<R>(of index: Int, _ body: (inout RecordTables) throws -> R) rethrows -> R {
    if activeIndex != index {
      settleTables()
      activeTables = RecordTables(keys: state.collections[index].keys, sites: state.sites)
      activeIndex = index
    }
    return try body(&activeTables)
  }

  /// Takes what was added to the active dictionaries into the state.
  private func settleTables() {
    guard let index = activeIndex else { return }
    state.collections[index].keys = activeTables.keys
    state.sites = activeTables.sites
    activeIndex = nil
  }

  /// The state with all dictionaries in place.
  func withState<R>(_ body: (inout StoreState) throws -> R) rethrows -> R {
    settleTables()
    return try body(&state)
  }

  /// What keeps the indexes of a collection; `nil` when it has none.
  func maintainer(at index: Int) -> IndexMaintainer? {
    if state.collections[index].indexes.isEmpty { return nil }
    if let known = maintainers[index] { return known }
    let maintainer = IndexMaintainer(state.collections[index].indexes)
    maintainers[index] = maintainer
    return maintainer
  }

  /// Takes the numbers of rows into the state; changes from here on go by the state of the indexes.
  func settleIndexes() {
    let minimum = settings.options.statisticsMinimum
    for (index, maintainer) in maintainers {
      let isStale = maintainer.settle(&state.collections[index].indexes, minimum: minimum)
      if isStale { state.hasStaleStatistics = true }
    }
    maintainers.removeAll()
  }

  /// Writes the rows of indexes that were put off.
  func flushRows(_ access: PageAccess) throws(StoreError) {
    try update { () throws(StoreError) in try rows.flush(access, tables) }
    settleIndexes()
  }

  /// Takes ids of new documents to the others when there are many.
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

  /// The index of a collection to be written, which is made if need be, and whether it was.
  func intern(_ collection: String, operation: String) throws(StoreError) -> (index: Int, isNew: Bool) {
    if let latest, latest.name.isSame(as: collection) { return (latest.index, false) }
    try CollectionName.check(collection, operation: operation)
    let isNew = state.index(of: collection) == nil
    let index = state.intern(collection)
    latest = (collection, index)
    return (index, isNew)
  }

  /// Takes back the collection that was made last, which nothing refers to.
  func forgetLastCollection() {
    latest = nil
    settleTables()
    if let name = state.collections.popLast()?.name { state.numbers[TextKey(name)] = nil }
  }

  /// Whether no other collection has a greater number.
  func isLastCollection(_ index: Int) -> Bool { index == state.collections.count - 1 }

  /// The number of the next document that is new here.
  var nextNumber: DocumentNumber { state.log.lastNumber.next }

  /// Remembers under which number a document came, so that reading it need not look that up.
  func noteNumber(_ number: DocumentNumber, _ path: RawSpan) {
    stored.numbers.note(number, under: stored.numbers.hash(of: path))
  }

  /// The greatest number that was given so far.
  var lastNumber: DocumentNumber { state.log.lastNumber }

  /// Gives ``nextNumber`` away.
  func drawNumber() { state.log.lastNumber = nextNumber }

  func number(at index: Int) -> UInt32 { state.collections[index].id }

  func name(of number: UInt32) -> String { state.collections[Int(number) - 1].name }

  /// The documents written so far that are too large to be sent.
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

  /// Counts a record that came into being, or one that is gone.
  func countRecord(_ change: Int, at index: Int) {
    let count = state.collections[index].recordCount
    state.collections[index].recordCount = change > 0 ? count + 1 : count &- min(count, 1)
    state.collections[index].isDirty = true
  }

  /// An id for a document that came without one.
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

  /// The highest reading of this site's that is known and may be on record nowhere.
  private var beyond: ClockReading { state.own.site == settings.site ? state.own.met : .zero }

  /// Takes note of a write of this site's that comes from elsewhere.
  ///
  /// An earlier one than this store's last tells of a twin as well, but of one that may have another site by now.
  func noteOwn(_ reading: ClockReading, born birth: ClockReading = .zero) {
    if !settings.issued.reaches(reading) || !settings.issued.reaches(birth: birth) { hasMetLaterSelf = true }
  }

  /// Remembers a write of this site's that is above its clock, and about to leave the store.
  func noteLeaving(_ vector: VersionVector) {
    let own = vector.elements.lazy.filter { $0.writer.site == self.settings.site }.map(\.reading).max()
    guard let own, own > state.log.clock.latest else { return }
    if !state.log.clock.goOn(from: own, now: settings.options.now()) { noteMet(settings.site, own) }
    // What this transaction has yet to write comes after it, too.
    stamp = nil
  }

  /// Takes note of the reading of a site's clock that a record tells, or told.
  func noteMet(_ site: SiteID, _ reading: ClockReading) {
    if site == lastMet.site, reading <= lastMet.reading { return }
    // Default data is of no time.
    guard site != .zero else { return }
    lastMet = (site, reading)
    if site == state.own.site { state.own.met = max(state.own.met, reading) }
    let known = activeIndex == nil ? state.sites.ordinal(of: site) : activeTables.sites.ordinal(of: site)
    if let known { return state.note(reading, at: Int(known)) }
    // One that no record here names, or one that is no longer in memory, and so is entered once more.
    guard state.sites.firstKept > 0 else { return }
    let ordinal = withState { $0.sites.intern(site) }
    recordBytes += Self.siteBytes
    state.note(reading, at: Int(ordinal))
  }

  /// Whether a peer's document may be taken in, as far as the times in it go.
  func isAccepted(_ latest: ClockReading) -> Bool {
    // What is not above the clock has been looked at before.
    if latest <= state.log.clock.latest { return true }
    if HybridClock.accepts(latest, now: settings.options.now()) { return true }
    settings.write(
      .error, .farFuture,
      "A peer's document is from a time more than a hundred years ahead; it is not taken in")
    return false
  }

  /// The time by which lifetimes count.
  func livedTime() -> UInt64 {
    state.log.lived.advance(to: settings.options.now())
    if firstTime == nil { firstTime = state.log.lived.now }
    return state.log.lived.now
  }

  /// The lived time from which on anything of this transaction may be.
  func logTime() -> UInt64 { firstTime ?? livedTime() }

  /// Takes note of the times in a peer's data.
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

  /// The sequence that ``drawSequence()`` gives.
  var nextSequence: UInt64 { changes.groupSequence ?? state.log.sequence + 1 }

  // MARK: - Groups and the end

  /// Lets the changes from here on become visible together at receivers, apart from those before.
  public func beginGroup() throws {
    let access = try pagesToWrite("beginGroup")
    try closeGroup(access)
  }

  private func closeGroup(_ access: PageAccess) throws(StoreError) {
    if let sequence = changes.groupSequence { try logGroup(changes.groupChanges, sequence: sequence, access) }
    changes.endGroup()
  }

  /// The random number that names the commit to come.
  func commitID() -> UInt64 {
    if let drawnCommitID { return drawnCommitID }
    let id = max(settings.options.random(), 1)
    drawnCommitID = id
    return id
  }

  /// From where on the log is whole.
  var logStart: UInt64 {
    get { state.log.logStart }
    set { state.log.logStart = newValue }
  }

  /// How many bytes are free on the disk of the store; all there are where nobody can tell.
  var freeDiskBytes: Int {
    if let fault = settings.options.freeDiskBytes { return fault() }
    return (try? stored.access.freeDiskBytes()) ?? .max / 2
  }

  /// How many entries the log may have.
  var logLimit: Int { settings.options.logEntries }

  /// Ends the body's part; what comes after is the commit.
  ///
  /// - Parameter keepsReserve: Whether a full disk could still be made room on with so many pages in use.
  /// - Returns: What the job came to, and the store's state after it.
  /// - Throws: What forbids the commit, also where the body passed over it.
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
    try state.flush(access, tables)
    try state.flushSites(
      access, tables, kept: settings.options.keptSites, run: settings.options.siteRun)
    if changes.lastSequence > 0 || keepsTime || state.log.sites != formerSites {
      try state.log.write(access, tables)
    }
    try checkRoom(access, keepsReserve)
    job.oversize = oversizeDocuments
    return (job, state)
  }

  /// Makes the transaction useless; to be called before the engine's own ends.
  func end() {
    isOver = true
    stored.cursor?.close()
    stored.cursor = nil
  }

  /// Why the engine refused, when it did.
  var engineFailure: StoreError? { doom }

  /// Keeps the last pages for transactions that make room.
  private func checkRoom(
    _ access: PageAccess, _ keepsReserve: (_ tablePages: Int) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let pages = try tables.pageCount(access)
    if pages > settings.pageLimit, pages > startPages {
      throw StoreError(.full, "The store has reached its size limit", operation: "commit")
    }
    // What changes nothing is no write; what makes room may use the last of it.
    guard changes.lastSequence > 0 || pages > startPages else { return }
    if pages <= startPages, makesRoom || pages < startPages { return }
    if !(try keepsReserve(pages)) {
      throw StoreError(.full, "The disk is full: only evicting has room", operation: "commit")
    }
  }
}

/// What a writer goes by.
struct WriterSettings: Sendable {
  /// Whose entries are written now.
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
