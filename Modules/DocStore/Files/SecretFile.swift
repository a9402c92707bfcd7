import Platform

/// A small file that only its owner may read, for a private key.
package struct SecretFile: Sendable {
  private let name: String
  private let held: HeldDirectory?
  private let given: String
  private var directory: String { held?.path ?? given }
  private var path: String { directory + "/" + name }

  /// Specifies the file's name; does not access it.
  package init(_ name: String, in directory: String) {
    (self.name, held, given) = (name, nil, directory)
  }

  /// Specifies a file of an open store.
  package init(_ name: String, in directory: HeldDirectory) {
    (self.name, held, given) = (name, directory, directory.name)
  }

  /// Reads the file.
  ///
  /// - Parameter limit: The most bytes that it may have; of a longer file, one byte more is read.
  /// - Returns: `nil` if there is none.
  /// - Throws: `permission` if others can read it; `io`.
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

  /// Makes sure that no other user can read a secret file.
  ///
  /// A file that belongs to root may be readable by a group, like those of web servers.
  /// - Parameters:
  ///   - path: The file; a symbolic link is followed.
  ///   - warn: Gets a line if the file system does not store permissions, so that they cannot be removed.
  /// - Throws: `permission`, with the remedy; `notFound`, `io`.
  package static func check(_ path: String, warn: (String) -> Void) throws(StoreError) {
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    defer { close(descriptor) }
    try check(descriptor, path, sparing: S_IRGRP, warn: warn)
  }

  // `sparing`: the permissions of others that are allowed for a file of root.
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

  /// Replaces the file atomically and durably: afterwards either the new file or the old one is there.
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

  /// Removes the file durably; has no effect if there is none.
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
