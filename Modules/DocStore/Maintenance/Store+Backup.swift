extension Store {
  /// Copies the store into a new directory, as one consistent state, while reads and writes continue.
  ///
  /// The backup is a store. It can be opened in its directory, and is a new site from then on. It is there
  /// completely or not at all, even if power fails meanwhile. It has no free pages.
  /// - Parameters:
  ///   - path: A directory that does not exist, or is empty; its parent must exist.
  ///   - carried: The names of small files in the store's directory to copy along, if they exist. Each may
  ///     have at most 1 MiB, and must be readable by its owner alone.
  ///   - progress: Called at intervals with the entries done. If it throws, the work ends and there is no
  ///     backup.
  /// - Throws: `exists` if there is anything at the path; `alreadyOpen` while another backup writes there;
  ///   `full`, `permission`, `io`, `closed`; what `progress` throws.
  public func backup(
    to path: String, carrying carried: [String] = [],
    progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws {
    let environment = try openEnvironment("backup")
    let target = try DirectoryDraft(of: path, carrying: carried, operation: "backup")
    // The files of an interrupted backup are overwritten; a running backup has the lock.
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
  /// Writes the present state of an environment as the data of a new store.
  static func copy(
    _ environment: Environment, to draft: DirectoryDraft,
    _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws {
    let reader = try environment.beginRead(isExempt: true)
    defer { environment.recycle(reader) }
    var identity = try StoreIdentity(reader.access, environment.tables)
    identity.nonce = StoreIdentity.noNonce
    // The map of a store that is only read is as large as its file, and the copy may have larger pages.
    let mapBytes = environment.lock.isReadOnly ? StoreOptions().mapBytes : environment.mapBytes
    try StoreCopy(source: reader.access, tables: environment.tables).write(
      to: draft.files.data, mapBytes: mapBytes, identity: identity, progress)
  }
}
