import CLMDB
import CRDTCore
import Platform

/// A store's directory and how its data file comes to be.
struct StoreFiles {
  let directory: String
  var data: String { directory + "/data.mdb" }
  /// The file that tells whether the data was copied or put back.
  var instance: String { directory + "/instance" }
  private var draft: String { directory + "/data.mdb.new" }
  /// What compaction writes, before it becomes the data file.
  var compacted: String { directory + "/data.mdb.compact" }

  /// Makes the directory, and those above it that are missing, for the owner alone; one that other users can write to
  /// is refused.
  init(making path: String) throws(StoreError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreError(.notFound, "The store's path is empty or contains a NUL", operation: "mkdir")
    }
    directory = path
    var made: [String] = []
    try Self.makeDirectory(path, &made)
    for path in made { try Self.sync(Self.parent(of: path)) }
    if made.isEmpty { try Self.checkOwners(path) }
  }

  /// Sees to it that nobody else can put other files in place of the store's.
  ///
  /// A group that is the user's own counts as the user.
  private static func checkOwners(_ path: String) throws(StoreError) {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe stat(path, &status) == 0 else { throw StoreError(engine: errno, "stat", path: path) }
    let (user, mode) = (geteuid(), status.st_mode)
    let isOthers = status.st_uid != user && status.st_uid != 0 && user != 0
    let isOpen = mode & S_IWOTH != 0 || mode & S_IWGRP != 0 && status.st_gid != getegid()
    guard isOthers || isOpen else { return }
    let what = isOthers ? "it belongs to one of them" : "take that right away, with chmod go-w"
    throw StoreError(
      .permission, "Other users can write to the store's directory \(path): \(what)", operation: "open")
  }

  /// The files of a store that is there.
  init(existing path: String) { directory = path }

  private static func makeDirectory(_ path: String, _ made: inout [String]) throws(StoreError) {
    if unsafe mkdir(path, 0o700) == 0 {
      made.append(path)
      return
    }
    switch errno {
    case EEXIST:
      guard isDirectory(path) else { throw StoreError(engine: ENOTDIR, "mkdir", path: path) }
    case ENOENT:
      let parent = parent(of: path)
      guard !parent.isSame(as: path) else { throw StoreError(engine: ENOENT, "mkdir", path: path) }
      try makeDirectory(parent, &made)
      guard unsafe mkdir(path, 0o700) == 0 else { throw StoreError(engine: errno, "mkdir", path: path) }
      made.append(path)
    case let rc: throw StoreError(engine: rc, "mkdir", path: path)
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// The directory that holds `path`'s last component.
  static func parent(of path: String) -> String {
    var path = path[...]
    while path.count > 1, path.last == "/" { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes the data file unless it is there: whole or not at all, also when power fails meanwhile.
  ///
  /// The engine's own creation is not safe against that, so it works under another name.
  /// - Parameters:
  ///   - fill: Writes the first contents.
  ///   - prepare: Called when they are durable under the draft's name, before the data file is there.
  ///   - options: Hears of the steps.
  /// - Throws: `corrupt` when there is an empty file; what the system reports.
  func createIfMissing(
    fill: (PageAccess, Tables) throws(StoreError) -> Void,
    prepare: (FileMark) throws(StoreError) -> Void, options: StoreOptions
  ) throws(StoreError) {
    var status = stat()
    // SAFETY: the call fills the local structure.
    if unsafe lstat(data, &status) == 0 {
      guard status.st_size > 0 else {
        throw StoreError(.corrupt, "The store's file is empty", operation: "open")
      }
      // A creation may have been cut short after the renaming, too.
      return removeDraft()
    }
    guard errno == ENOENT else { throw StoreError(engine: errno, "lstat", path: data) }
    removeDraft()
    do throws(StoreError) {
      try writeDraft(fill)
      try Self.sync(draft)
      try options.reach(.creationFilled)
      try prepare(try FileMark(path: draft))
      try options.reach(.creationMarked)
      guard unsafe rename(draft, data) == 0 else { throw StoreError(engine: errno, "rename", path: data) }
    } catch {
      removeDraft()
      throw error
    }
    try options.reach(.creationRenamed)
    removeDraft()
    try syncDirectory()
  }

  /// The length of a file; 0 when there is none.
  static func byteCount(of path: String) -> Int {
    var status = stat()
    // SAFETY: the call fills the local structure.
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Makes names in the directory durable.
  func syncDirectory() throws(StoreError) { try Self.sync(directory) }

  /// Removes what interrupted work on the data file left behind.
  func removeLeftovers() {
    for name in [compacted, compacted + "-lock", instance + ".new"] { _ = unsafe unlink(name) }
  }

  private func writeDraft(_ fill: (PageAccess, Tables) throws(StoreError) -> Void) throws(StoreError) {
    let engine = try unsafe Environment.openEngine(draft, mapBytes: 1 << 20)
    defer { unsafe mdb_env_close(engine.handle) }
    let transaction = try unsafe LMDBTransaction(draft: engine.handle)
    try fill(transaction.access, try Tables(transaction.access, create: true))
    try transaction.commit()
  }

  /// Removes what an interrupted creation left behind.
  private func removeDraft() {
    _ = unsafe unlink(draft)
    _ = unsafe unlink(draft + "-lock")
  }

  /// Opens the data file for reading, beside the engine.
  ///
  /// - Returns: A descriptor, which ``close(_:)`` is for.
  func openData() throws(StoreError) -> Int32 {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: data) }
    return descriptor
  }

  static func close(_ descriptor: Int32) { Platform.close(descriptor) }

  /// Gives a file that lost its end zeros there, so that reading them is an error and not a signal.
  static func pad(_ path: String, toPages pages: Int) throws(StoreError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw StoreError(engine: errno, "stat", path: path) }
    let byteCount = pages * Environment.pageBytes
    guard status.st_size < byteCount else { return }
    guard unsafe truncate(path, off_t(byteCount)) == 0 else {
      throw StoreError(engine: errno, "truncate", path: path)
    }
  }

  /// Makes a file, or the names in a directory, durable.
  static func sync(_ path: String) throws(StoreError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StoreError(engine: errno, "fsync", path: path) }
  }
}
