/// Access to the stored sites that a table no longer has in memory.
///
/// A site keeps its ordinal for ever, and no other site gets it, so the time of a lookup does not matter.
package protocol StoredSites: AnyObject, Sendable {
  /// Returns the site of an ordinal; `nil` if it is no longer stored or cannot be read.
  func site(_ ordinal: UInt32) -> SiteID?
}

/// The sites that a store has met and their ordinals: append-only; ordinal 0 is the site of default data.
///
/// It is a value. Copies share the segments, which never change, so adding a site copies at most 512 sites. A
/// store that has met very many sites keeps the newest ones in memory, and finds the others on disk by
/// ordinal only. A site that is not in memory gets a new ordinal when it occurs again, so it may have
/// several.
public struct SiteTable: Sendable {
  /// The most sites that are not in a segment yet.
  private static let recentLimit = 512
  /// The most sites of a segment that was made of several; a table drops this many at a time.
  private static let segmentLimit = 4_096

  /// All segments except the first have at most ``segmentLimit`` sites.
  private var segments: [SiteSegment] = []
  /// The first ordinal after the segments.
  private var settled: Int
  private var recent: [SiteID] = []
  private var recentOrdinals: [SiteID: UInt32] = [:]
  private let stored: (any StoredSites)?

  public init() { self.init(sites: [.zero]) }

  /// Makes a table whose ordinals are the indexes of `sites`; the first must be the zero site.
  public init(sites: [SiteID]) {
    self.init(sites: sites.first == .zero ? sites : [.zero] + sites, from: 0, stored: nil)
  }

  /// Makes a table of sites with consecutive ordinals.
  ///
  /// - Parameters:
  ///   - sites: The sites; at ordinals other than 0, the zero site means that there is none.
  ///   - first: The ordinal of the first site.
  ///   - stored: The sites with lower ordinals.
  package init(sites: [SiteID], from first: Int, stored: (any StoredSites)?) {
    self.stored = stored
    settled = first
    guard sites.count >= Self.recentLimit else {
      for site in sites { append(site) }
      return
    }
    var start = 0
    while start < sites.count {
      let end = min(start + max(Self.segmentLimit, stored == nil ? sites.count : 0), sites.count)
      segments.append(SiteSegment(Array(sites[start..<end]), from: first + start))
      start = end
    }
    settled = first + sites.count
  }

  /// The number of ordinals that were assigned.
  public var count: Int { settled + recent.count }

  /// The lowest ordinal in memory.
  package var firstKept: Int { segments.first?.first ?? settled }

  /// The sites in memory, in ascending order of their ordinals.
  ///
  /// - Complexity: O(*n*).
  public var sites: [SiteID] { segments.flatMap(\.sites) + recent }

  public subscript(ordinal: UInt32) -> SiteID? {
    let index = Int(ordinal) - settled
    guard index < 0 else { return index < recent.count ? Self.known(recent[index], ordinal) : nil }
    for segment in segments where Int(ordinal) < segment.end {
      guard Int(ordinal) >= segment.first else { break }
      return Self.known(segment.sites[Int(ordinal) - segment.first], ordinal)
    }
    return ordinal == 0 ? .zero : stored?.site(ordinal)
  }

  /// Returns no site for the zero site, unless its ordinal is 0.
  private static func known(_ site: SiteID, _ ordinal: UInt32) -> SiteID? {
    site != .zero || ordinal == 0 ? site : nil
  }

  /// Returns the ordinal of a site in memory.
  ///
  /// - Complexity: O(log *n*) look-ups.
  public func ordinal(of site: SiteID) -> UInt32? {
    if site == .zero { return 0 }
    for segment in segments { if let ordinal = segment.ordinal(of: site) { return ordinal } }
    return recentOrdinals[site]
  }

  package mutating func intern(_ site: SiteID) -> UInt32 {
    if let known = ordinal(of: site) { return known }
    let ordinal = UInt32(count)
    append(site)
    return ordinal
  }

  /// Assigns the next ordinal to a site, or to none if it is the zero site.
  ///
  /// A site that has an ordinal keeps it.
  package mutating func append(_ site: SiteID) {
    if site != .zero, recentOrdinals[site] == nil { recentOrdinals[site] = UInt32(count) }
    recent.append(site)
    if recent.count == Self.recentLimit { settle() }
  }

  /// Makes a site use the ordinal under which it is stored, for a record that is made only to be read.
  ///
  /// Without this, the site would get another ordinal.
  package mutating func use(_ ordinal: UInt32, for site: SiteID) {
    if self.ordinal(of: site) == nil { recentOrdinals[site] = ordinal }
  }

  /// Drops stored sites before `ordinal` from memory, segment by segment.
  ///
  /// Afterwards these sites are found only by their ordinals.
  ///
  /// - Returns: Whether any were dropped.
  package mutating func forget(before ordinal: Int) -> Bool {
    guard stored != nil else { return false }
    let count = segments.prefix { $0.end <= ordinal }.count
    segments.removeFirst(count)
    return count > 0
  }

  /// Makes a segment of the recent sites, and of the last segments if these are not much longer.
  private mutating func settle() {
    var first = settled
    var sites = exchange(&recent, with: [])
    recentOrdinals = [:]
    settled += sites.count
    while let last = segments.last, last.sites.count <= 2 * sites.count,
      last.sites.count + sites.count <= Self.segmentLimit
    {
      first = last.first
      sites = last.sites + sites
      segments.removeLast()
    }
    segments.append(SiteSegment(sites, from: first))
  }
}

/// Sites with consecutive ordinals: 22 bytes for each.
private final class SiteSegment: Sendable {
  let first: Int
  let sites: [SiteID]
  /// Open addressing by the hashes of sites, which an attacker cannot predict.
  ///
  /// 0 is a free slot, any other number is the index + 1.
  private let slots: [UInt32]

  init(_ sites: [SiteID], from first: Int) {
    var slots = [UInt32](repeating: 0, count: sites.count + sites.count / 2 + 1)
    for (index, site) in sites.enumerated() where site != .zero {
      var slot = Self.slot(of: site, among: slots.count)
      // If sites are equal, which happens only through damage, the first counts.
      while slots[slot] != 0, sites[Int(slots[slot]) - 1] != site {
        slot = slot + 1 == slots.count ? 0 : slot + 1
      }
      if slots[slot] == 0 { slots[slot] = UInt32(index + 1) }
    }
    self.first = first
    self.sites = sites
    self.slots = slots
  }

  /// The ordinal after the last one.
  var end: Int { first + sites.count }

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
