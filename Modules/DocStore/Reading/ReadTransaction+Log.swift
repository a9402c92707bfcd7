import CRDTCore

extension ReadTransaction {
  /// Visits the entries of the log after a sequence, oldest first, until `body` returns `false`.
  ///
  /// - Parameters:
  ///   - sequence: The commit after which to begin; the log does not know commits before ``logStart``.
  ///   - last: The last sequence to visit.
  ///   - limit: The greatest number of entries to visit.
  ///   - body: Is called with each entry.
  /// - Throws: `corrupt` for a damaged entry; what `body` throws.
  package borrowing func changes(
    after sequence: UInt64, through last: UInt64 = .max, limit: Int = .max,
    _ body: (borrowing LogEntry) throws -> Bool
  ) throws {
    guard sequence < last, limit > 0 else { return }
    var left = limit
    try pages.changes(after: sequence, slot) { entry in
      guard entry.sequence <= last else { return false }
      left -= 1
      return try body(entry) && left > 0
    }
  }

  /// Visits commits after `sequence` that wrote several documents together, until `body` returns `false`.
  ///
  /// The oldest commits come first. Members that no longer exist are left out, even if that is all of them.
  public borrowing func groups(
    after sequence: UInt64, _ body: (_ sequence: UInt64, _ members: [DocumentKey]) throws -> Bool
  ) throws {
    let pages = try pages
    try pages.changes(after: sequence, slot) { entry in
      guard entry.kind == .bound else { return true }
      var members: [DocumentKey] = []
      try pages.forEachRow(of: entry.runs) { collection, row in
        guard row.isIntact(in: collection) else { return true }
        members.append(DocumentKey(collection: collection, id: DocumentID(trusted: row.id.copied)))
        return true
      }
      return try body(entry.sequence, members)
    }
  }

  /// The low word of the id of the commit that ended with a sequence.
  ///
  /// - Returns: `nil` when no commit ended with it, or the log does not go back to it.
  package borrowing func commitCheck(at sequence: UInt64) throws -> UInt32? {
    if sequence == self.sequence { return UInt32(truncatingIfNeeded: commitID) }
    guard sequence > 0 else { return logStart == 0 ? 0 : nil }
    var found: UInt32?
    try pages.changes(after: sequence - 1, slot) { entry in
      if entry.sequence == sequence { found = entry.commitCheck }
      return false
    }
    return found
  }

  /// The documents evicted after a commit, in order; `nil` if not all are known.
  ///
  /// Some of them may have come back since then.
  package borrowing func evictions(after sequence: UInt64) throws -> [DocumentKey]? {
    guard sequence >= logStart else { return nil }
    var found: [DocumentKey] = []
    var isComplete = true
    try pages.changes(after: sequence, slot) { entry in
      guard entry.kind == .evicted else { return true }
      found += entry.evicted
      isComplete = entry.isEvictionComplete
      return isComplete
    }
    return isComplete ? found : nil
  }
}
