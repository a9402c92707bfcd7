import Platform

/// The right to be a store's only user.
///
/// A lock file excludes other processes, a registry excludes other users in this process.
final class StoreLock: Sendable {
  private let descriptor: Int32
  private let identity: FileIdentity
  private let processID = getpid()
  /// Whether the store is on a read-only medium.
  let isOnReadOnlyMedium: Bool

  /// Takes the lock of the store in `directory` without waiting.
  ///
  /// - Parameters:
  ///   - directory: The store's directory.
  ///   - isReading: Whether nothing will be written there. Then the medium may be read-only, and the
  ///     directory itself is the lock.
  /// - Throws: `alreadyOpen` if the lock is taken; `permission`, `io`.
  init(_ directory: HeldDirectory, isReading: Bool = false) throws(StoreError) {
    let path = directory.path + "/lock"
    // SAFETY: the path is read during the call only.
    var descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    isOnReadOnlyMedium = isReading && descriptor < 0 && errno == EROFS
    if isOnReadOnlyMedium {
      // SAFETY: the path is read during the call only.
      descriptor = unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    do throws(StoreError) {
      let identity = try FileIdentity(descriptor)
      guard OpenStores.insert(identity) else { throw Self.alreadyOpen(0) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
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
  static let identities = Monitor<Set<FileIdentity>>([])

  static func insert(_ identity: FileIdentity) -> Bool {
    identities.withLock { $0.insert(identity).inserted }
  }
  static func remove(_ identity: FileIdentity) { identities.withLock { _ = $0.remove(identity) } }
}
