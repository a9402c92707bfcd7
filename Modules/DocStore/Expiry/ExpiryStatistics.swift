/// What waits to be forgotten in a store, and what was.
public struct ExpiryStatistics: Hashable, Sendable {
  /// Documents that are deleted, or hold removed fields, and wait for their time.
  public internal(set) var waitingDocuments = 0
  /// Entries of the log of transactions that are kept.
  public internal(set) var logEntries = 0
  /// Deletions of which only a death certificate is left.
  public internal(set) var certificates = 0
  /// Whether something is being forgotten right now.
  public internal(set) var isCollecting = false
  /// When the last collection of this session ended, in milliseconds since 1970.
  public internal(set) var lastCollection: UInt64?
  /// What was forgotten since the store was opened; counted slice by slice.
  public internal(set) var forgotten = Forgotten()

  /// Counts of what was forgotten.
  public struct Forgotten: Hashable, Sendable {
    /// Tombstones that became certificates.
    public internal(set) var tombstones = 0
    /// Living documents that lost what they knew of removed fields.
    public internal(set) var shrunkDocuments = 0
    public internal(set) var logEntries = 0
    public internal(set) var certificates = 0
    /// Sites that no document named any more.
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
