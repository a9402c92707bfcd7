/// The sites a store has met and their ordinals: append-only; ordinal 0 is the site of default data.
///
/// A value. Copies share the segments, which never change, so that adding a site copies at most ``recentLimit`` of them.
public struct SiteTable: Sendable {
  /// Sites that do not stand in a segment yet, at most.
  private static let recentLimit = 512

  /// Each has more than twice as many sites as the next one.
  private var segments: [SiteSegment] = []
  /// How many sites they have.
  private var settled = 0
  private var recent: [SiteID] = []
  private var recentOrdinals: [SiteID: UInt32] = [:]

  public init() { self.init(sites: [.zero]) }

  /// Makes a table whose ordinals are the indexes of `sites`; the first must be the zero site.
  public init(sites: [SiteID]) {
    let sites = sites.first == .zero ? sites : [.zero] + sites
    guard sites.count >= Self.recentLimit else {
      for site in sites { append(site) }
      return
    }
    segments = [SiteSegment(sites, from: 0)]
    settled = sites.count
  }

  public var count: Int { settled + recent.count }

  /// All sites; the index is the ordinal.
  ///
  /// - Complexity: O(*n*).
  public var sites: [SiteID] { segments.flatMap(\.sites) + recent }

  public subscript(ordinal: UInt32) -> SiteID? {
    let index = Int(ordinal) - settled
    guard index < 0 else { return index < recent.count ? recent[index] : nil }
    for segment in segments where Int(ordinal) < segment.first + segment.sites.count {
      return segment.sites[Int(ordinal) - segment.first]
    }
    return nil
  }

  /// - Complexity: O(log *n*) look-ups.
  public func ordinal(of site: SiteID) -> UInt32? {
    for segment in segments { if let ordinal = segment.ordinal(of: site) { return ordinal } }
    return recentOrdinals[site]
  }

  package mutating func intern(_ site: SiteID) -> UInt32 {
    if let known = ordinal(of: site) { return known }
    let ordinal = UInt32(count)
    append(site)
    return ordinal
  }

  /// Gives the next ordinal to a site; one that has an ordinal keeps it.
  package mutating func append(_ site: SiteID) {
    if recentOrdinals[site] == nil { recentOrdinals[site] = UInt32(count) }
    recent.append(site)
    if recent.count == Self.recentLimit { settle() }
  }

  /// Makes a segment of the recent sites, and of those segments that are not much longer.
  private mutating func settle() {
    var first = settled
    var sites = exchange(&recent, with: [])
    recentOrdinals = [:]
    settled += sites.count
    while let last = segments.last, last.sites.count <= 2 * sites.count {
      first = last.first
      sites = last.sites + sites
      segments.removeLast()
    }
    segments.append(SiteSegment(sites, from: first))
  }
}

/// Sites with ordinals in a row: 22 bytes for each.
private final class SiteSegment: Sendable {
  let first: Int
  let sites: [SiteID]
  /// Open addressing by the hashes of sites, which nobody outside can foresee; 0 is free, else the index + 1.
  private let slots: [UInt32]

  init(_ sites: [SiteID], from first: Int) {
    var slots = [UInt32](repeating: 0, count: sites.count + sites.count / 2 + 1)
    for (index, site) in sites.enumerated() {
      var slot = Self.slot(of: site, among: slots.count)
      // Of equal ones, which only damage makes, the first counts.
      while slots[slot] != 0, sites[Int(slots[slot]) - 1] != site {
        slot = slot + 1 == slots.count ? 0 : slot + 1
      }
      if slots[slot] == 0 { slots[slot] = UInt32(index + 1) }
    }
    self.first = first
    self.sites = sites
    self.slots = slots
  }

  func ordinal(of site: SiteID) -> UInt32? {
    var slot = Self.slot(of: site, among: slots.count)
    while slots[slot] != 0 {
      let index = Int(slots[slot]) - 1
      if sites[index] == site { return UInt32(first + index) }
      slot = slot + 1 == slots.count ? 0 : slot + 1
    }
    return nil
  }

  private static func slot(of site: SiteID, among count: Int) -> Int {
    Int(UInt(bitPattern: site.hashValue).multipliedFullWidth(by: UInt(count)).high)
  }
}

/// The dictionaries that a collection's records refer to.
public struct RecordTables: Sendable {
  public var keys: KeyTable
  public var sites: SiteTable

  public init(keys: KeyTable = KeyTable(), sites: SiteTable = SiteTable()) {
    self.keys = keys
    self.sites = sites
  }
}
