public import CRDTCore

extension ReadTransaction {
  /// A reading that no write in this snapshot is a millisecond above: of nobody's, and so neither of the store's own.
  ///
  /// A write on a document that is from the future is above the store's clock, but next to what it follows.
  public borrowing func highestReading() throws -> ClockReading {
    _ = try pages
    return max(log.clock.latest, log.sites.met)
  }

  /// The highest reading of a site's clock among the writes that came from elsewhere.
  ///
  /// A store that says of itself that its highest reading is a millisecond or more behind that has been put back, or
  /// has a twin.
  ///
  /// - Returns: `nil` when no write of the site ever came here.
  /// - Throws: `corrupt` or `io`.
  public borrowing func highestReading(of site: SiteID) throws -> ClockReading? {
    let pages = try pages
    let reading = try pages.access.highestReading(
      of: site, known: sites.ordinal(of: site), isWhole: log.sites.settled == 0, pages.tables)
    return reading.flatMap { $0 > .zero ? $0 : nil }
  }
}
