import CRDTCore
import Platform

/// Gets each page that a walk of a commit's trees reads.
protocol PageReceiver: AnyObject {
  /// Takes pages that follow each other; the first one has the number `page`.
  func receive(_ bytes: [UInt8], from page: Int)
}

/// Writes the pages that differ from those of a series into a new file.
///
/// The file has another name until it is complete and synced.
final class BackupWriter: PageReceiver {
  private let path: String
  private let draft: String
  private let descriptor: Int32
  private let key: SipHash
  private let pageBytes: Int
  /// The checksums of the pages that the series has, by number.
  private let known: [UInt64]
  private var pending: [(number: Int, sum: UInt64)] = []
  private var pendingBytes: [UInt8] = []
  private var offset = 0
  private var sum: UInt64
  private var pageCount = 0
  /// Why it could not be written; nothing is written after that.
  private var failure: StoreError?

  /// Begins the file, over one that an interrupted backup has left.
  ///
  /// - Throws: `full`, `permission`, `io`.
  init(_ name: String, in directory: HeldDirectory, _ header: BackupHeader, known: [UInt64])
    throws(StoreError)
  {
    path = "\(directory.path)/\(name)"
    draft = path + ".partial"
    key = header.key
    pageBytes = header.pageBytes
    self.known = known
    let bytes = header.bytes
    sum = key.hash(bytes.rawBytes)
    _ = unsafe unlink(draft)
    // SAFETY: the path is read during the call only.
    descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: draft) }
    do throws(StoreError) { try write(bytes) } catch {
      _ = unsafe unlink(draft)
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  func receive(_ bytes: [UInt8], from page: Int) {
    guard failure == nil else { return }
    for index in 0..<bytes.count / pageBytes {
      let range = index * pageBytes..<(index + 1) * pageBytes
      let number = page + index
      let sum = BackupFile.sum(bytes.rawBytes.extracting(range), key)
      if number < known.count, known[number] == sum { continue }
      pending.append((number, sum))
      pendingBytes += bytes[range]
      guard pending.count == BackupFile.blockPages else { continue }
      do throws(StoreError) { try flush() } catch { return failure = error }
    }
  }

  /// Throws if a page could not be written.
  func check() throws(StoreError) { if let failure { throw failure } }

  private func flush() throws(StoreError) {
    guard !pending.isEmpty else { return }
    var list = ByteWriter()
    list.writeFixed(UInt32(pending.count))
    for page in pending {
      list.writeFixed(UInt64(page.number))
      list.writeFixed(page.sum)
    }
    let listed = key.hash(list.bytes.rawBytes)
    list.writeFixed(listed)
    try write(list.bytes)
    try write(pendingBytes)
    sum = BackupFile.fold(sum, listed, key)
    pageCount += pending.count
    pending.removeAll(keepingCapacity: true)
    pendingBytes.removeAll(keepingCapacity: true)
  }

  private func write(_ bytes: [UInt8]) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      // SAFETY: the call reads what is left of the array during the call only.
      let count = unsafe bytes.withUnsafeBytes {
        unsafe pwrite(
          descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError(engine: count < 0 ? errno : ENOSPC, "pwrite", path: draft) }
      done += count
    }
    offset += bytes.count
  }

  /// Writes the end of the file, and gives it its name when all of it is on the disk.
  ///
  /// - Parameters:
  ///   - directory: The series' directory.
  ///   - options: For failpoints.
  /// - Throws: `full`, `io`; what a failpoint throws.
  func complete(in directory: HeldDirectory, _ options: StoreOptions) throws(StoreError) {
    try check()
    try flush()
    var end = ByteWriter()
    end.writeFixed(UInt32(0))
    end.writeFixed(UInt64(pageCount))
    end.writeFixed(BackupFile.fold(sum, UInt64(pageCount), key))
    try write(end.bytes)
    try options.reach(.pointWritten)
    guard fsync(descriptor) == 0 else { throw StoreError(engine: errno, "fsync", path: draft) }
    try options.reach(.pointSynced)
    guard unsafe rename(draft, path) == 0 else { throw StoreError(engine: errno, "rename", path: path) }
    try options.reach(.pointRenamed)
    try directory.sync()
  }

  /// Removes the unfinished file.
  func discard() { _ = unsafe unlink(draft) }
}
