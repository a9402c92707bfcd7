import CLMDB
import CRDTCore
import Platform

/// The files in a store's directory, and the creation of the data file.
struct StoreFiles {
  let held: HeldDirectory
  /// The directory's present path.
  var directory: String { held.path }
  private static let dataName = "data.mdb"
  private static let compactedName = "data.mdb.compact"
  var data: String { directory + "/" + Self.dataName }
  /// The file that shows whether the data was copied or put back.
  var instance: String { directory + "/instance" }
  private var draft: String { directory + "/data.mdb.new" }
  /// The file that compaction writes before it becomes the data file.
  var compacted: String { directory + "/" + Self.compactedName }

  init(in held: HeldDirectory) { self.held = held }

  /// The directory that contains `path`'s last component.
  static func parent(of path: String) -> String {
    var path = path[...]
    while path.count > 1, path.last == "/" { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Whether there is a data file.
  ///
  /// - Throws: `corrupt` if it is empty; what the system reports.
  private func hasData() throws(StoreError) -> Bool {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe lstat(data, &status) == 0 else {
      guard errno == ENOENT else { throw StoreError(engine: errno, "lstat", path: data) }
      return false
    }
    guard status.st_size > 0 else {
      throw StoreError(.corrupt, "The store's file is empty", operation: "open")
    }
    return true
  }

  /// Makes sure that there is a data file, for a store that is only read.
  ///
  /// - Throws: `notFound`; `corrupt` if it is empty; what the system reports.
  func checkData() throws(StoreError) {
    guard try hasData() else { throw StoreError(engine: ENOENT, "lstat", path: data) }
  }

  /// Creates the data file if it is missing: completely or not at all, even if power fails meanwhile.
  ///
  /// The engine's own creation does not ensure that, so it works under another name.
  /// - Parameters:
  ///   - fill: Writes the first contents.
  ///   - prepare: Called when they are durable under the draft's name, before the data file exists.
  ///   - options: Its fault handler is called at each step.
  /// - Returns: Whether it was created.
  /// - Throws: `corrupt` if there is an empty file; what the system reports.
  func createIfMissing(
    fill: (PageAccess, Tables) throws(StoreError) -> Void,
    prepare: (FileMark) throws(StoreError) -> Void, options: StoreOptions
  ) throws(StoreError) -> Bool {
    if try hasData() {
      // An earlier creation may have been interrupted after the renaming.
      removeDraft()
      return false
    }
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
    return true
  }

  /// The length of a file; 0 if there is none.
  static func byteCount(of path: String) -> Int {
    var status = stat()
    // SAFETY: the call fills the local structure.
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Makes the names in the directory durable.
  func syncDirectory() throws(StoreError) { try held.sync() }

  /// Checks that an open data file is still the one in the directory, not removed or replaced.
  ///
  /// - Throws: `poisoned`.
  /// - Complexity: two system calls, which read nothing from the disk.
  func checkData(_ descriptor: Int32) throws(StoreError) {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { throw StoreError(engine: errno, "fstat", path: data) }
    guard status.st_nlink > 0, held.identity(of: Self.dataName) == FileIdentity(status) else {
      throw Self.notTheData
    }
  }

  private static var notTheData: StoreError {
    StoreError(
      .poisoned,
      "The store's file was removed or replaced while it was open, and what is written now would be lost with it: "
        + "reads and backups go on until the store is closed", operation: "fstat")
  }

  /// Replaces the data file, open as `descriptor`, by the file that compaction wrote.
  ///
  /// - Throws: `poisoned` if the directory has another data file, which stays; what the system reports.
  func exchangeData(_ descriptor: Int32) throws(StoreError) {
    try checkData(descriptor)
    switch unsafe dunlin_exchange(held.descriptor, Self.compactedName, Self.dataName) {
    case 0:
      // If another process replaced the file in between, its file is put back.
      guard held.identity(of: Self.compactedName) == (try FileIdentity(descriptor)) else {
        _ = unsafe dunlin_exchange(held.descriptor, Self.compactedName, Self.dataName)
        throw Self.notTheData
      }
      _ = unsafe unlink(compacted)
    case EINVAL, ENOSYS, ENOTSUP:
      guard unsafe rename(compacted, data) == 0 else { throw StoreError(engine: errno, "rename", path: data) }
    case let rc: throw StoreError(engine: rc, "renameat2", path: data)
    }
  }

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
  /// - Returns: A descriptor; close it with ``close(_:)``.
  func openData() throws(StoreError) -> Int32 {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: data) }
    return descriptor
  }

  static func close(_ descriptor: Int32) { Platform.close(descriptor) }

  /// Extends a truncated file with zeros, so that reading its end causes an error and not a signal.
  static func pad(_ path: String, toPages pages: Int, of pageBytes: Int) throws(StoreError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw StoreError(engine: errno, "stat", path: path) }
    let byteCount = pages * pageBytes
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
