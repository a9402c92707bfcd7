#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The directory of a new store while that is being made: it has another name until it is whole.
struct DirectoryDraft {
  let path: String
  /// Where it is made.
  let draft: String

  var files: StoreFiles { StoreFiles(existing: draft) }

  /// Makes the draft's directory, which an interrupted attempt may have left.
  ///
  /// - Throws: `exists` when there is anything at the path; `notFound`, `permission`, `io`.
  init(of given: String, operation: String) throws(StoreError) {
    var path = given
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") {
      path = String(path.utf8.dropLast()) ?? ""
    }
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreError(.notFound, "The new store's path is empty or contains a NUL", operation: operation)
    }
    guard Self.isFree(path) else {
      throw StoreError(.exists, "There is something at the path already: \(path)", operation: operation)
    }
    self.path = path
    draft = path + ".partial"
    guard unsafe mkdir(draft, 0o700) == 0 || errno == EEXIST else {
      throw errno == ENOENT
        ? StoreError(
          .notFound, "There is no directory to make it in: \(StoreFiles.parent(of: path))",
          operation: operation)
        : StoreError(engine: errno, "mkdir", path: path)
    }
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
    guard unsafe rename(draft, path) == 0 else { throw StoreError(engine: errno, "rename", path: path) }
    try options.reach(.backupRenamed)
    try StoreFiles.sync(StoreFiles.parent(of: path))
  }

  /// Removes a store's files from the draft, whoever wrote them.
  func clear() {
    StoreCopy.remove(files.data)
    _ = unsafe unlink(files.instance)
    files.removeLeftovers()
  }

  func discard() {
    clear()
    _ = unsafe unlink(draft + "/lock")
    _ = unsafe rmdir(draft)
  }
}
