import CRDTCore
import Platform

/// A data file that is put together from the files of a series, in a directory of its own.
///
/// It is read once, by the restore that copies it entry by entry, and then removed.
struct BackupImage {
  /// The directory.
  let path: String
  private let files: StoreFiles
  private var carried: [String] = []

  /// Makes the directory, or takes the one that an interrupted restore has left.
  ///
  /// - Throws: `notFound`, `permission`, `io`.
  init(at path: String) throws(StoreError) {
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw StoreError(engine: errno, "mkdir", path: path)
    }
    self.path = path
    files = StoreFiles(in: try HeldDirectory(path))
  }

  /// Writes the pages of a point.
  ///
  /// - Parameters:
  ///   - chain: The files from the base up to the point; each is read whole, and all checksums are checked.
  ///   - progress: Called at intervals with the pages done. If it throws, the work ends.
  /// - Throws: `corrupt` with the file and the byte; `full`, `io`; what `progress` throws.
  mutating func write(
    _ chain: [BackupFile], _ progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws {
    guard let last = chain.last?.header else { return }
    for file in last.carried {
      carried.append(file.name)
      try SecretFile(file.name, in: files.held).replace(by: file.bytes)
    }
    StoreCopy.remove(files.data)
    let descriptor = unsafe open(files.data, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError(engine: errno, "open", path: path) }
    defer { close(descriptor) }
    guard ftruncate(descriptor, off_t(last.pageCount * last.pageBytes)) == 0 else {
      throw StoreError(engine: errno, "ftruncate", path: path)
    }
    let total = try chain.reduce(0) { $0 + (try $1.end().pageCount) }
    var meter = ProgressMeter(total: total, progress)
    // The newest version of a page is written; older ones are only checked.
    var done = [Bool](repeating: false, count: last.pageCount)
    for file in chain.reversed() {
      try file.forEachBlock { block in
        let bytes = try file.pages(block)
        for (index, page) in block.pages.enumerated() {
          try meter.advance()
          guard page.number < done.count, !done[page.number] else { continue }
          done[page.number] = true
          let range = index * last.pageBytes..<(index + 1) * last.pageBytes
          try write(descriptor, bytes[range], at: page.number * last.pageBytes)
        }
      }
    }
    for number in 0..<Environment.metaPages {
      let page = BackupSnapshot.page(number, last.meta, pageBytes: last.pageBytes)
      try write(descriptor, page[...], at: number * last.pageBytes)
    }
    try meter.finish()
  }

  private func write(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>, at offset: Int) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      // SAFETY: the call reads what is left of the slice during the call only.
      let count = unsafe bytes.withUnsafeBytes {
        unsafe pwrite(
          descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError(engine: count < 0 ? errno : ENOSPC, "pwrite", path: path) }
      done += count
    }
  }

  /// Removes the directory.
  func remove() {
    StoreCopy.remove(files.data)
    files.removeLeftovers()
    for name in carried + ["lock"] { _ = unsafe unlink(path + "/" + name) }
    _ = unsafe rmdir(path)
  }
}
