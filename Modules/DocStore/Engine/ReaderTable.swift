import Platform

/// The file in which the engine keeps who reads, which it writes through memory.
///
/// The engine makes it as one large hole. On a full disk there is nothing to fill a hole with, and the process
/// that writes there is killed: it would die of reading. So the file gets its room beforehand.
enum ReaderTable {
  static let maximumReaders: UInt32 = 1_022
  /// What the engine asks for that many readers; should it be more, the rest is a hole.
  private static let byteCount = 1 << 16
  private static let blockBytes = 512

  /// Gives the table of readers beside the data file at `path` its room.
  ///
  /// The engine must not have the file open in this process, for its locks would end.
  /// - Throws: `full`, `io`, or `permission`, also for a symbolic link, which may lead to anything.
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
      // Half a table would count as room the next time.
      _ = unsafe unlink(name)
      throw StoreError(engine: rc, "pwrite", path: name)
    }
  }
}
