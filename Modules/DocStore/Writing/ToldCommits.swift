import CRDTCore

/// The commits last passed to listeners, kept until the next ones are, or until the writer is idle.
///
/// Their changes are many small allocations made by the writer's thread. The thread that releases them last
/// frees them. If that were another thread, each allocation would cost it a lock of the allocator, which the
/// writer needs for the next commit, and the two would wait for each other. By the time they are released
/// here, listeners have finished with them.
struct ToldCommits {
  /// Larger commits are not kept, so that a busy store does not hold their memory for too long.
  private static let byteLimit = 4 << 20
  /// Commits whose large records exceed this many bytes are not kept either: they are few allocations.
  private static let recordBytes = 256 << 10
  /// A change is small if its records have at most this many bytes.
  private static let smallRecordBytes = 1 << 10
  /// The approximate size of a change without its records.
  private static let changeBytes = 256

  private var commits: [Commit] = []

  var isEmpty: Bool { commits.isEmpty }

  /// Releases the previous commits, and keeps the latest ones.
  mutating func keep(_ latest: [Commit]) { commits = Self.areSmall(latest) ? latest : [] }

  private static func areSmall(_ commits: [Commit]) -> Bool {
    let changes = commits.reduce(0) { $0 + $1.changes.count }
    guard changes <= byteLimit / changeBytes else { return false }
    var room = min(byteLimit - changes * changeBytes, recordBytes + changes * smallRecordBytes)
    for commit in commits {
      for change in commit.changes {
        room -= (change.before?.bytes.count ?? 0) + (change.after?.bytes.count ?? 0)
      }
      guard room >= 0 else { return false }
    }
    return true
  }
}
