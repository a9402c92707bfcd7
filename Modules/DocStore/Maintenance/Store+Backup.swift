#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension Store {
  /// Copies the store into a new directory, as one consistent state, while reads and writes go on.
  ///
  /// The backup is a store: it can be opened where it is, and is a site of its own from then on. It is there
  /// whole or not at all, also when power fails meanwhile. It has no free pages.
  /// - Parameters:
  ///   - path: A directory that does not exist, or is empty; its parent must exist.
  ///   - progress: Hears of entries now and then; what it throws ends the work, and there is no backup.
  /// - Throws: `exists` when there is anything at the path; `alreadyOpen` while another backup writes there;
  ///   `full`, `permission`, `io`, `closed`; what `progress` throws.
  public func backup(
    to path: String, progress: @escaping (MaintenanceProgress) throws -> Void = { _ in }
  ) throws {
    let environment = try openEnvironment("backup")
    let target = try BackupTarget(path)
    do {
      let reader = try environment.beginRead(isExempt: true)
      defer { environment.recycle(reader) }
      var identity = try StoreIdentity(reader.access, environment.tables)
      identity.nonce = StoreIdentity.noNonce
      try StoreCopy(source: reader.access, tables: environment.tables).write(
        to: target.data, mapBytes: environment.mapBytes, identity: identity, progress)
      try options.reach(.backupCopied)
      try target.complete(options)
    } catch {
      target.discard()
      throw error
    }
  }
}

/// The directory of a backup while it is being made: it has another name until it is whole.
private struct BackupTarget {
  let path: String
  private let draft: String
  private let lock: StoreLock

  var data: String { draft + "/data.mdb" }

  init(_ given: String) throws(StoreError) {
    var path = given
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreError(.notFound, "The backup's path is empty or contains a NUL", operation: "backup")
    }
    guard Self.isFree(path) else {
      throw StoreError(.exists, "There is something at the path already", operation: "backup")
    }
    self.path = path
    draft = path + ".partial"
    guard unsafe mkdir(draft, 0o700) == 0 || errno == EEXIST else { throw StoreError(engine: errno, "mkdir") }
    // What an interrupted backup left is written anew; one that is under way has the lock.
    lock = try StoreLock(directory: draft)
  }

  /// Whether nothing is there, or an empty directory.
  private static func isFree(_ path: String) -> Bool {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe lstat(path, &status) == 0 else { return errno == ENOENT }
    guard status.st_mode & S_IFMT == S_IFDIR, let directory = unsafe opendir(path) else { return false }
    defer { unsafe closedir(directory) }
    var count = 0
    // Every directory lists itself and its parent.
    while unsafe readdir(directory) != nil, count < 3 { count += 1 }
    return count < 3
  }

  /// Gives the directory its name, which fails where something is there by now.
  func complete(_ options: StoreOptions) throws(StoreError) {
    try StoreFiles.sync(draft)
    try options.reach(.backupSynced)
    guard unsafe rename(draft, path) == 0 else { throw StoreError(engine: errno, "rename") }
    try options.reach(.backupRenamed)
    try StoreFiles.sync(StoreFiles.parent(of: path))
  }

  func discard() {
    StoreCopy.remove(data)
    _ = unsafe unlink(draft + "/lock")
    _ = unsafe rmdir(draft)
  }
}
