import Platform

extension Store {
  /// Writes the data file anew without its free pages, and gives them back to the file system.
  ///
  /// Reads go on: those that began before end on the old file, whose room is free after the last of them.
  /// Writes wait. The disk needs room for both files. After a crash at any moment there is the old file or
  /// the new one, with the same contents.
  /// - Parameters:
  ///   - mapBytes: The size that documents may fill from now on; by default it stays what it is.
  ///   - progress: Hears of entries, on the writer's thread; what it throws ends the work, and all is as before.
  /// - Throws: `nestedWriteTransaction`, `closed`, `poisoned`, `full`, `io`; what `progress` throws.
  public func compact(
    mapBytes: Int? = nil, progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws {
    try maintain { writer, environment in
      try self.compact(writer, environment, mapBytes ?? environment.askedBytes, progress)
    }
  }

  /// Changes the size that documents may fill, without another file.
  ///
  /// The engine cannot move a map that somebody reads, so new reads wait until those under way have ended.
  /// - Parameter mapBytes: The new size, above what is in use.
  /// - Throws: `deadline` when reads do not end within the options' deadline; then all is as before. `limit`
  ///   when more is in use; `noMemory` when the process cannot have so much; `argument` for a size that is none; `nestedWriteTransaction`, `closed`, `poisoned`, `io`.
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

  /// As the form that blocks.
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
      // Open before it takes the old one's place, so that nothing is left then that could fail.
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
        // A crash may bring the old file back, which would lack what is written from now on.
        writer.poison(by: error)
      } else if !isRenamed {
        StoreCopy.remove(files.compacted)
      }
      throw error
    }
  }
}
