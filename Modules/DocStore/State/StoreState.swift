import CRDTCore

/// What the writer knows beside the documents: a value, so that a rolled back job's is just dropped.
struct StoreState: Sendable {
  /// One collection's own part.
  struct CollectionState: Sendable {
    let id: UInt32
    let name: String
    var keys = KeyTable()
    var aliveCount: UInt64 = 0
    /// Living documents and tombstones.
    var recordCount: UInt64 = 0
    /// How many of ``keys`` are on disk.
    var storedKeys = 0
    /// Whether the list of collections on disk lacks the present count.
    var isDirty = false
    var indexes: [IndexState] = []

    var collection: Collection { Collection(id: id, name: name, keys: keys) }

    /// The indexes that answer queries, oldest first.
    var readyIndexes: [IndexInfo] {
      indexes.isEmpty ? [] : indexes.compactMap(\.info).filter { $0.state == .ready }
    }
  }

  /// Indexed by a collection's number less one; a number is never given to another collection.
  var collections: [CollectionState] = []
  var numbers: [TextKey: UInt32] = [:]
  var sites = SiteTable()
  var readings = SiteReadings()
  /// The store's own site, and the highest reading of it that came from elsewhere.
  var own = (site: SiteID.zero, met: ClockReading.zero)
  /// None of them is, or was since the store was opened, above this.
  var highestMet = ClockReading.zero
  /// The sites on disk whose entries lack their present reading.
  var risenSites: Set<Int> = []
  var log = LogState()
  var ids = TimeOrderedIDs()
  var settling = IDSettling()
  /// Entries of the list of documents too large to send.
  var oversizeCount = 0
  /// The greatest number that an index ever had.
  var lastIndex: UInt32 = 0
  /// The engine's number of the transaction since which the same indexes are ready.
  private(set) var indexesSince: UInt64 = 0
  /// Whether statistics have become too old since that was last looked at.
  var hasStaleStatistics = false
  /// Whether readers have to be given a new catalogue.
  var isCatalogueStale = false

  func index(of name: String) -> Int? { numbers[TextKey(name)].map { Int($0) - 1 } }

  /// The index of the collection called `name`, made if need be.
  mutating func intern(_ name: String) -> Int {
    if let index = index(of: name) { return index }
    let id = UInt32(collections.count + 1)
    collections.append(CollectionState(id: id, name: name, isDirty: true))
    numbers[TextKey(name)] = id
    isCatalogueStale = true
    return collections.count - 1
  }

  /// Notes that with this transaction of the engine's an index becomes ready, or goes; readers are told.
  mutating func noteIndexes(in transaction: UInt64) {
    indexesSince = transaction
    isCatalogueStale = true
  }

  /// Takes back what a failed commit would have put on disk, but not the names readers may have seen.
  mutating func revert(to old: StoreState) {
    for index in collections.indices {
      let known = index < old.collections.count ? old.collections[index] : nil
      collections[index].aliveCount = known?.aliveCount ?? 0
      collections[index].recordCount = known?.recordCount ?? 0
      collections[index].storedKeys = known?.storedKeys ?? 0
      collections[index].isDirty = known?.isDirty ?? true
      collections[index].indexes = known?.indexes ?? []
    }
    // The next commit has the same number as the one that failed, so its readers must not go by what that had.
    if indexesSince != old.indexesSince { isCatalogueStale = true }
    indexesSince = old.indexesSince
    readings = old.readings
    risenSites = old.risenSites
    log.revert(to: old.log)
    oversizeCount = old.oversizeCount
    lastIndex = old.lastIndex
  }
}

/// The store's place in its own log, and its clock.
struct LogState: Sendable {
  var sequence: UInt64 = 0
  var commitID: UInt64 = 0
  var evictionEpoch: UInt64 = 0
  var clock = HybridClock()
  /// By which lifetimes count.
  var lived = LivedTime()
  /// The greatest number that a document ever had.
  var lastNumber = DocumentNumber.none
  /// What the log tells is whole for those who know all up to this sequence.
  var logStart: UInt64 = 0
  var sites = SiteCounts()

  /// The clock stays: a reading that was given out once is not given out again.
  mutating func revert(to old: LogState) {
    sequence = old.sequence
    commitID = old.commitID
    evictionEpoch = old.evictionEpoch
    lastNumber = old.lastNumber
    logStart = old.logStart
    sites = old.sites
  }
}
