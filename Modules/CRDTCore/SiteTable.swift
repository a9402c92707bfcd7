/// The sites a store has met and their ordinals: append-only; ordinal 0 is the site of default data.
public struct SiteTable: Sendable {
  public private(set) var sites: [SiteID]
  private var ordinals: [SiteID: UInt32]

  public init() { self.init(sites: [.zero]) }

  /// Makes a table whose ordinals are the indexes of `sites`; the first must be the zero site.
  public init(sites: [SiteID]) {
    self.sites = sites.first == .zero ? sites : [.zero] + sites
    ordinals = [:]
    for (ordinal, site) in self.sites.enumerated() where ordinals[site] == nil {
      ordinals[site] = UInt32(ordinal)
    }
  }

  public subscript(ordinal: UInt32) -> SiteID? { Int(ordinal) < sites.count ? sites[Int(ordinal)] : nil }

  public func ordinal(of site: SiteID) -> UInt32? { ordinals[site] }

  package mutating func intern(_ site: SiteID) -> UInt32 {
    if let known = ordinals[site] { return known }
    let ordinal = UInt32(sites.count)
    sites.append(site)
    ordinals[site] = ordinal
    return ordinal
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
