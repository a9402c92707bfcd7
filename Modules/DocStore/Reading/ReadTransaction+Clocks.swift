public import CRDTCore

extension ReadTransaction {
  /// A reading that no write in this snapshot exceeds by a millisecond, no matter which store made the write.
  ///
  /// A write on a document from the future is above the store's clock, but directly above the write that it
  /// follows.
  public borrowing func highestReading() throws -> ClockReading {
    _ = try pages
    return max(log.clock.latest, log.sites.met)
  }

  /// The highest reading of a site's clock among the writes that came from other stores.
  ///
  /// If a store says that its own highest reading is a millisecond or more below this, that store was
  /// restored from an earlier state, or it has a clone.
  ///
  /// - Returns: `nil` when no write of the site has arrived here.
  /// - Throws: `corrupt` or `io`.
  public borrowing func highestReading(of site: SiteID) throws -> ClockReading? {
    let pages = try pages
    let reading = try pages.access.highestReading(
      of: site, known: sites.ordinal(of: site), isWhole: log.sites.settled == 0, pages.tables)
    return reading.flatMap { $0 > .zero ? $0 : nil }
  }
}
