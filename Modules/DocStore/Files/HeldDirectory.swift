import Platform

/// A store's directory, held open: operations affect this directory, wherever its name leads meanwhile.
///
/// The directory may be renamed while the store is open. A symbolic link on its path may lead elsewhere. The
/// process may change its working directory, and then a relative path leads elsewhere too.
package final class HeldDirectory: Sendable {
  /// The path with which it was opened, for messages.
  package let name: String
  let descriptor: Int32
  /// The absolute path, for systems that have no path to an open descriptor.
  private let absolute: String?

  /// Opens the directory at `path`, and creates it and missing parents for the owner alone.
  ///
  /// A directory that other users can write to is refused.
  /// - Throws: `notFound`, `permission`, `io`, `tooManyFiles`.
  package convenience init(making path: String) throws(StoreError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw StoreError(.notFound, "The store's path is empty or contains a NUL", operation: "mkdir")
    }
    var made: [String] = []
    try Self.make(path, &made)
    for path in made { try StoreFiles.sync(StoreFiles.parent(of: path)) }
    try self.init(path)
    if made.isEmpty { try checkOwners() }
  }

  /// Opens the directory at `path`, which must exist.
  ///
  /// - Throws: `notFound`, `permission`, `io`, `tooManyFiles`.
  package init(_ path: String) throws(StoreError) {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    self.descriptor = descriptor
    name = path
    absolute = Self.isReachable(descriptor) ? nil : Self.absolute(path)
  }

  deinit { close(descriptor) }

  /// A path that leads to this directory now; pass it to the system, but do not show it to people.
  ///
  /// On Linux it leads there as long as the directory is held, even if the directory has no name any longer.
  /// On other systems it is the directory's present name.
  package var path: String {
    #if canImport(Darwin)
      var room = [CChar](repeating: 0, count: Int(MAXPATHLEN))
      // SAFETY: the call writes at most MAXPATHLEN bytes, including the final zero.
      guard unsafe fcntl(descriptor, F_GETPATH, &room) == 0 else { return absolute ?? name }
      return Self.text(room.prefix { $0 != 0 })
    #else
      return absolute ?? Self.prefix + String(descriptor)
    #endif
  }

  /// The identity of the file with a name in the directory; `nil` if there is none.
  func identity(of name: String) -> FileIdentity? {
    var status = stat()
    // SAFETY: the call reads the name and fills the local structure.
    guard unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
    return FileIdentity(status)
  }

  /// Makes the names in the directory durable.
  func sync() throws(StoreError) {
    guard fsync(descriptor) == 0 else { throw StoreError(engine: errno, "fsync", path: name) }
  }

  /// A path to show to people: a path through a held directory is replaced by the directory's present name.
  static func shown(_ path: String) -> String {
    #if canImport(Darwin)
      return path
    #else
      guard path.utf8.starts(with: prefix.utf8) else { return path }
      let number = path.utf8.dropFirst(prefix.utf8.count).prefix { $0 != UInt8(ascii: "/") }
      let held = prefix + String(Substring(number))
      var room = [CChar](repeating: 0, count: roomBytes)
      // SAFETY: the call writes at most as many bytes as there is room.
      let count = unsafe readlink(held, &room, roomBytes)
      guard count > 0 else { return path }
      return text(room.prefix(count)) + String(Substring(path.utf8.dropFirst(held.utf8.count)))
    #endif
  }

  /// The prefix under which Linux has a path to each open descriptor of the process.
  private static let prefix = "/proc/self/fd/"

  /// The bytes of a path.
  private static let roomBytes = Int(PATH_MAX)

  private static func text(_ characters: ArraySlice<CChar>) -> String {
    String(decoding: characters.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func isReachable(_ descriptor: Int32) -> Bool {
    #if canImport(Darwin)
      return true
    #else
      return unsafe access(prefix + String(descriptor), X_OK) == 0
    #endif
  }

  private static func absolute(_ path: String) -> String {
    // SAFETY: the call returns a new string, which is freed below, or nothing.
    guard let text = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }

  // MARK: - Making

  private static func make(_ path: String, _ made: inout [String]) throws(StoreError) {
    if unsafe mkdir(path, 0o700) == 0 {
      made.append(path)
      return
    }
    switch errno {
    case EEXIST:
      guard isDirectory(path) else { throw StoreError(engine: ENOTDIR, "mkdir", path: path) }
    case ENOENT:
      let parent = StoreFiles.parent(of: path)
      guard !parent.isSame(as: path) else { throw StoreError(engine: ENOENT, "mkdir", path: path) }
      try make(parent, &made)
      guard unsafe mkdir(path, 0o700) == 0 else { throw StoreError(engine: errno, "mkdir", path: path) }
      made.append(path)
    case let rc: throw StoreError(engine: rc, "mkdir", path: path)
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Makes sure that no other user can replace the store's files.
  ///
  /// The user's own group counts as the user.
  private func checkOwners() throws(StoreError) {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { throw StoreError(engine: errno, "stat", path: name) }
    let (user, mode) = (geteuid(), status.st_mode)
    let isOthers = status.st_uid != user && status.st_uid != 0 && user != 0
    let isOpen = mode & S_IWOTH != 0 || mode & S_IWGRP != 0 && status.st_gid != getegid()
    guard isOthers || isOpen else { return }
    let what = isOthers ? "it belongs to one of them" : "take that right away, with chmod go-w"
    throw StoreError(
      .permission, "Other users can write to the store's directory \(name): \(what)", operation: "open")
  }
}
