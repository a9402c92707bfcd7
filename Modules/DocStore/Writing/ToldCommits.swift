import CRDTCore

/// The commits that listeners were told of last, kept until those after them are told or the writer has nothing to do.
///
/// Their changes are many small pieces of memory, which the writer's thread has taken. Whoever lets go of them last gives
/// them back; were that another thread, each piece would cost it a lock of the allocator that the writer needs for the next
/// commit, and both would wait for each other. By the time they are let go of here, listeners are done with them.
struct ToldCommits {
  /// Larger ones are not kept, so that a busy store does not hold their memory for longer than it must.
  private static let byteLimit = 4 << 20
  /// Neither are those of large records, which are few pieces of much memory, beyond so many bytes.
  private static let recordBytes = 256 << 10
  /// Bytes of the records of a change up to which they are small.
  private static let smallRecordBytes = 1 << 10
  /// What a change takes beside its records, about.
  private static let changeBytes = 256

  private var commits: [Commit] = []

  var isEmpty: Bool { commits.isEmpty }

  /// Lets go of those before, and keeps the latest ones.
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
