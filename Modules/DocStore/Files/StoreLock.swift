import Platform

/// The right to be a store's only user, or one of several that only read it.
///
/// A lock file excludes other processes, a registry excludes other users in this process.
final class StoreLock: Sendable {
  private let descriptor: Int32
  private let identity: FileIdentity
  private let processID = getpid()
  /// Whether nobody can write to the store while this lock is held, and its holder writes nothing either.
  let isReadOnly: Bool

  /// What the holder of a lock does.
  enum Use {
    /// It reads and writes.
    case writing
    /// It reads, and excludes all others where the system lets it write to the directory.
    case examining
    /// It reads beside others that only read, and writes nothing to the directory.
    case reading
  }

  /// Takes the lock of the store in `directory` without waiting.
  ///
  /// - Parameters:
  ///   - directory: The store's directory.
  ///   - use: What the caller does with the store. To read it, the directory need not be writable: the lock
  ///     is shared, and a directory without a lock file is the lock itself.
  /// - Throws: `alreadyOpen` if the lock is taken; `readOnlyStore`, `permission`, `io`.
  init(_ directory: HeldDirectory, for use: Use = .writing) throws(StoreError) {
    let path = directory.path + "/lock"
    var descriptor: Int32 = -1
    if use != .reading {
      // SAFETY: the path is read during the call only.
      descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    let isShared = descriptor < 0 && (use == .reading || use == .examining && Self.isForbidden(errno))
    if isShared { descriptor = Self.openToRead(directory, path) }
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    isReadOnly = use != .writing
    do throws(StoreError) {
      let identity = try FileIdentity(descriptor)
      guard OpenStores.insert(identity, isShared: isShared) else { throw Self.alreadyOpen(0) }
      guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
        let rc = errno
        OpenStores.remove(identity)
        throw rc == EWOULDBLOCK ? Self.alreadyOpen(rc) : StoreError(engine: rc, "flock", path: path)
      }
      self.descriptor = descriptor
      self.identity = identity
    } catch {
      close(descriptor)
      throw error
    }
  }

  deinit {
    // A child process that has not yet replaced its program shares the lock, so closing would not release it.
    // A fork, on the other hand, must not release its parent's lock.
    if processID == getpid() { flock(descriptor, LOCK_UN) }
    OpenStores.remove(identity)
    close(descriptor)
  }

  /// Opens what readers lock; -1 and `errno` after a failure.
  private static func openToRead(_ directory: HeldDirectory, _ path: String) -> Int32 {
    // SAFETY: the paths are read during the calls only.
    let descriptor = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor < 0, errno == ENOENT else { return descriptor }
    return unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  }

  /// Whether the system lets this process write nothing there.
  private static func isForbidden(_ rc: Int32) -> Bool { rc == EROFS || rc == EACCES || rc == EPERM }

  private static func alreadyOpen(_ rc: Int32) -> StoreError {
    StoreError(
      .alreadyOpen, "The store is open already, in this process or another one", operation: "open",
      underlying: rc)
  }
}

/// A file's device and inode: the same for every path that leads to it.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  init(_ descriptor: Int32) throws(StoreError) {
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { throw StoreError(engine: errno, "fstat") }
    self.init(status)
  }

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }
}

/// The stores that this process has open.
///
/// `flock` does not distinguish users within a process that reach one file through inherited descriptors.
private enum OpenStores {
  /// Per store: the number of users that only read it, or -1 for one that excludes all others.
  private static let users = Monitor<[FileIdentity: Int]>([:])

  static func insert(_ identity: FileIdentity, isShared: Bool) -> Bool {
    users.withLock { users in
      let count = users[identity] ?? 0
      guard isShared ? count >= 0 : count == 0 else { return false }
      users[identity] = isShared ? count + 1 : -1
      return true
    }
  }

  static func remove(_ identity: FileIdentity) {
    users.withLock { users in
      let count = users[identity] ?? 0
      users[identity] = count > 1 ? count - 1 : nil
    }
  }
}
