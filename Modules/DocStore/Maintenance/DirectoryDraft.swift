import Platform

/// The directory of a new store while that is being made: it has another name until it is whole.
struct DirectoryDraft {
  let path: String
  /// Where it is made.
  let draft: String
  /// Small files of a layer above that go along.
  private let carried: [String]

  let files: StoreFiles

  /// Makes the draft's directory, which an interrupted attempt may have left.
  ///
  /// - Parameters:
  ///   - given: The path that the directory gets.
  ///   - replacing: Whether it may take the place of another one.
  ///   - carried: The names of small files that go along from the old directory, where it has them.
  ///   - operation: For errors.
  /// - Throws: `exists` when there is anything at the path; `notFound`, `permission`, `io`.
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

  /// Whether nothing is there, or an empty directory.
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

  /// The most bytes of a file that goes along.
  private static let carriedBytes = 1 << 20

  /// Takes files of a layer above along.
  ///
  /// - Throws: `permission` for a file that others can read; `limit` for one above 1 MiB; `full`, `io`.
  func carry(from directory: HeldDirectory) throws(StoreError) { try carry(carried, from: directory) }

  /// The same with files of other names.
  func carry(_ names: [String], from directory: HeldDirectory) throws(StoreError) {
    for name in names {
      guard let bytes = try SecretFile(name, in: directory).read(atMost: Self.carriedBytes) else { continue }
      guard bytes.count <= Self.carriedBytes else {
        throw StoreError(
          .limit, "\(directory.name)/\(name) has more than \(Self.carriedBytes) bytes", operation: "copy")
      }
      try SecretFile(name, in: files.held).replace(by: bytes)
    }
  }

  /// Gives the directory its name, which fails where something is there by now.
  ///
  /// - Parameters:
  ///   - options: For failpoints.
  ///   - former: What the directory is called afterwards whose place it takes.
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

  /// Removes a store's files from the draft, whoever wrote them.
  func clear() {
    StoreCopy.remove(files.data)
    _ = unsafe unlink(files.instance)
    for name in carried { _ = unsafe unlink(draft + "/" + name) }
    files.removeLeftovers()
  }

  /// Removes the draft, with files of other names that were carried into it.
  func discard(_ others: [String] = []) {
    clear()
    for name in others { _ = unsafe unlink(draft + "/" + name) }
    _ = unsafe unlink(draft + "/lock")
    _ = unsafe rmdir(draft)
  }
}
