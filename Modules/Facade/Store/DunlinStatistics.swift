import CRDTCore
import DocStore

/// How a database stands: what it holds, what it takes, and who uses it now.
public struct DunlinStatistics: Sendable {
  /// What one collection holds.
  public struct Collection: Hashable, Sendable {
    public let name: String
    public let documentCount: Int
    /// Removed documents that are still remembered with all they held.
    public let tombstoneCount: Int
  }

  /// Names this peer's store: another one after a restore or a copy.
  public let id: String
  /// Why the store became another peer when it was opened; `nil` when it did not.
  public let identityChange: String?
  /// The number of the last commit.
  public let sequence: UInt64
  /// Why nothing is written any more; `nil` while writes are taken.
  public let failure: DunlinError?
  /// How far the database's clock is ahead of the wall clock: see ``DunlinStore/trustClock()``.
  public let clockLead: Duration
  /// All collections ever written, by name.
  public let collections: [Collection]
  /// Peers that wrote anything that is here.
  public let siteCount: Int
  /// Documents too large to be sent.
  public let oversizeCount: Int
  /// Bytes of the data file.
  public let fileBytes: Int
  /// Bytes of it that hold something.
  public let usedBytes: Int
  /// Bytes of it that are free for later writes; compaction gives them back.
  public let freeBytes: Int
  /// Bytes that the data file may grow to.
  public let mapBytes: Int
  /// Snapshots that are being read.
  public let readerCount: Int
  /// How long the oldest of them has been open.
  public let oldestReaderAge: Duration
  /// Transactions that wait for their turn.
  public let waitingWriters: Int

  /// Living documents of all collections.
  public var documentCount: Int { collections.reduce(0) { $0 + $1.documentCount } }

  init(_ statistics: StoreStatistics) {
    id = statistics.site.description
    identityChange = statistics.identityChange?.reason.description
    sequence = statistics.sequence
    failure = statistics.failure.map { DunlinError($0) }
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
