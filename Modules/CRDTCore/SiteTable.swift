/// Where the sites stand that a table no longer has in memory.
///
/// A site keeps its ordinal for ever, and no other site gets it, so that any later moment will do.
package protocol StoredSites: AnyObject, Sendable {
  /// The site of an ordinal; `nil` where there is none any more, or it cannot be read.
  func site(_ ordinal: UInt32) -> SiteID?
}

/// The sites a store has met and their ordinals: append-only; ordinal 0 is the site of default data.
///
/// A value. Copies share the segments, which never change, so that adding a site copies at most 512 of them.
/// A store that has met very many keeps the newest ones here and has the others looked up on disk, by ordinal alone: a
/// site that is not here gets another ordinal when it comes again, and may so have several.
public struct SiteTable: Sendable {
  /// Sites that do not stand in a segment yet, at most.
  private static let recentLimit = 512
  /// Sites of a segment that was made of several, at most: so many are forgotten at a time.
  private static let segmentLimit = 4_096

  /// Those between are not longer than ``segmentLimit``.
  private var segments: [SiteSegment] = []
  /// The first ordinal behind them.
  private var settled: Int
  private var recent: [SiteID] = []
  private var recentOrdinals: [SiteID: UInt32] = [:]
  private let stored: (any StoredSites)?

  public init() { self.init(sites: [.zero]) }

  /// Makes a table whose ordinals are the indexes of `sites`; the first must be the zero site.
  public init(sites: [SiteID]) {
    self.init(sites: sites.first == .zero ? sites : [.zero] + sites, from: 0, stored: nil)
  }

  /// Makes a table of sites with ordinals in a row.
  ///
  /// - Parameters:
  ///   - sites: Beyond ordinal 0 the zero site stands for none.
  ///   - first: The ordinal of the first.
  ///   - stored: Has those before.
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

  /// How many ordinals were given.
  public var count: Int { settled + recent.count }

  /// The first ordinal of those in memory.
  package var firstKept: Int { segments.first?.first ?? settled }

  /// The sites in memory, by ascending ordinals.
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

  /// The zero site has no ordinal but 0.
  private static func known(_ site: SiteID, _ ordinal: UInt32) -> SiteID? {
    site != .zero || ordinal == 0 ? site : nil
  }

  /// The ordinal of a site in memory.
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

  /// Gives the next ordinal to a site, one that has an ordinal keeps it; or to none, which the zero site stands for.
  package mutating func append(_ site: SiteID) {
    if site != .zero, recentOrdinals[site] == nil { recentOrdinals[site] = UInt32(count) }
    recent.append(site)
    if recent.count == Self.recentLimit { settle() }
  }

  /// Has a site go by an ordinal under which it is stored, where it would get another: for a record that is made to be read.
  package mutating func use(_ ordinal: UInt32, for site: SiteID) {
    if self.ordinal(of: site) == nil { recentOrdinals[site] = ordinal }
  }

  /// Lets go of sites that are stored, as long as nobody has to find them by anything but their ordinals: segment by
  /// segment, those before `ordinal`.
  ///
  /// - Returns: Whether any were.
  package mutating func forget(before ordinal: Int) -> Bool {
    guard stored != nil else { return false }
    let count = segments.prefix { $0.end <= ordinal }.count
    segments.removeFirst(count)
    return count > 0
  }

  /// Makes a segment of the recent sites, and of those segments that are not much longer.
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

/// Sites with ordinals in a row: 22 bytes for each.
private final class SiteSegment: Sendable {
  let first: Int
  let sites: [SiteID]
  /// Open addressing by the hashes of sites, which nobody outside can foresee; 0 is free, else the index + 1.
  private let slots: [UInt32]

  init(_ sites: [SiteID], from first: Int) {
    var slots = [UInt32](repeating: 0, count: sites.count + sites.count / 2 + 1)
    for (index, site) in sites.enumerated() where site != .zero {
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

  /// The ordinal behind the last.
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
