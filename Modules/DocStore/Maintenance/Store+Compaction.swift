import Platform

extension Store {
  /// Rewrites the data file without its free pages, and returns their space to the file system.
  ///
  /// Reads continue. Those that began before use the old file, whose space is free after the last of them.
  /// Writes wait. The disk needs space for both files. After a crash at any moment either the old file or the
  /// new one is there, with the same contents.
  /// - Parameters:
  ///   - mapBytes: The size that documents may fill from now on; by default it does not change.
  ///   - progress: Called on the writer's thread with the entries done. If it throws, the work ends and
  ///     nothing changes.
  /// - Throws: `nestedWriteTransaction`, `closed`, `poisoned`, `full`, `io`; what `progress` throws.
  public func compact(
    mapBytes: Int? = nil, progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws {
    try maintain { writer, environment in
      try self.compact(writer, environment, mapBytes ?? environment.askedBytes, progress)
    }
  }

  /// Changes the size that documents may fill, without rewriting the file.
  ///
  /// The engine cannot move a map that is being read, so new reads wait until the current ones have ended.
  /// - Parameter mapBytes: The new size, larger than what is in use.
  /// - Throws: `deadline` if reads do not end within the options' deadline, and then nothing changes; `limit`
  ///   if more is in use; `noMemory` if the process cannot reserve that much; `argument` if the size is not
  ///   positive; `nestedWriteTransaction`, `closed`, `poisoned`, `io`.
  public func resize(mapBytes: Int) throws {
    try maintain { writer, environment in
      do throws(StoreError) {
        try environment.resize(to: mapBytes, deadline: self.options.gateDeadline)
      } catch {
        writer.poison(ifLost: environment)
        throw error
      }
      try self.options.reach(.mapEmptied)
      writer.adoptSize()
    }
  }

  /// Runs `body` on the writer thread, between transactions, and waits for it.
  func maintain(_ body: @escaping (Writer, Environment) throws -> Void) throws {
    try checkMayWrite()
    let latch = Latch<Job.Outcome>()
    _ = try writer.carryOut(maintenance(body) { latch.set($0) }, latch, awaitedForm: nil)
  }

  /// The asynchronous form of `maintain(_:)`.
  func maintain(_ body: @escaping @Sendable (Writer, Environment) throws -> Void) async throws {
    try checkMayWrite()
    let outcome = Mailbox.Outcome()
    writer.submit(maintenance(body) { outcome.set($0) })
    _ = try await outcome.value()
  }

  private func maintenance(
    _ body: @escaping (Writer, Environment) throws -> Void, _ completion: @escaping (Job.Outcome) -> Void
  ) -> Job {
    let run = { (writer: Writer) in
      guard let environment = writer.environment else {
        throw StoreError(.closed, "The store is closed", operation: "maintain")
      }
      try body(writer, environment)
    }
    return Job(maintenance: run, options, completion: completion)
  }

  private func compact(
    _ writer: Writer, _ environment: Environment, _ mapBytes: Int,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws {
    let files = StoreFiles(in: directory)
    var isRenamed = false
    do {
      let reader = try environment.beginRead(isExempt: true)
      do {
        defer { environment.recycle(reader) }
        try StoreCopy(source: reader.access, tables: environment.tables).write(
          to: files.compacted, mapBytes: mapBytes, progress)
      }
      try options.reach(.compactionCopied)
      // Opened before it replaces the old file, so that no step after the exchange can fail to open it.
      let fresh = try Environment(
        files.compacted, mapBytes: mapBytes, lock: environment.lock, options: options,
        damagedIndexes: environment.damagedIndexes)
      try options.reach(.compactionOpened)
      let mark = try FileMark(fresh.dataDescriptor())
      try writer.keeper.expect(mark)
      try options.reach(.compactionMarked)
      try files.exchangeData(try environment.dataDescriptor())
      isRenamed = true
      _ = unsafe rename(files.compacted + "-lock", files.data + "-lock")
      writer.adopt(fresh)
      replaceEnvironment(by: fresh)
      fresh.damagedIndexes.forget()
      try options.reach(.compactionRenamed)
      try files.syncDirectory()
      try options.reach(.compactionSynced)
      writer.keeper.settle(on: mark)
    } catch {
      if isRenamed, let error = error as? StoreError {
        // A crash may bring the old file back, which would lack all later writes.
        writer.poison(by: error)
      } else if !isRenamed {
        StoreCopy.remove(files.compacted)
      }
      throw error
    }
  }
}
