import CRDTCore

/// The highest readings of sites' clocks that were met with, for those sites that are in memory.
///
/// Who knows a higher one of a site than its store does itself has met a later version of that store, or its twin.
struct SiteReadings: Sendable {
  /// The ordinal of the first.
  private(set) var first = 0
  /// Zero where none was met with, as beyond the last.
  private var values: [ClockReading] = []

  init() {}

  init(_ values: [ClockReading], from first: Int) {
    self.values = values
    self.first = first
  }

  /// Of a site that is in memory.
  subscript(ordinal: Int) -> ClockReading {
    let index = ordinal - first
    return index >= 0 && index < values.count ? values[index] : .zero
  }

  /// Takes note of a reading.
  ///
  /// - Returns: `false` when a higher one is known, or the site is not in memory.
  mutating func raise(_ ordinal: Int, to reading: ClockReading) -> Bool {
    let index = ordinal - first
    guard index >= 0, self[ordinal] < reading else { return false }
    while values.count <= index { values.append(.zero) }
    values[index] = reading
    return true
  }

  /// Lets go of those of sites that are no longer in memory.
  mutating func forget(before ordinal: Int) {
    guard ordinal > first else { return }
    values = Array(values.dropFirst(ordinal - first))
    first = ordinal
  }
}

/// How many sites a store has met, and what it knows of them all.
struct SiteCounts: Equatable, Sendable {
  /// The ordinals given, of those on disk; none is given again.
  var stored = 1
  /// Those below are found by their sites in the table `siteRuns`; the others are in memory as long as the store is open.
  var settled = 0
  /// None of the readings of other sites' clocks that were met with is above this.
  var met = ClockReading.zero
  /// How many writers the records had that have gone since sites were last collected.
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
  /// Takes note of the reading of a site's clock that is in memory.
  mutating func note(_ reading: ClockReading, at ordinal: Int) {
    guard readings.raise(ordinal, to: reading) else { return }
    highestMet = max(highestMet, reading)
    log.sites.met = highestMet
    if ordinal < log.sites.stored { risenSites.insert(ordinal) }
  }
}
