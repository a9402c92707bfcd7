import Platform

/// The directory of a new store during its creation: it has another name until it is complete.
struct DirectoryDraft {
  let path: String
  /// The directory's path during its creation.
  let draft: String
  /// The names of small files of a higher layer that are copied along.
  private let carried: [String]

  let files: StoreFiles

  /// Creates the draft's directory, unless an interrupted attempt has left it.
  ///
  /// - Parameters:
  ///   - given: The final path of the directory.
  ///   - replacing: Whether it may replace another directory.
  ///   - carried: The names of small files to copy from the old directory, if they exist there.
  ///   - operation: The operation's name for errors.
  /// - Throws: `exists` if there is anything at the path; `notFound`, `permission`, `io`.
  init(
    of given: String, replacing: Bool = false, carrying carried: [String], operation: String
  ) throws(StoreError) {
    self.carried = carried
    var path = given
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") {
      path = String(path.utf8.dropLast()) ?? ""
    }
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreError(.notFound, "The new store's path is empty or contains a NUL", operation: operation)
    }
    guard replacing || Self.isFree(path) else {
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
    files = StoreFiles(in: try HeldDirectory(draft))
  }

  /// Whether the path is free or an empty directory.
  static func isFree(_ path: String) -> Bool {
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

  /// The largest size of a copied file.
  private static let carriedBytes = 1 << 20

  /// Copies the files of a higher layer from a directory.
  ///
  /// - Throws: `permission` for a file that others can read; `limit` for a file above 1 MiB; `full`, `io`.
  func carry(from directory: HeldDirectory) throws(StoreError) { try carry(carried, from: directory) }

  /// Copies files with other names from a directory.
  func carry(_ names: [String], from directory: HeldDirectory) throws(StoreError) {
    for name in names {
      guard let bytes = try Self.carriedBytes(name, in: directory) else { continue }
      try SecretFile(name, in: files.held).replace(by: bytes)
    }
  }

  /// The contents of a small file that is copied along; `nil` if there is none.
  ///
  /// - Throws: `permission` if others can read it; `limit` if it has more than 1 MiB; `io`.
  static func carriedBytes(_ name: String, in directory: HeldDirectory) throws(StoreError) -> [UInt8]? {
    guard let bytes = try SecretFile(name, in: directory).read(atMost: carriedBytes) else { return nil }
    guard bytes.count <= carriedBytes else {
      throw StoreError(
        .limit, "\(directory.name)/\(name) has more than \(carriedBytes) bytes", operation: "copy")
    }
    return bytes
  }

  /// Renames the draft to its final path; fails if something is there now.
  ///
  /// - Parameters:
  ///   - options: For failpoints.
  ///   - former: The new name of the directory that it replaces.
  /// - Throws: `exists`, `io`; what a failpoint throws.
  func complete(_ options: StoreOptions, keepingFormerAt former: String? = nil) throws(StoreError) {
    try StoreFiles.sync(draft)
    try options.reach(.backupSynced)
    if let former, unsafe rename(path, former) != 0 {
      throw StoreError(engine: errno, "rename", path: path)
    }
    guard unsafe rename(draft, path) == 0 else {
      let rc = errno
      if let former { _ = unsafe rename(former, path) }
      throw StoreError(engine: rc, "rename", path: path)
    }
    try options.reach(.backupRenamed)
    try StoreFiles.sync(StoreFiles.parent(of: path))
  }

  /// Removes a store's files from the draft, whichever attempt wrote them.
  func clear() {
    StoreCopy.remove(files.data)
    _ = unsafe unlink(files.instance)
    for name in carried { _ = unsafe unlink(draft + "/" + name) }
    files.removeLeftovers()
  }

  /// Removes the draft, and files with other names that were copied into it.
  func discard(_ others: [String] = []) {
    clear()
    for name in others { _ = unsafe unlink(draft + "/" + name) }
    _ = unsafe unlink(draft + "/lock")
    _ = unsafe rmdir(draft)
  }
}
