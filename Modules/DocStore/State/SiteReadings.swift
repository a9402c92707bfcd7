import CRDTCore

/// The highest readings of other sites' clocks that a transaction has met with.
///
/// Who knows a higher one of a site than its store does itself has met a later version of that store, or its twin.
struct SiteReadings {
  private(set) var bySite: [SiteID: ClockReading] = [:]
  /// The documents of one import tell the same over and over.
  private var last = (site: SiteID.zero, reading: ClockReading.zero)

  mutating func note(_ site: SiteID, _ reading: ClockReading) {
    if site == last.site, reading <= last.reading { return }
    // Default data is of no time.
    guard site != .zero else { return }
    let highest = max(bySite[site] ?? .zero, reading)
    bySite[site] = highest
    last = (site, highest)
  }
}

extension StoreState {
  /// The highest reading of a site that was met with; zero where none was.
  func reading(of site: SiteID) -> ClockReading {
    guard let ordinal = sites.ordinal(of: site), Int(ordinal) < readings.count else { return .zero }
    return readings[Int(ordinal)]
  }

  /// Takes over what a transaction has met with.
  mutating func note(_ seen: SiteReadings) {
    for (site, reading) in seen.bySite {
      guard let ordinal = sites.ordinal(of: site) else { continue }
      let index = Int(ordinal)
      while readings.count <= index { readings.append(.zero) }
      guard readings[index] < reading else { continue }
      highestMet = max(highestMet, reading)
      readings[index] = reading
      if index < storedSites { risenSites.append(index) }
    }
    log.met = highestMet
  }
}
