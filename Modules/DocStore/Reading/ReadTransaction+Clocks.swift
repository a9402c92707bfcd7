public import CRDTCore

extension ReadTransaction {
  /// A reading that no write in this snapshot is a millisecond above: of nobody's, and so neither of the store's own.
  ///
  /// A write on a document that is from the future is above the store's clock, but next to what it follows.
  public borrowing func highestReading() throws -> ClockReading {
    var highest = log.clock.latest
    if let met = log.met { return max(highest, met) }
    // An older commit than the last one.
    try pages.access.eachSite(pages.tables) { _, _, reading in
      highest = max(highest, reading)
      return true
    }
    return highest
  }

  /// The highest reading of a site's clock among the writes that came from elsewhere.
  ///
  /// A store that says of itself that its highest reading is a millisecond or more behind that has been put back, or
  /// has a twin.
  ///
  /// - Returns: `nil` when no write of the site ever came here.
  /// - Throws: `corrupt` or `io`.
  public borrowing func highestReading(of site: SiteID) throws -> ClockReading? {
    guard let ordinal = sites.ordinal(of: site), ordinal > 0 else { return nil }
    let reading = try pages.access.small(StoreState.key(ordinal), in: pages.tables.sites, "sites") {
      (reader) throws(CodecError) in
      _ = try reader.readSite()
      return ClockReading(rawValue: try reader.readFixed())
    }
    return reading.flatMap { $0 > .zero ? $0 : nil }
  }
}
