import Platform

/// The file in which the engine keeps its reader table, which it writes through mapped memory.
///
/// The engine creates the file as one large hole. On a full disk the hole cannot be filled, so the system
/// kills a process that writes there: the process would die from reading. Therefore the file is filled with
/// zeros beforehand.
enum ReaderTable {
  static let maximumReaders: UInt32 = 1_022
  /// The bytes that the engine needs for that many readers; if it needs more, the rest is a hole.
  private static let byteCount = 1 << 16
  private static let blockBytes = 512

  /// Allocates the disk space of the reader table beside the data file at `path`.
  ///
  /// The engine must not have the file open in this process, because closing the file here ends its locks.
  /// - Throws: `full`, `io`, or `permission`, also for a symbolic link, which may lead anywhere.
  static func reserve(beside path: String) throws(StoreError) {
    let name = path + "-lock"
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: name) }
    defer { close(descriptor) }
    var status = stat()
    // SAFETY: the call fills the local structure.
    guard unsafe fstat(descriptor, &status) == 0 else { throw StoreError(engine: errno, "fstat") }
    if status.st_size >= byteCount, Int(status.st_blocks) * blockBytes >= byteCount { return }
    let zeros = [UInt8](repeating: 0, count: byteCount)
    // SAFETY: the buffer is read during the call only.
    let written = unsafe zeros.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    guard written == byteCount else {
      let rc = written < 0 ? errno : ENOSPC
      // A partial table would count as complete the next time.
      _ = unsafe unlink(name)
      throw StoreError(engine: rc, "pwrite", path: name)
    }
  }
}
