import Platform

/// What a process may reserve of its address space; limits (`ulimit -v`) and small systems give less than 64 GiB.
struct AddressSpace: Sendable {
  /// A store never asks for less, unless it was told to.
  var leastMapBytes = 1 << 30
  /// Stands in for the system's answer, for tests.
  var trial: (@Sendable (Int) -> Bool)?

  /// What is left to the rest of the process: stacks of threads, the allocator, other files.
  static let headroom = 256 << 20

  /// The largest of `bytes`, its half, its quarter and so on that can be had now, but at least `least`.
  func affordable(_ bytes: Int, least: Int) -> Int {
    var bytes = bytes
    while bytes > least, !canReserve(Environment.mapSize(for: bytes).bytes) { bytes = max(bytes / 2, least) }
    return bytes
  }

  /// Whether so much can be reserved now, with room to spare.
  func canReserve(_ byteCount: Int) -> Bool {
    if let trial { return trial(byteCount) }
    // With what is noted of each page.
    let marks = byteCount / Environment.pageBytes * PageMarks.bytesPerPage
    let (length, overflows) = byteCount.addingReportingOverflow(marks + Self.headroom)
    guard !overflows else { return false }
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    // SAFETY: nobody knows the place, which cannot be touched and is given back at once.
    let place = unsafe mmap(nil, length, PROT_NONE, flags, -1, 0)
    guard let place = unsafe place, unsafe place != MAP_FAILED else { return false }
    return unsafe munmap(place, length) == 0
  }

  /// A size as people say it.
  static func text(_ bytes: Int) -> String {
    bytes >= 1 << 30 ? "\(bytes >> 30) GiB" : bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes) bytes"
  }
}
