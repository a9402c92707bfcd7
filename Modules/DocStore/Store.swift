package import CRDTCore

/// A store of documents in collections, in one directory, used by one process at a time.
///
/// Reads run on the caller's thread against a snapshot and never wait. Writes run one at a time on the
/// store's own thread; those that wait share one sync of the disk.
public final class Store: Sendable {
  /// The directory.
  public let path: String
  /// The directory, held open for as long as this object exists.
  package let directory: HeldDirectory
  /// Tells this opening of the store from all others, also from those of its copies.
  package let incarnation: UInt64
  let options: StoreOptions
  let writer: Writer
  let limits: SizeLimits
  private let issued: IssuedReadings
  let housekeeping: Housekeeping
  private let environment: Monitor<Environment?>
  let process = ProcessMark()
  let threads = ReusedThreads()

  /// Opens the store in the directory at `path`, which is made if need be.
  ///
  /// - Parameters:
  ///   - path: A directory of the store's own; what is made is readable by its owner alone.
  ///   - options: Limits, clock, random source and log.
  /// - Returns: The open store.
  /// - Throws: `argument` for a `mapBytes` that is no size; `alreadyOpen` at once when anybody has the store open;
  ///   `noMemory`, `tooManyFiles`; `unsupportedVersion`, `corrupt`,
  ///   `permission`, `full` or `io`.
  public static func open(at path: String, options: StoreOptions = .init()) throws(StoreError) -> Store {
    try options.check()
    return try open(in: HeldDirectory(making: path), options: options)
  }

  /// Opens the store in a directory that is held.
  ///
  /// - Throws: What ``open(at:options:)`` throws.
  package static func open(in directory: HeldDirectory, options: StoreOptions) throws(StoreError) -> Store {
    try options.check()
    let files = StoreFiles(in: directory)
    let lock = try StoreLock(directory)
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
    // Of a store that has just been made there is no copy.
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

  /// Lets queued transactions finish, then closes the files; a second call does nothing.
  ///
  /// Reads that are under way end undisturbed, and the files are closed after the last of them. Called
  /// inside a write transaction or a listener, it does not wait for the writer; a later call outside does. Called on
  /// a thread that tasks run on, it gives an asynchronous transaction a second and then rolls it back.
  public func close() {
    // A fork has neither the writer's thread nor a claim to the files.
    guard process.isHere else { return }
    // The writer waits for the body of an asynchronous transaction, which is where this may be called.
    let waits = !TransactionToken.isOpen(ObjectIdentifier(self))
    threads.close()
    housekeeping.stop()
    writer.close(waits: waits)
    if waits { housekeeping.join() }
    forgetEnvironment()
  }

  /// Lets go of the files as soon as nobody reads them.
  func forgetEnvironment() {
    let closed = environment.withLock { environment in
      defer { environment = nil }
      return environment
    }
    withExtendedLifetime(closed) {}
  }

  /// Runs `body` on a snapshot of the store, on the caller's thread.
  ///
  /// A snapshot keeps its pages from being used again, so it should be short: once it is older than the
  /// options' deadline for readers and somebody commits, that is logged, with the place of the call, and what
  /// is asked of it from then on throws `deadline`. Its pages are kept until `body` returns all the same.
  /// - Parameters:
  ///   - file: Names the caller in the log.
  ///   - line: Names the caller in the log.
  ///   - body: Gets the snapshot.
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

  /// Calls `listener` with every commit that a snapshot taken after this call lacks, and maybe the one
  /// or two before.
  ///
  /// It is called on the thread that has committed, in the order of commits, once they are durable and before their
  /// writers return; it must be quick, and cannot write by waiting.
  /// - Returns: The registration, which ends when it is let go of.
  public func onCommit(_ listener: @escaping @Sendable (Commit) -> Void) -> CommitListener {
    writer.listeners.add(listener)
  }

  /// Does what ``onCommit(_:)`` does for one who calls it before all others: for somebody who looks on.
  package func onCommitFirst(_ listener: @escaping @Sendable (Commit) -> Void) -> CommitListener {
    writer.listeners.add(ahead: true, listener)
  }

  /// Bytes that the pages of a working table may take, about.
  package var workingBytes: Int { options.workingBytes }

  /// Whether this store may have written with a clock reading; what it wrote before it was opened is not told apart from
  /// all that it had met by then.
  package func mayHaveIssued(_ reading: ClockReading) -> Bool { issued.mayInclude(reading) }

  /// Above this many bytes a document draws a warning.
  public var softDocumentBytes: Int {
    get { limits.current.soft }
    set { limits.update { $0.soft = newValue } }
  }

  /// Above this many bytes a document is kept locally and never sent; counts for writes from now on.
  public var hardDocumentBytes: Int {
    get { limits.current.hard }
    set { limits.update { $0.hard = newValue } }
  }

  /// Transactions that wait for their turn.
  package var waitingJobs: Int { writer.queue.withLock { $0.waiting.count } }

  /// Whether a transaction runs now.
  package var isWriting: Bool { writer.queue.withLock { $0.running != nil } }

  /// Lets reads from now on use another environment with the same contents.
  func replaceEnvironment(by fresh: Environment) {
    // A store that is being closed has given its environment up already.
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
