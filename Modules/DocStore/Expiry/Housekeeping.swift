/// What a store does of its own accord, on a thread that mostly sleeps.
///
/// It goes on with indexes that were left half made or half removed, and forgets what has had its time. It
/// writes in slices through the writer's queue, as everybody does, and only when there is something to do.
final class Housekeeping: Sendable {
  private struct State {
    var isStopping = false
    var hasEnded = true
    var thread: StoreThread?
    /// Where the walk through the certificates goes on.
    var certificates: [UInt8] = []
  }

  private let writer: Writer
  private let environment: Monitor<Environment?>
  private let slice: WriterSlice
  private let options: StoreOptions
  private let state = Monitor(State())
  let lifetimes: Monitor<Lifetimes>

  /// Slices in which certificates are looked through at a time; the rest waits for the next time.
  private static let certificateSlices = 10

  init(_ writer: Writer, _ environment: Monitor<Environment?>, _ options: StoreOptions) {
    self.writer = writer
    self.environment = environment
    self.options = options
    slice = WriterSlice(options.writerSlice)
    lifetimes = Monitor(
      Lifetimes(tombstone: options.tombstoneLifetime, certificate: options.certificateLifetime))
  }

  // MARK: - The thread

  /// Begins with what the store as it was opened has unfinished.
  func start(unfinished state: StoreState) throws(StoreError) {
    let indexes = state.collections.flatMap(\.indexes).filter { $0.phase != .ready }
    guard !indexes.isEmpty || options.collectionInterval != nil else { return }
    self.state.withLock { $0.hasEnded = false }
    do throws(StoreError) {
      let thread = try StoreThread {
        self.run(indexes)
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

  private func run(_ indexes: [IndexState]) {
    for index in indexes {
      attempt("The index \(index.definition.name) could not be finished") { try finish(index) }
    }
    guard let interval = options.collectionInterval else { return }
    // A phase of its own, so that the peers of a network do not all forget, and tell, at one time.
    var pause = interval * Double.random(in: 0..<1)
    while state.wait(for: pause, until: { $0.isStopping ? true : nil }) == nil {
      attempt("What is old could not be forgotten") { try collect(now: options.now()) }
      pause = interval
    }
  }

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
    while try !write({ [slice] in try $0.removeRows(ofIndex: index.number, until: slice.end()) }) {}
  }

  // MARK: - Forgetting

  /// Forgets what is older than its lifetime at `now`.
  func collect(now: UInt64) throws {
    let lifetimes = lifetimes.withLock { $0 }
    let slice = slice
    while try isAnyDue(now, lifetimes),
      try write({ try $0.collectExpired(now: now, lifetimes, until: slice.end()) })
    {}
    guard let lifetime = lifetimes.certificate, try hasCertificates() else { return }
    let horizon = Lifetimes.horizon(now, lifetime)
    for _ in 0..<Self.certificateSlices {
      let start = state.withLock { $0.certificates }
      let next = try write {
        try $0.collectCertificates(from: start, now: now, horizon: horizon, until: slice.end())
      }
      state.withLock { $0.certificates = next ?? [] }
      if next == nil { return }
    }
  }

  /// Looks before the writer is bothered.
  private func isAnyDue(_ now: UInt64, _ lifetimes: Lifetimes) throws -> Bool {
    let horizon = Lifetimes.horizon(now, lifetimes.tombstone)
    return try read { access, tables in
      let table = ExpiryTable(access: access, table: tables.expiry)
      if try !table.due(before: horizon, now: now, limit: 1).isEmpty { return true }
      var isDue = false
      try access.scan(tables.groups, from: [UInt8]().rawBytes) { key, stored in
        let value = try SmallRecord.open(stored, at: key, table: "groups")
        let group = try GroupRecord(value.rawBytes)
        isDue = group.time < horizon || group.time > now
        return false
      }
      return isDue
    }
  }

  private func hasCertificates() throws -> Bool {
    try read { access, tables in try access.entryCount(tables.certificates) > 0 }
  }

  private func read<R>(_ body: (PageAccess, Tables) throws -> R) throws -> R {
    guard let environment = environment.withLock({ $0 }) else { throw Self.closed }
    let reader = try environment.beginRead()
    defer { environment.recycle(reader) }
    return try body(reader.access, environment.tables)
  }

  /// Runs `body` as the only writer and waits for its commit.
  private func write<R: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> R) throws -> R {
    if state.withLock({ $0.isStopping }) { throw Self.closed }
    let result = Monitor<R?>(nil)
    let latch = Latch<Job.Outcome>()
    let job = Job(.user, firstWarning: options.waitWarning) { transaction in
      let value = try body(transaction)
      result.withLock { $0 = value }
    } completion: {
      latch.set($0)
    }
    writer.enqueue(job)
    _ = try latch.wait().get()
    guard let value = result.withLock({ $0 }) else { throw Self.closed }
    return value
  }

  private static var closed: StoreError {
    StoreError(.closed, "The store is closing", operation: "write")
  }
}
