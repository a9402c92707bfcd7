public import CRDTCore
import Platform

/// How much a store's log line matters.
public enum StoreLogLevel: Int, Sendable, Comparable {
  case debug, info, warning, error

  public static func < (a: StoreLogLevel, b: StoreLogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// What a store is opened with; everything it reads from outside comes in here.
public struct StoreOptions: Sendable {
  /// Address space reserved for the data, above 0; the file grows as needed up to about this size.
  ///
  /// Where the process cannot have so much, the store begins with a half, a quarter and so on, at least 1 GiB, and
  /// takes more as it grows; the log says so.
  public var mapBytes: Int
  /// Wall time in milliseconds since 1970.
  public var now: @Sendable () -> UInt64
  /// Random bits for site, commit and document ids.
  public var random: @Sendable () -> UInt64
  /// Makes a site of 16 random bytes and a key that only this device has; without it a site is random, and proves nothing.
  ///
  /// It is called for a new store, and for one that becomes another site for a reason: while the store is opened, and on the
  /// thread that writes.
  public var siteOfSalt: (@Sendable (SiteSalt, IdentityChange.Reason?) throws(StoreError) -> SiteID)?
  /// Time that only goes forward, for ages and deadlines, counted from any moment.
  package var monotonic: @Sendable () -> Duration = StoreOptions.systemMonotonic
  /// Who carries out what is written.
  package var drive = StoreDrive.thread
  /// Takes log lines; without it warnings and errors go to standard error.
  public var log: (@Sendable (StoreLogLevel, String) -> Void)?
  /// Above this many bytes a document draws a warning.
  public var softDocumentBytes: Int
  /// Above this many bytes a document is kept locally and never sent.
  public var hardDocumentBytes: Int
  /// How long an asynchronous transaction may be idle before it is rolled back.
  public var transactionDeadline: Duration
  /// After this long a snapshot counts as forgotten: with the next commit it is logged, and reading on in it
  /// throws `deadline`.
  public var readerDeadline: Duration
  /// How long resizing waits for readers to end, while new ones wait for it.
  public var gateDeadline: Duration
  /// How long tombstones, removed fields and the records of transactions are kept; `nil` for ever.
  public var tombstoneLifetime: Duration? = .seconds(7 * 86_400)
  /// How long the death certificates that follow tombstones are kept; `nil` for ever.
  public var certificateLifetime: Duration? = .seconds(365 * 86_400)
  /// Whether pages that nobody reads are looked at in the background, slowly.
  public var scrubs = true
  /// How long the scrub rests, and how many pages it looks at then.
  package var scrubPause: Duration = .seconds(10)
  package var scrubPages = 512
  /// How often the store looks for what has had its time; `nil` never.
  package var collectionInterval: Duration? = .seconds(600)
  /// Indexes with fewer rows have no statistics.
  package var statisticsMinimum = 256
  /// How long after rows changed much they are gone through again.
  package var statisticsDelay: Duration = .seconds(1)
  /// How long a writer waits before that is logged, and then between log lines.
  package var waitWarning: Duration = .seconds(10)
  package var waitRepeat: Duration = .seconds(5)
  /// How long work that can be divided holds on to the writer at a time.
  package var writerSlice: Duration = .milliseconds(40)
  /// How many ids of new documents stand apart from the others, at most; by default what their number makes of it.
  package var recentIDs: Int?
  /// The approximate number of bytes that the pages of a working table may use; at most a tenth of the free disk space.
  package var workingBytes = 256 << 20
  /// Stands in for the system's answer how many bytes are free on the disk, for tests.
  package var freeDiskBytes: (@Sendable () -> Int)?
  /// How many entries the log of transactions may have.
  package var logEntries = 1 << 20
  /// So many sites stay in memory, those met last, or some more.
  package var keptSites = 16_384
  /// So many sites that are no longer in memory stand together in the table by which they are found.
  package var siteRun = 2_048
  /// How many documents' numbers are remembered.
  package var numberCapacity = NumberCache.standardCapacity
  /// Stands in for the engine's answer to a commit, for tests: a C error code, or 0 to go on.
  package var commitFault: (@Sendable () -> Int32)?
  /// Stands in for the system's answer when room on the disk is reserved, for tests: a C error code, or 0.
  package var reserveFault: (@Sendable () -> Int32)?
  /// Stands in for the system's answer whether so many bytes of address space can be had, for tests.
  package var reservesAddressSpace: (@Sendable (Int) -> Bool)?
  /// Less than this much address space is not asked for, unless ``mapBytes`` is less.
  package var leastMapBytes = 1 << 30
  /// Called at each step of work on the store's files, for tests.
  package var stepFault: (@Sendable (StoreStep) throws(StoreError) -> Void)?
  /// Whether a store whose files are a copy goes on as the site that it was, as a copy of a whole disk would: for one that is
  /// moved, and whose original is never opened again.
  ///
  /// No data depends on it. Two stores of one site part when they meet, and one of them is renamed then.
  public var trustsCopies = false
  /// Where a restart of the process learns that the store is just as it was left; `nil` for nowhere.
  package var witnessDirectory = OpeningWitness.directory
  /// Whether each opening writes under names of its own; off only to prove that a test would notice.
  package var namesOpenings = true
  /// Whether pages are walked over unlooked at; on only to prove that a test would notice.
  package var trustsPages = false
  /// Whether a failed write or sync ends all writing; off only to prove that a test would notice.
  package var poisonsAfterFailure = true

  public init(
    mapBytes: Int = 64 << 30,
    now: @escaping @Sendable () -> UInt64 = StoreOptions.systemMilliseconds,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) },
    log: (@Sendable (StoreLogLevel, String) -> Void)? = nil,
    softDocumentBytes: Int = Limits.softDocumentBytes,
    hardDocumentBytes: Int = Limits.hardDocumentBytes,
    transactionDeadline: Duration = .seconds(30),
    readerDeadline: Duration = .seconds(60), gateDeadline: Duration = .seconds(10)
  ) {
    self.mapBytes = mapBytes
    self.now = now
    self.random = random
    self.log = log
    self.softDocumentBytes = softDocumentBytes
    self.hardDocumentBytes = hardDocumentBytes
    self.transactionDeadline = transactionDeadline
    self.readerDeadline = readerDeadline
    self.gateDeadline = gateDeadline
  }

