public import CRDTCore

/// The state of a store: its contents, its size, and its current users.
public struct StoreStatistics: Sendable {
  /// The site under which the store writes.
  public internal(set) var site: SiteID
  /// The random number that identifies the log.
  public internal(set) var epoch: UInt64
  /// Why the store became a new site, at open or later; `nil` if it did not.
  public internal(set) var identityChange: IdentityChange?
  /// The last commit, and its random number.
  public internal(set) var sequence: UInt64 = 0
  public internal(set) var commitID: UInt64 = 0
  /// When this session last committed, in milliseconds since 1970; `nil` if it has not.
  public internal(set) var lastCommit: UInt64?
  /// Why the store no longer accepts writes; `nil` while it does.
  public internal(set) var failure: StoreError?
  /// Why the last write that needed room found none, such as a full disk; `nil` while there is room.
  public internal(set) var shortage: StoreError?
  /// How far the store's clock is ahead of the wall clock: see ``Store/clockLead()``.
  public internal(set) var clockLead: Duration = .zero
  /// All collections that were ever written to, by name, with their counts.
  public internal(set) var collections: [CollectionInfo] = []
  /// The number of sites whose writes the store has.
  public internal(set) var siteCount = 0
  /// The number of documents that are too large for a peer that has nothing of them.
  public internal(set) var oversizeCount = 0
  /// What the store has yet to forget, and what it has forgotten.
  public internal(set) var expiry = ExpiryStatistics()
  /// The bytes of a page, of the data file, and those that documents may fill.
  public internal(set) var pageBytes = 0
  public internal(set) var fileBytes = 0
  public internal(set) var mapBytes = 0
  /// The number of pages that the last commit needs.
  public internal(set) var usedPages = 0
  /// Pages that the last commit does not need: for later writes, or still read by older snapshots.
  public internal(set) var freePages = 0
  /// The number of open snapshots, including this one.
  public internal(set) var readerCount = 0
  /// How long the oldest snapshot has been open, and where it was taken.
  public internal(set) var oldestReaderAge: Duration = .zero
  public internal(set) var oldestReaderPlace = ""
  /// The number of transactions that wait for the writer.
  public internal(set) var waitingWriters = 0
  /// Damage that reads and the background scrub have found since the store was opened.
  public internal(set) var damages: [String] = []

  /// The number of living documents in all collections.
  public var documentCount: Int { collections.reduce(0) { $0 + $1.documentCount } }
  /// The number of removed documents in all collections whose records still exist.
  public var tombstoneCount: Int { collections.reduce(0) { $0 + $1.tombstoneCount } }
  /// The bytes of the pages that the last commit needs.
  public var usedBytes: Int { usedPages * pageBytes }
}

extension Store {
  /// Returns the store's present state; costs as much as a few reads, whatever the store's size.
  ///
  /// - Returns: The figures; those about documents are all of one moment.
  /// - Throws: `closed`, `forked`, `tooManyReaders`, `corrupt`, `io`.
  public func statistics() throws -> StoreStatistics {
    let environment = try openEnvironment("statistics")
    let reader = try environment.beginRead()
    defer { environment.recycle(reader) }
    let pages = DocumentPages(access: reader.access, tables: environment.tables)
    let log = try LogState(reader.access, environment.tables)
    var result = StoreStatistics(site: site, epoch: epoch)
    result.identityChange = identityChange
    result.clockLead = Self.lead(of: log.clock.latest.milliseconds, options.now())
    (result.sequence, result.commitID) = (log.sequence, log.commitID)
    (result.lastCommit, result.failure, result.shortage) = writer.health.withLock {
      ($0.lastCommit, $0.failure, $0.shortage)
    }
    result.collections = try pages.collections()
    result.siteCount = try reader.access.entryCount(environment.tables.sites)
    result.oversizeCount = try reader.access.entryCount(environment.tables.oversize)
    result.expiry = try housekeeping.statistics(reader.access, environment.tables)
    try measure(environment, reader, &result)
    result.waitingWriters = waitingJobs
    result.damages =
      environment.readers.withLock { $0.verifier }?.damagedPages.map {
        "\($0.message), in the table \($0.table)"
      } ?? []
    return result
  }

  private func measure(_ environment: Environment, _ reader: ReaderSlot, _ result: inout StoreStatistics)
    throws
  {
    result.pageBytes = environment.pageBytes
    result.mapBytes = environment.mapBytes
    result.fileBytes = try FileMark.byteCount(environment.dataDescriptor())
    result.usedPages = try environment.tables.pageCount(reader.access) + Environment.metaPages
    result.freePages = max(try environment.pageCount() - result.usedPages, 0)
    let now = options.monotonic()
    environment.readers.withLock { board in
      result.readerCount = board.active.count
      guard let oldest = board.oldest else { return }
      result.oldestReaderAge = now - oldest.start
      result.oldestReaderPlace = oldest.place.text
    }
  }
}
