import CRDTCore

/// The table of sites, of which there may be very many: each is looked at in place.
extension PageAccess {
  /// Visits all sites in the order of their ordinals, with the highest reading of each one's clock that was met with.
  ///
  /// `body` returns `false` for one that cannot be.
  func eachSite(
    _ tables: Tables, _ body: (UInt32, SiteID, ClockReading) -> Bool
  ) throws(StoreError) {
    do {
      try scan(tables.sites, from: [UInt8]().rawBytes) { key, stored in
        guard SmallRecord.isIntact(stored, at: key) else { throw SmallRecord.damaged("sites") }
        var (name, value) = (ByteReader(key), ByteReader(stored))
        let ordinal: UInt32 = try name.readFixed()
        let site = try value.readSite()
        guard body(ordinal, site, ClockReading(rawValue: try value.readFixed())) else {
          throw SmallRecord.damaged("sites")
        }
        return true
      }
    } catch let error as StoreError {
      throw error
    } catch {
      throw SmallRecord.damaged("sites")
    }
  }
}

extension StoreState {
  /// Reads the sites and what was met of their clocks.
  mutating func readSites(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    var sites: [SiteID] = [.zero]
    readings = [.zero]
    // How many entries there are is what the file says, which may be damaged.
    let expected = min(try access.entryCount(tables.sites), 1 << 20) + 1
    sites.reserveCapacity(expected)
    readings.reserveCapacity(expected)
    try access.eachSite(tables) { ordinal, site, reading in
      guard ordinal == UInt32(sites.count) else { return false }
      sites.append(site)
      readings.append(reading)
      highestMet = max(highestMet, reading)
      return true
    }
    log.met = highestMet
    storedSites = sites.count
    self.sites = SiteTable(sites: sites)
  }
}
