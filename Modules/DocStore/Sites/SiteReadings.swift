import CRDTCore

/// The highest known readings of other sites' clocks, for the sites that are in memory.
///
/// A store may learn of a higher reading under its site than its own. Then another store met a later version
/// of it, or its clone.
struct SiteReadings: Sendable {
  /// The ordinal of the first site.
  private(set) var first = 0
  /// Zero where no reading is known, as beyond the last.
  private var values: [ClockReading] = []

  init() {}

  init(_ values: [ClockReading], from first: Int) {
    self.values = values
    self.first = first
  }

  /// The reading of a site that is in memory.
  subscript(ordinal: Int) -> ClockReading {
    let index = ordinal - first
    return index >= 0 && index < values.count ? values[index] : .zero
  }

  /// Records a reading.
  ///
  /// - Returns: `false` when a higher one is known, or the site is not in memory.
  mutating func raise(_ ordinal: Int, to reading: ClockReading) -> Bool {
    let index = ordinal - first
    guard index >= 0, self[ordinal] < reading else { return false }
    while values.count <= index { values.append(.zero) }
    values[index] = reading
    return true
  }

  /// Drops the readings of sites that are no longer in memory.
  mutating func forget(before ordinal: Int) {
    guard ordinal > first else { return }
    values = Array(values.dropFirst(ordinal - first))
    first = ordinal
  }
}

/// The number of known sites, and what is known of all of them together.
struct SiteCounts: Equatable, Sendable {
  /// One above the highest ordinal on disk; no ordinal is given twice.
  var stored = 1
  /// Sites with lower ordinals are found in the table `siteRuns`; the others stay in memory.
  var settled = 0
  /// No known reading of another site's clock is above this.
  var met = ClockReading.zero
  /// How many writers the removed records had, since sites were last collected.
  var gone = 0
}

extension SiteCounts {
  init(_ reader: inout ByteReader) throws(CodecError) {
    let limit = Int(UInt32.max)
    stored = Int(clamping: try reader.readFixed(as: UInt64.self))
    settled = Int(clamping: try reader.readFixed(as: UInt64.self))
    gone = Int(clamping: try reader.readFixed(as: UInt64.self))
    met = ClockReading(rawValue: try reader.readFixed())
    guard stored >= 1, stored <= limit, settled <= stored else {
      throw reader.failure(.malformed, "the counts of sites cannot be")
    }
  }

  func write(to out: inout ByteWriter) {
    out.writeFixed(UInt64(stored))
    out.writeFixed(UInt64(settled))
    out.writeFixed(UInt64(gone))
    out.writeFixed(met.rawValue)
  }
}

extension StoreState {
  /// Records the clock reading of a site that is in memory.
  mutating func note(_ reading: ClockReading, at ordinal: Int) {
    guard readings.raise(ordinal, to: reading) else { return }
    highestMet = max(highestMet, reading)
    log.sites.met = highestMet
    if ordinal < log.sites.stored { risenSites.insert(ordinal) }
  }
}
