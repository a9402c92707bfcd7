import CRDTCore

/// An entry of the table of sites, which may be very large, so each entry is read in place.
struct StoredSite {
  let ordinal: UInt32
  let site: SiteID
  /// The highest known reading of the site's clock in other stores' data; zero if none is known.
  let reading: ClockReading

  /// Reads an entry of the table; `nil` for a damaged entry.
  init?(_ key: RawSpan, _ stored: RawSpan) {
    guard SmallRecord.isIntact(stored, at: key) else { return nil }
    var (name, value) = (ByteReader(key), ByteReader(stored))
    guard let ordinal: UInt32 = try? name.readFixed(), name.isAtEnd, let site = try? value.readSite(),
      site != .zero, let reading: UInt64 = try? value.readFixed()
    else { return nil }
    self.ordinal = ordinal
    self.site = site
    self.reading = ClockReading(rawValue: reading)
  }
}

extension PageAccess {
  /// Visits the sites from an ordinal on, in the order of their ordinals, until `body` returns `false`.
  func eachSite(_ tables: Tables, from first: Int, _ body: (StoredSite) -> Bool) throws(StoreError) {
    do {
      try scan(tables.sites, from: StoreState.key(UInt32(clamping: first)).rawBytes) { key, stored in
        guard let site = StoredSite(key, stored) else { throw SmallRecord.damaged("sites") }
        return body(site)
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw SmallRecord.damaged("sites")
    }
  }

  /// The highest reading of a site's clock, under any of its ordinals; `nil` if it has none.
  ///
  /// `known` is its ordinal in memory; `isWhole` says that all sites are in memory.
  ///
  /// - Complexity: O(log *n*) if all sites are in memory, otherwise at least O(*n* / 2,048).
  func highestReading(
    of site: SiteID, known: UInt32?, isWhole: Bool, _ tables: Tables
  ) throws(StoreError) -> ClockReading? {
    var ordinals = try isWhole ? [] : self.ordinals(of: site, tables)
    if let known, !ordinals.contains(known) { ordinals.append(known) }
    var highest: ClockReading?
    for ordinal in ordinals where ordinal > 0 {
      let reading = try small(StoreState.key(ordinal), in: tables.sites, "sites") {
        (reader) throws(CodecError) in
        _ = try reader.readSite()
        return ClockReading(rawValue: try reader.readFixed())
      }
      if let reading { highest = max(highest ?? .zero, reading) }
    }
    return highest
  }

  /// The ordinals of a site among the sites in the table `siteRuns`.
  private func ordinals(of site: SiteID, _ tables: Tables) throws(StoreError) -> [UInt32] {
    var found: [UInt32] = []
    do {
      try scan(tables.siteRuns, from: [UInt8]().rawBytes, ahead: 0) { key, stored, isSuspect in
        if isSuspect, !SmallRecord.isIntact(stored, at: key) { throw SmallRecord.damaged("siteRuns") }
        var name = ByteReader(key)
        guard let first: UInt32 = try? name.readFixed(), let count = SiteRun.count(stored) else {
          throw SmallRecord.damaged("siteRuns")
        }
        if let ordinal = SiteRun.ordinal(of: site, in: stored, count, from: first) { found.append(ordinal) }
        return true
      }
      return found
    } catch {
      // What the table says can be read from the sites as well, but slowly.
      found = []
      try eachSite(tables, from: 0) { stored in
        if stored.site == site { found.append(stored.ordinal) }
        return true
      }
      return found
    }
  }
}

extension StoreState {
  /// Reads the sites that must be in memory, and the known readings of their clocks.
  mutating func readSites(
    _ access: PageAccess, _ tables: Tables, _ archive: SiteArchive
  ) throws(StoreError) {
    let (first, end) = (log.sites.settled, log.sites.stored)
    var found: [SiteID] = first == 0 ? [.zero] : []
    var met: [ClockReading] = first == 0 ? [.zero] : []
    var isWhole = true
    try access.eachSite(tables, from: first) { stored in
      isWhole = Int(stored.ordinal) == first + found.count
      found.append(stored.site)
      met.append(stored.reading)
      return isWhole
    }
    guard isWhole, first + found.count == end else { throw SmallRecord.damaged("sites") }
    highestMet = log.sites.met
    sites = SiteTable(sites: found, from: first, stored: archive)
    readings = SiteReadings(met, from: first)
  }

  /// Looks up the known readings of the store's own site.
  mutating func readOwn(_ site: SiteID, _ environment: Environment) throws(StoreError) {
    let reader = try environment.beginRead()
    defer { environment.recycle(reader) }
    let met = try reader.access.highestReading(
      of: site, known: sites.ordinal(of: site), isWhole: log.sites.settled == 0, environment.tables)
    own = (site, met ?? .zero)
  }

  /// Writes the sites that a job added, and readings that have increased.
  ///
  /// About `kept` sites stay in memory. Those before them are written to the table of runs, `run` sites in
  /// each entry.
  mutating func flushSites(
    _ access: PageAccess, _ tables: Tables, kept: Int, run: Int
  ) throws(StoreError) {
    for ordinal in risenSites.sorted() { try flushSite(ordinal, access, tables) }
    risenSites = []
    guard log.sites.stored < sites.count else { return }
    for ordinal in log.sites.stored..<sites.count { try flushSite(ordinal, access, tables) }
    log.sites.stored = sites.count
    isCatalogueStale = true
    while sites.count - log.sites.settled >= kept + run {
      let first = log.sites.settled
      let members = (first..<first + run).compactMap { ordinal in
        ordinal == 0 ? nil : sites[UInt32(ordinal)].map { SiteRun.Member(ordinal: UInt32(ordinal), site: $0) }
      }
      try SmallRecord.append(
        SiteRun.encode(members, from: UInt32(first)), at: Self.key(UInt32(first)), in: tables.siteRuns, access
      )
      log.sites.settled += run
    }
  }

  private func flushSite(_ ordinal: Int, _ access: PageAccess, _ tables: Tables) throws(StoreError) {
    guard let site = sites[UInt32(ordinal)] else { return }
    var value = ByteWriter(capacity: 24)
    value.write(site)
    value.writeFixed(readings[ordinal].rawValue)
    let key = Self.key(UInt32(ordinal))
    if ordinal < log.sites.stored {
      try SmallRecord.put(value.bytes, at: key, in: tables.sites, access)
    } else {
      try SmallRecord.append(value.bytes, at: key, in: tables.sites, access)
    }
  }

  /// Drops sites beyond those that should stay in memory, if the last commit contains them.
  ///
  /// Call it once that commit is durable: from then on, snapshots need to find these sites only by their
  /// ordinals.
  /// - Returns: Whether any were dropped.
  mutating func forgetSites(kept: Int) -> Bool {
    let bound = min(log.sites.settled, sites.count - kept)
    guard bound > sites.firstKept, sites.forget(before: bound) else { return false }
    readings.forget(before: sites.firstKept)
    isCatalogueStale = true
    return true
  }
}