  /// The system's wall clock in milliseconds since 1970.
  public static let systemMilliseconds: @Sendable () -> UInt64 = {
    var time = timespec()
    // SAFETY: the call fills the local value and keeps no pointer to it.
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(clamping: time.tv_sec) &* 1_000 &+ UInt64(clamping: time.tv_nsec) / 1_000_000
  }

  /// The system's monotonic clock: some milliseconds coarse, and far cheaper to read than an exact one.
  package static let systemMonotonic: @Sendable () -> Duration = {
    #if canImport(Darwin)
      return .nanoseconds(Int64(clamping: clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW_APPROX)))
    #else
      var time = timespec()
      // SAFETY: the call fills the local structure.
      unsafe clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
      return Duration(
        secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    #endif
  }

  func write(_ level: StoreLogLevel, _ line: String) {
    if let log { log(level, line) } else if level >= .warning { writeToStandardError(line) }
  }
}

/// Writes a line beside what the program answers.
private func writeToStandardError(_ line: String) {
  let bytes = Array("\(line)\n".utf8)
  // SAFETY: the call reads the local bytes and keeps no pointer to them.
  _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

extension StoreOptions {
  /// - Throws: `argument` for a `mapBytes` that is no size.
  package func check() throws(StoreError) {
    guard mapBytes > 0 else {
      throw StoreError(.argument, "mapBytes is \(mapBytes) and must be above 0", operation: "open")
    }
  }
}
