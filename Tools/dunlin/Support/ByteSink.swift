import Foundation

/// Where bytes go: a file, packed when its name ends in `.gz`, or standard output.
///
/// A file is written beside its final place, and moves there when it is complete and durable. Until then, and
/// after a failure, the former file is unchanged. Anything other than a regular file, such as `/dev/null` or
/// a pipe, is written directly.
final class ByteSink {
  private let file: RawFile
  private let gzip: GzipWriter?
  /// The name it is written under, and the one it gets.
  private let draft: (path: String, target: String)?
  private var isWhole = false

  /// Whether a file that is there is replaced.
  private let replaces: Bool

  /// - Parameters:
  ///   - path: A file, or `-` for standard output.
  ///   - replaces: Whether a file that is there already is replaced; else it is an error.
  ///   - willMake: Called with the name of the file that is made beside the place, before it is there.
  /// - Throws: A `ToolError` that names the file.
  init(path: String, replaces: Bool, willMake: (String) -> Void = { _ in }) throws {
    self.replaces = replaces
    guard path != "-" else {
      (file, gzip, draft) = (.output, nil, nil)
      return
    }
    gzip = path.hasSuffix(".gz") ? try GzipWriter() : nil
    // A symbolic link stays, and what it leads to is replaced.
    let target = realpath(path, nil).map { resolved in
      defer { free(resolved) }
      return String(cString: resolved)
    }
    let status = FileStatus(path: path)
    let exists = status != nil
    if let status, status.kind != .regular {
      (file, draft) = (try Self.open(path, O_WRONLY, path), nil)
      return
    }
    guard !exists || replaces else { throw Self.exists(path) }
    guard !exists || access(path, W_OK) == 0 else {
      throw RawFile.failure(path, "cannot be opened for writing", errno)
    }
    let place = target ?? path
    let name = "\(place).\(getpid()).partial"
    willMake(name)
    file = try Self.open(name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, path)
    draft = (name, place)
    if let status { fchmod(file.descriptor, status.permissions) }
  }

  private static func open(_ path: String, _ flags: Int32, _ name: String) throws -> RawFile {
    let descriptor = Foundation.open(path, flags | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw RawFile.failure(name, "cannot be opened for writing", errno) }
    return RawFile(descriptor, name: name, closesAtEnd: true)
  }

  deinit { if !isWhole, let draft { unlink(draft.path) } }

  func write(_ bytes: [UInt8]) throws {
    try file.write(gzip?.pack(bytes, finish: false) ?? bytes)
  }

  /// Ends the file and puts it in its place.
  func close() throws {
    if let gzip { try file.write(gzip.pack([], finish: true)) }
    guard let draft else { return }
    try file.sync()
    try put(draft.path, draft.target)
    isWhole = true
    try Self.syncFolder(of: draft.target)
  }

  /// Gives the file its name.
  private func put(_ path: String, _ target: String) throws {
    if !replaces {
      // A link, unlike a rename, does not replace what has come meanwhile.
      if link(path, target) == 0 {
        unlink(path)
        return
      }
      if errno == EEXIST { throw Self.exists(target) }
      // A file system without links, such as those of memory cards, is looked at instead.
      if access(target, F_OK) == 0 { throw Self.exists(target) }
    }
    guard rename(path, target) == 0 else { throw RawFile.failure(target, "cannot be replaced", errno) }
  }

  private static func exists(_ path: String) -> ToolError {
    ToolError("\(path): there is a file already; --force replaces it")
  }

  private static func syncFolder(of path: String) throws {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = Foundation.open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw RawFile.failure(folder, "cannot be opened", errno) }
    defer { Foundation.close(descriptor) }
    guard fsync(descriptor) == 0 else {
      throw RawFile.failure(folder, "cannot be written to the disk", errno)
    }
  }
}
