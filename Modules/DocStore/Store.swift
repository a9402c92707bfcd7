package import CRDTCore

/// A store of documents in collections, in one directory, used by one process at a time.
///
/// Reads run on the caller's thread against a snapshot and never wait. Writes run one at a time on the
/// store's own thread; writes that wait share one sync of the disk.
public final class Store: Sendable {
  /// The path of the directory.
  public let path: String
  /// The directory, held open for as long as this object exists.
  package let directory: HeldDirectory
  /// A random number that distinguishes this opening of the store from all others, copies included.
  package let incarnation: UInt64
  let options: StoreOptions
  let writer: Writer
  let limits: SizeLimits
  private let issued: IssuedReadings
  let housekeeping: Housekeeping
  private let environment: Monitor<Environment?>
  let process = ProcessMark()
  let threads = ReusedThreads()

  /// Opens the store in the directory at `path`, and creates the directory if there is none.
  ///
  /// With ``StoreOptions/isReadOnly`` nothing is created or written.
  ///
  /// - Parameters:
  ///   - path: A directory that only this store uses; the files it creates are readable by their owner alone.
  ///   - options: Limits, clock, random source and log.
  /// - Returns: The open store.
  /// - Throws: `argument` when `mapBytes` is not a valid size; `alreadyOpen` immediately when the store is
  ///   already open; `readOnlyStore` if the file system is mounted read-only and the options do not say so;
  ///   `notFound` if there is no store to be only read; `noMemory`, `tooManyFiles`; `unsupportedVersion`,
  ///   `corrupt`, `permission`, `full` or `io`.
  public static func open(at path: String, options: StoreOptions = .init()) throws(StoreError) -> Store {
    try options.check()
    let directory =
      if options.isReadOnly { try HeldDirectory(path) } else { try HeldDirectory(making: path) }
    return try open(in: directory, options: options)
  }

  /// Opens the store in a directory that is already held open.
  ///
  /// - Throws: What ``open(at:options:)`` throws.
  package static func open(in directory: HeldDirectory, options: StoreOptions) throws(StoreError) -> Store {
    try options.check()
    let files = StoreFiles(in: directory)
    let lock = try StoreLock(directory, for: options.isReadOnly ? .reading : .writing)
    if options.isReadOnly {
      try files.checkData()
      let environment = try Environment(files.data, lock: lock, options: options)
      return try Store(environment, files, isNew: false, options: options)
    }
    files.removeLeftovers()
    let fresh = try StoreIdentity(options)
    let isNew = try files.createIfMissing(
      fill: { access, tables throws(StoreError) in try fresh.create(access, tables) },
      prepare: { draft throws(StoreError) in
        try InstanceKeeper.create(fresh, files, draft: draft, random: options.random)
      }, options: options)
    let environment = try Environment(files.data, lock: lock, options: options)
    return try Store(environment, files, isNew: isNew, options: options)
  }

  private init(
    _ environment: Environment, _ files: StoreFiles, isNew: Bool, options: StoreOptions
  ) throws(StoreError) {
    let reader = try environment.beginRead()
    let archive = SiteArchive(environment)
    var state: StoreState
    do {
      defer { environment.recycle(reader) }
      state = try StoreState(reader.access, environment.tables, archive)
    }
    let keeper = try InstanceKeeper(environment, files, log: state.log, options: options)
    incarnation = options.random()
    // A store that has just been created has no copy.
    if !isNew { keeper.begin(&state.log, random: incarnation) }
    try state.readOwn(keeper.identity.site, environment)
    directory = files.held
    path = files.held.name
    self.options = options
    limits = SizeLimits(soft: options.softDocumentBytes, hard: options.hardDocumentBytes)
    issued = IssuedReadings(state)
    let settings = WriterSettings(
      site: keeper.identity.site, opening: keeper.opening, options: options, pageLimit: environment.pageLimit,
      sizes: limits,
      issued: issued, damagedIndexes: environment.damagedIndexes)
    writer = Writer(environment, state: state, settings: settings, keeper: keeper, archive: archive)
    let opened = Monitor<Environment?>(environment)
    self.environment = opened
    housekeeping = Housekeeping(writer, opened, options)
    writer.noteStale = { [weak housekeeping] in housekeeping?.noteStaleStatistics() }
    environment.damagedIndexes.onDamage { [weak housekeeping] in housekeeping?.noteDamagedIndexes() }
    try writer.start()
    try housekeeping.start(unfinished: state)
  }

  deinit { close() }

