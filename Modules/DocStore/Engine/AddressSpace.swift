import Platform

/// The address space that a process can reserve.
///
/// Limits (`ulimit -v`) and small systems allow less than 64 GiB.
struct AddressSpace: Sendable {
  /// The smallest map that a store requests, unless the caller requests a smaller one.
  var leastMapBytes = 1 << 30
  /// Replaces the system's answer in tests.
  var trial: (@Sendable (Int) -> Bool)?

  /// The address space left for the rest of the process: thread stacks, the allocator, other files.
  static let headroom = 256 << 20

  /// Returns the largest of `bytes`, its half, its quarter and so on that can be reserved now.
  ///
  /// The result is never below `least`.
  func affordable(_ bytes: Int, least: Int, pageBytes: Int) -> Int {
    func isAffordable(_ bytes: Int) -> Bool {
      canReserve(Environment.mapSize(for: bytes, pageBytes: pageBytes).bytes, pageBytes: pageBytes)
    }
    var bytes = bytes
    while bytes > least, !isAffordable(bytes) { bytes = max(bytes / 2, least) }
    return bytes
  }

  /// Whether a map of this many bytes can be reserved now, with headroom to spare.
  func canReserve(_ byteCount: Int, pageBytes: Int) -> Bool {
    if let trial { return trial(byteCount) }
    // Includes the memory for the marks of each page.
    let marks = byteCount / pageBytes * PageMarks.bytesPerPage
    let (length, overflows) = byteCount.addingReportingOverflow(marks + Self.headroom)
    guard !overflows else { return false }
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    // SAFETY: no other code knows this address range; it is inaccessible and is unmapped at once.
    let place = unsafe mmap(nil, length, PROT_NONE, flags, -1, 0)
    guard let place = unsafe place, unsafe place != MAP_FAILED else { return false }
    return unsafe munmap(place, length) == 0
  }

  /// A size in a readable unit.
  static func text(_ bytes: Int) -> String {
    bytes >= 1 << 30 ? "\(bytes >> 30) GiB" : bytes >= 1 << 20 ? "\(bytes >> 20) MiB" : "\(bytes) bytes"
  }
}
