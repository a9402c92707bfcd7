import CRDTCore
import DocStore

/// The state of a database: what it contains, how much space it uses, and who uses it now.
public struct DunlinStatistics: Sendable {
  /// The contents of one collection.
  public struct Collection: Hashable, Sendable {
    public let name: String
    public let documentCount: Int
    /// Removed documents that are still stored with all that they contained.
    public let tombstoneCount: Int
  }

  /// Identifies this peer's store; it changes after a restore or a copy.
  public let id: String
  /// Why the store became another peer when it was opened; `nil` when it did not.
  public let identityChange: String?
  /// The number of the last commit.
  public let sequence: UInt64
  /// Why the database no longer accepts writes; `nil` while it accepts them.
  public let failure: DunlinError?
  /// Why the last write that needed room found none: the disk or the database is full; `nil` while there is
  /// room.
  public let shortage: DunlinError?
  /// How far the database's clock is ahead of the wall clock: see ``DunlinStore/trustClock()``.
  public let clockLead: Duration
  /// All collections ever written, by name.
  public let collections: [Collection]
  /// The number of peers that wrote any of the stored data.
  public let siteCount: Int
  /// Documents that are too large for a peer that has nothing of them.
  public let oversizeCount: Int
  /// Bytes of the data file.
  public let fileBytes: Int
  /// Bytes of the data file that are in use.
  public let usedBytes: Int
  /// Bytes of the data file that are free for later writes; compaction returns them to the system.
  public let freeBytes: Int
  /// The size up to which the data file may grow, in bytes.
  public let mapBytes: Int
  /// The number of snapshots that are being read.
  public let readerCount: Int
  /// The age of the oldest open snapshot.
  public let oldestReaderAge: Duration
  /// The number of transactions that wait for their turn to write.
  public let waitingWriters: Int

  /// The number of living documents in all collections.
  public var documentCount: Int { collections.reduce(0) { $0 + $1.documentCount } }

  init(_ statistics: StoreStatistics) {
    id = statistics.site.description
    identityChange = statistics.identityChange?.reason.description
    sequence = statistics.sequence
    failure = statistics.failure.map { DunlinError($0) }
    shortage = statistics.shortage.map { DunlinError($0) }
    clockLead = statistics.clockLead
    collections = statistics.collections.map {
      Collection(name: $0.name, documentCount: $0.documentCount, tombstoneCount: $0.tombstoneCount)
    }
    siteCount = statistics.siteCount
    oversizeCount = statistics.oversizeCount
    fileBytes = statistics.fileBytes
    usedBytes = statistics.usedBytes
    freeBytes = statistics.freePages * statistics.pageBytes
    mapBytes = statistics.mapBytes
    readerCount = statistics.readerCount
    oldestReaderAge = statistics.oldestReaderAge
    waitingWriters = statistics.waitingWriters
  }
}
