import Platform

/// A small file that only its owner may read, for a private key.
package struct SecretFile: Sendable {
  private let name: String
  private let held: HeldDirectory?
  private let given: String
  private var directory: String { held?.path ?? given }
  private var path: String { directory + "/" + name }

  /// Names the file; nothing happens yet.
  package init(_ name: String, in directory: String) {
    (self.name, held, given) = (name, nil, directory)
  }

  /// Names a file of an open store.
  package init(_ name: String, in directory: HeldDirectory) {
    (self.name, held, given) = (name, directory, directory.name)
  }

  /// Reads the file.
  ///
  /// - Parameter limit: Bytes that it may have; of a longer one so many and one more are read.
  /// - Returns: `nil` when there is none.
  /// - Throws: `permission` where others can read it; `io`.
  package func read(atMost limit: Int) throws(StoreError) -> [UInt8]? {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw StoreError(engine: errno, "open", path: path)
    }
    defer { close(descriptor) }
    try Self.check(descriptor, path, sparing: 0, warn: { _ in })
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    // SAFETY: the call writes at most as many bytes as there is room.
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard count >= 0 else { throw StoreError(engine: errno, "read", path: path) }
    return Array(bytes[..<count])
  }

  /// Sees to it that nobody else can read a file that is secret; one that belongs to root may be for a group, as those of web
  /// servers are.
  ///
  /// - Parameters:
  ///   - path: The file; a symbolic link is followed.
  ///   - warn: Takes a line where the file system keeps no permissions, so that nobody can take them away.
  /// - Throws: `permission`, saying what to do; `notFound`, `io`.
  package static func check(_ path: String, warn: (String) -> Void) throws(StoreError) {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    defer { close(descriptor) }
    try check(descriptor, path, sparing: S_IRGRP, warn: warn)
  }

  // What others may do with a file of root's is spared.
  private static func check(
    _ descriptor: Int32, _ path: String, sparing: mode_t, warn: (String) -> Void
  ) throws(StoreError) {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { throw StoreError(engine: errno, "fstat", path: path) }
    let spared = status.st_uid == 0 ? sparing : 0
    guard status.st_mode & 0o077 & ~spared != 0 else { return }
    let found = "\(HeldDirectory.shown(path)) can be read by others and is secret"
    guard FileSystemKind(descriptor).keepsPermissions else {
      return warn("\(found); its file system keeps no permissions, so keep others from the whole of it")
    }
    throw StoreError(
      .permission, "\(found): take their permissions away (chmod 600)", operation: "open")
  }

  /// Puts the file in its place: afterwards it is there whole and for good, or what was there before is.
  ///
  /// - Throws: `permission`, `full` or `io`.
  package func replace(by bytes: [UInt8]) throws(StoreError) {
    let draft = path + ".new"
    // SAFETY: the paths are read during the calls only.
    _ = unsafe unlink(draft)
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: draft) }
    do throws(StoreError) {
      defer { close(descriptor) }
      // SAFETY: the call reads the array during the call only.
      let count = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
      guard count == bytes.count else {
        throw StoreError(engine: count < 0 ? errno : ENOSPC, "pwrite", path: draft)
      }
      guard fsync(descriptor) == 0 else { throw StoreError(engine: errno, "fsync", path: draft) }
      guard unsafe rename(draft, path) == 0 else { throw StoreError(engine: errno, "rename", path: path) }
    } catch {
      _ = unsafe unlink(draft)
      throw error
    }
    try syncDirectory()
  }

  /// Removes the file for good; has no effect where there is none.
  ///
  /// - Throws: `permission` or `io`.
  package func remove() throws(StoreError) {
    // SAFETY: the path is read during the call only.
    guard unsafe unlink(path) == 0 || errno == ENOENT else {
      throw StoreError(engine: errno, "unlink", path: path)
    }
    try syncDirectory()
  }

  private func syncDirectory() throws(StoreError) {
    // SAFETY: the path is read during the call only.
    let folder = unsafe open(directory, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { throw StoreError(engine: errno, "open", path: directory) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw StoreError(engine: errno, "fsync", path: directory) }
  }
}
