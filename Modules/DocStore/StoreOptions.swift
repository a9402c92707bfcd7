public import CRDTCore
import Platform

/// The severity of a store's log line.
public enum StoreLogLevel: Int, Sendable, Comparable {
  case debug, info, warning, error

  public static func < (a: StoreLogLevel, b: StoreLogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// The options with which a store is opened; all its access to the outside is passed in here.
public struct StoreOptions: Sendable {
  /// Address space reserved for the data, above 0; the file grows as needed to about this size.
  ///
  /// If the process cannot reserve so much, the store starts with a half, a quarter and so on, at least 1
  /// GiB, and reserves more as it grows. It logs this.
  public var mapBytes: Int
  /// Wall time in milliseconds since 1970.
  public var now: @Sendable () -> UInt64
  /// Random bits for site, commit and document ids.
  public var random: @Sendable () -> UInt64
  /// Makes a site from 16 random bytes and a key that only this device has.
  ///
  /// Without it, a site is random and proves nothing.
  ///
  /// It is called for a new store, and for a store that must become another site. The call happens while the
  /// store is opened, or on the writer's thread.
  public var siteOfSalt: (@Sendable (SiteSalt, IdentityChange.Reason?) throws(StoreError) -> SiteID)?
  /// A monotonic clock for ages and deadlines; its zero is arbitrary.
  package var monotonic: @Sendable () -> Duration = StoreOptions.systemMonotonic
  /// Who drives the writer.
  package var drive = StoreDrive.thread
  /// Receives log lines; without it, warnings and errors go to standard error.
  ///
  /// Lines above debug name a document by a hash of its id, because logs may be collected.
  public var log: (@Sendable (StoreLogLevel, String) -> Void)?
  /// Receives the warnings about large documents, with the documents' ids, in place of the log.
  ///
  /// It is for a process without logging, whose developer reads the console.
  package var sizeWarning: (@Sendable (String) -> Void)?
  /// Above this many bytes, the store logs a warning for a document.
  public var softDocumentBytes: Int
  /// Above this many bytes, a document is not sent to a peer that has nothing of it.
  public var hardDocumentBytes: Int
  /// How long an asynchronous transaction may be idle before it is rolled back.
  public var transactionDeadline: Duration
  /// The age after which a snapshot counts as forgotten.
  ///
  /// With the next commit it is logged, and further reads from it throw `deadline`.
  public var readerDeadline: Duration
  /// How long resizing waits for readers to end; new readers wait meanwhile.
  public var gateDeadline: Duration
  /// How long tombstones, removed fields and the log's entries are kept; `nil` for ever.
  public var tombstoneLifetime: Duration? = .seconds(7 * 86_400)
  /// How long compacted tombstones are kept; `nil` for ever.
  public var certificateLifetime: Duration? = .seconds(365 * 86_400)
  /// Whether a slow background scrub checks pages that nobody reads.
  public var scrubs = true
  /// The pause between two steps of the scrub, and the number of pages in a step.
  package var scrubPause: Duration = .seconds(10)
  package var scrubPages = 512
  /// How often the store looks for expired data; `nil` for never.
  package var collectionInterval: Duration? = .seconds(600)
  /// Indexes with fewer rows have no statistics.
  package var statisticsMinimum = 256
  /// How long after many of its rows changed the statistics of an index are computed again.
  package var statisticsDelay: Duration = .seconds(1)
  /// How long a writer waits before the store logs it, and the interval of further log lines.
  package var waitWarning: Duration = .seconds(10)
  package var waitRepeat: Duration = .seconds(5)
  /// How long divisible work occupies the writer at a time.
  package var writerSlice: Duration = .milliseconds(40)
  /// How many ids of new documents are stored apart, at most; `nil` derives it from the number of documents.
  package var recentIDs: Int?
  /// About how many bytes the pages of a working table may use; at most a tenth of the free disk space.
  package var workingBytes = 256 << 20
  /// Replaces the system's number of free bytes on the disk, for tests.
  package var freeDiskBytes: (@Sendable () -> Int)?
  /// The maximum number of entries in the log of transactions.
  package var logEntries = 1 << 20
  /// Approximately how many sites stay in memory, the most recently seen ones.
  package var keptSites = 16_384
  /// How many sites that are no longer in memory share one entry of the table by which they are found.
  package var siteRun = 2_048
  /// How many documents' numbers are cached.
  package var numberCapacity = NumberCache.standardCapacity
  /// Replaces the engine's result of a commit, for tests: a C error code, or 0 to go on.
  package var commitFault: (@Sendable () -> Int32)?
  /// Replaces the system's result when disk space is reserved, for tests: a C error code, or 0.
  package var reserveFault: (@Sendable () -> Int32)?
  /// Replaces the system's answer whether so many bytes of address space are available, for tests.
  package var reservesAddressSpace: (@Sendable (Int) -> Bool)?
  /// The store does not try to reserve less address space than this, unless ``mapBytes`` is less.
  package var leastMapBytes = 1 << 30
  /// Called at each step of work on the store's files, for tests.
  package var stepFault: (@Sendable (StoreStep) throws(StoreError) -> Void)?
  /// Whether the store is only read: nothing is written to its directory, which need not be writable.
  ///
  /// The store must exist. Several processes can read it at the same time, and none can write to it
  /// meanwhile. A call that would write throws `readOnlyStore`. A copy of a store keeps the site of its
  /// original then.
  public var isReadOnly = false
  /// Whether a store whose files are a copy keeps its site, as a copy of a whole disk would.
  ///
  /// It is for a store that is moved, and whose original is never opened again.
  ///
  /// No data depends on it. When two stores with one site meet, they disconnect, and one of them then gets a
  /// new site.
  public var trustsCopies = false
  /// Where a restarted process finds proof that the store is as it was left; `nil` for nowhere.
  package var witnessDirectory = OpeningWitness.directory
  /// Whether each opening writes under names of its own; off only to prove that a test detects it.
  package var namesOpenings = true
  /// Whether pages are traversed without checks; on only to prove that a test detects it.
  package var trustsPages = false
  /// Whether a failed write or sync ends all writing; off only to prove that a test detects it.
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

  /// The system's monotonic clock, precise to some milliseconds, and far cheaper to read than an exact one.
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
    // Standard error is apart from the program's output.
    if let log { log(level, line) } else if level >= .warning { writeLine(line, to: STDERR_FILENO) }
  }

  /// Writes warnings about large documents; `nil` if they go to the log.
  var sizeWriter: (@Sendable (String) -> Void)? {
    sizeWarning ?? (log == nil ? Self.standardOutput : nil)
  }

  /// Writes a line to standard output.
  package static let standardOutput: @Sendable (String) -> Void = { writeLine($0, to: STDOUT_FILENO) }
}

private func writeLine(_ line: String, to descriptor: Int32) {
  let bytes = Array("\(line)\n".utf8)
  // SAFETY: the call reads the local bytes and keeps no pointer to them.
  _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
}

extension StoreOptions {
  /// - Throws: `argument` when `mapBytes` is not a valid size.
  package func check() throws(StoreError) {
    guard mapBytes > 0 else {
      throw StoreError(.argument, "mapBytes is \(mapBytes) and must be above 0", operation: "open")
    }
  }
}