  /// Lets queued transactions finish, then closes the files; a second call has no effect.
  ///
  /// Reads in progress continue, and the files are closed after the last of them. Called inside a write
  /// transaction or a listener, it does not wait for the writer; a later call outside does. Called on a
  /// thread that runs tasks, it waits one second for an asynchronous transaction and then rolls it back.
  public func close() {
    // A forked process has neither the writer's thread nor a claim to the files.
    guard process.isHere else { return }
    // The writer waits for the body of an asynchronous transaction, and that body may be the caller.
    let waits = !TransactionToken.isOpen(ObjectIdentifier(self))
    threads.close()
    housekeeping.stop()
    writer.close(waits: waits)
    if waits { housekeeping.join() }
    forgetEnvironment()
  }

  /// Releases the files; they are closed once nobody reads them.
  func forgetEnvironment() {
    let closed = environment.withLock { environment in
      defer { environment = nil }
      return environment
    }
    withExtendedLifetime(closed) {}
  }

  /// Runs `body` on a snapshot of the store, on the caller's thread.
  ///
  /// The store cannot reuse the pages of an open snapshot, so a snapshot should be short. Once it is older
  /// than the options' deadline for readers and another transaction commits, the store logs the place of the
  /// call. From then on, reads from the snapshot throw `deadline`. Its pages are still kept until `body`
  /// returns.
  /// - Parameters:
  ///   - file: The caller's file, for the log.
  ///   - line: The caller's line, for the log.
  ///   - body: Is called with the snapshot.
  /// - Returns: What `body` returns.
  /// - Throws: `closed`, `forked`, `tooManyReaders`, `deadline` or `io`; what `body` throws.
  public func read<R>(
    file: StaticString = #fileID, line: UInt = #line, _ body: (borrowing ReadTransaction) throws -> R
  ) throws -> R {
    let environment = try openEnvironment("read")
    let place = SourcePlace(file: file, line: line)
    let transaction = try ReadTransaction(environment, at: place)
    return try body(transaction)
  }

  /// Calls `listener` with every commit that a snapshot taken after this call lacks.
  ///
  /// It may also be called with one or two commits before those.
  ///
  /// The calls happen on the thread that committed, in the order of commits. The commit is durable then, and
  /// its writers have not returned yet. The listener must be quick, and must not make a write that blocks.
  /// - Returns: The registration, which ends when it is released.
  public func onCommit(_ listener: @escaping @Sendable (Commit) -> Void) -> CommitListener {
    writer.listeners.add(listener)
  }

  /// Like ``onCommit(_:)``, for an observer that must be called before all other listeners.
  package func onCommitFirst(_ listener: @escaping @Sendable (Commit) -> Void) -> CommitListener {
    writer.listeners.add(ahead: true, listener)
  }

  /// Whether the store is only read: see ``StoreOptions/isReadOnly``.
  package var isReadOnly: Bool { options.isReadOnly }

  /// The approximate number of bytes that the pages of a working table may use.
  package var workingBytes: Int { options.workingBytes }

  /// Whether this store may have written with a clock reading.
  ///
  /// For the time before it was opened, the store cannot distinguish its own writes from readings that it had
  /// seen.
  package func mayHaveIssued(_ reading: ClockReading) -> Bool { issued.mayInclude(reading) }

  /// Above this many bytes, the store logs a warning for a document.
  public var softDocumentBytes: Int {
    get { limits.current.soft }
    set { limits.update { $0.soft = newValue } }
  }

  /// Above this many bytes, a document is not sent to a peer that has nothing of it.
  ///
  /// The limit applies to writes from now on.
  public var hardDocumentBytes: Int {
    get { limits.current.hard }
    set { limits.update { $0.hard = newValue } }
  }

  /// The number of queued transactions.
  package var waitingJobs: Int { writer.queue.withLock { $0.waiting.count } }

  /// Whether a transaction is running now.
  package var isWriting: Bool { writer.queue.withLock { $0.running != nil } }

  /// Lets reads from now on use another environment with the same contents.
  func replaceEnvironment(by fresh: Environment) {
    // A store that is being closed has already given up its environment.
    environment.withLock { if $0 != nil { $0 = fresh } }
  }

  func openEnvironment(_ operation: String) throws(StoreError) -> Environment {
    guard process.isHere else {
      throw StoreError(
        .forked, "The store belongs to the process that this one was forked from", operation: operation)
    }
    guard let environment = environment.withLock({ $0 }) else {
      throw StoreError(.closed, "The store is closed", operation: operation)
    }
    return environment
  }
}
