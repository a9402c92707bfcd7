import CRDTCore

/// The writer's state besides the documents; a value, so that a rolled back job's state is simply dropped.
struct StoreState: Sendable {
  /// The state of one collection.
  struct CollectionState: Sendable {
    let id: UInt32
    let name: String
    var keys = KeyTable()
    var aliveCount: UInt64 = 0
    /// The number of living documents and tombstones.
    var recordCount: UInt64 = 0
    /// How many of ``keys`` are on disk.
    var storedKeys = 0
    /// Whether the collection's entry on disk lacks the current count.
    var isDirty = false
    var indexes: [IndexState] = []

    var collection: Collection { Collection(id: id, name: name, keys: keys) }

    /// The indexes that answer queries, oldest first.
    var readyIndexes: [IndexInfo] {
      indexes.isEmpty ? [] : indexes.compactMap(\.info).filter { $0.state == .ready }
    }
  }

  /// Indexed by a collection's number minus one; a number is never given to another collection.
  var collections: [CollectionState] = []
  var numbers: [TextKey: UInt32] = [:]
  var sites = SiteTable()
  var readings = SiteReadings()
  /// The store's own site, and the highest reading under that site that came from other stores.
  var own = (site: SiteID.zero, met: ClockReading.zero)
  /// No known reading has been above this since the store was opened.
  var highestMet = ClockReading.zero
  /// The sites whose entries on disk lack their current reading.
  var risenSites: Set<Int> = []
  var log = LogState()
  var ids = TimeOrderedIDs()
  var settling = IDSettling()
  /// The number of entries in the list of documents that are too large to send.
  var oversizeCount = 0
  /// The greatest number that an index ever had.
  var lastIndex: UInt32 = 0
  /// The engine's number of the transaction since which the set of ready indexes has not changed.
  private(set) var indexesSince: UInt64 = 0
  /// Whether statistics have become outdated since the last check.
  var hasStaleStatistics = false
  /// Whether readers need a new catalogue.
  var isCatalogueStale = false

  func index(of name: String) -> Int? { numbers[TextKey(name)].map { Int($0) - 1 } }

  /// The position of the collection called `name`, which is created if there is none.
  mutating func intern(_ name: String) -> Int {
    if let index = index(of: name) { return index }
    let id = UInt32(collections.count + 1)
    collections.append(CollectionState(id: id, name: name, isDirty: true))
    numbers[TextKey(name)] = id
    isCatalogueStale = true
    return collections.count - 1
  }

  /// Records that in this engine transaction an index becomes ready or goes; readers get a new catalogue.
  mutating func noteIndexes(in transaction: UInt64) {
    indexesSince = transaction
    isCatalogueStale = true
  }

  /// Reverts what a failed commit would have written to disk, but keeps names that readers may have seen.
  mutating func revert(to old: StoreState) {
    for index in collections.indices {
      let known = index < old.collections.count ? old.collections[index] : nil
      collections[index].aliveCount = known?.aliveCount ?? 0
      collections[index].recordCount = known?.recordCount ?? 0
      collections[index].storedKeys = known?.storedKeys ?? 0
      collections[index].isDirty = known?.isDirty ?? true
      collections[index].indexes = known?.indexes ?? []
    }
    // The next commit has the same number as the failed one, so its readers must not use the failed one's
    // catalogue.
    if indexesSince != old.indexesSince { isCatalogueStale = true }
    indexesSince = old.indexesSince
    readings = old.readings
    risenSites = old.risenSites
    log.revert(to: old.log)
    oversizeCount = old.oversizeCount
    lastIndex = old.lastIndex
  }
}

/// The store's position in its own log, and its clock.
struct LogState: Sendable {
  var sequence: UInt64 = 0
  var commitID: UInt64 = 0
  var evictionEpoch: UInt64 = 0
  var clock = HybridClock()
  /// The time by which lifetimes are measured.
  var lived = LivedTime()
  /// The greatest number that a document ever had.
  var lastNumber = DocumentNumber.none
  /// The log is complete for peers that know everything up to this sequence.
  var logStart: UInt64 = 0
  var sites = SiteCounts()

  /// The clock is not reverted: a reading that was given out is never given out again.
  mutating func revert(to old: LogState) {
    sequence = old.sequence
    commitID = old.commitID
    evictionEpoch = old.evictionEpoch
    lastNumber = old.lastNumber
    logStart = old.logStart
    sites = old.sites
  }
}
