extension Store {
  /// Copies the store into a new directory, as one consistent state, while reads and writes go on.
  ///
  /// The backup is a store: it can be opened where it is, and is a site of its own from then on. It is there
  /// whole or not at all, also when power fails meanwhile. It has no free pages.
  /// - Parameters:
  ///   - path: A directory that does not exist, or is empty; its parent must exist.
  ///   - carried: The names of small files of the store's directory that go along, where they exist: at most 1 MiB each, and
  ///     readable by their owner alone.
  ///   - progress: Hears of entries now and then; what it throws ends the work, and there is no backup.
  /// - Throws: `exists` when there is anything at the path; `alreadyOpen` while another backup writes there;
  ///   `full`, `permission`, `io`, `closed`; what `progress` throws.
  public func backup(
    to path: String, carrying carried: [String] = [],
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws {
    let environment = try openEnvironment("backup")
    let target = try DirectoryDraft(of: path, carrying: carried, operation: "backup")
    // What an interrupted backup left is written anew; one that is under way has the lock.
    let lock = try StoreLock(target.files.held)
    defer { withExtendedLifetime(lock) {} }
    do {
      try Self.copy(environment, to: target, progress)
      try target.carry(from: directory)
      try options.reach(.backupCopied)
      try target.complete(options)
    } catch {
      target.discard()
      throw error
    }
  }
  /// Writes what an environment holds now as the data of a store of its own.
  static func copy(
    _ environment: Environment, to draft: DirectoryDraft,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws {
    let reader = try environment.beginRead(isExempt: true)
    defer { environment.recycle(reader) }
    var identity = try StoreIdentity(reader.access, environment.tables)
    identity.nonce = StoreIdentity.noNonce
    try StoreCopy(source: reader.access, tables: environment.tables).write(
      to: draft.files.data, mapBytes: environment.mapBytes, identity: identity, progress)
  }
}
