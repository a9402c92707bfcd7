/// What a store has yet to forget, and what it has forgotten.
public struct ExpiryStatistics: Hashable, Sendable {
  /// Documents that are deleted, or contain removed fields, and whose lifetime has not expired.
  public internal(set) var waitingDocuments = 0
  /// Entries in the log of transactions.
  public internal(set) var logEntries = 0
  /// Deletions of which only a compacted tombstone is left.
  public internal(set) var certificates = 0
  /// Whether a collection is running now.
  public internal(set) var isCollecting = false
  /// When this session's last collection ended, in milliseconds since 1970.
  public internal(set) var lastCollection: UInt64?
  /// What was forgotten since the store was opened, updated after each slice.
  public internal(set) var forgotten = Forgotten()

  /// Counts of what was forgotten.
  public struct Forgotten: Hashable, Sendable {
    /// Tombstones that were compacted.
    public internal(set) var tombstones = 0
    /// Living documents from which records of removed fields were removed.
    public internal(set) var shrunkDocuments = 0
    public internal(set) var logEntries = 0
    public internal(set) var certificates = 0
    /// Sites that no document named any longer.
    public internal(set) var sites = 0

    static func += (sum: inout Forgotten, more: Forgotten) {
      sum.tombstones += more.tombstones
      sum.shrunkDocuments += more.shrunkDocuments
      sum.logEntries += more.logEntries
      sum.certificates += more.certificates
      sum.sites += more.sites
    }
  }
}
