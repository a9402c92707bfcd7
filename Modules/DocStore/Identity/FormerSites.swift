package import CRDTCore

/// A site as which this store wrote before it became another one.
package struct FormerSite: Hashable, Sendable {
  package let site: SiteID
  /// The latest reading of the store's clock as this site.
  ///
  /// Another store may go on as this site. Documents to which that one writes first have a later birth.
  package let latest: ClockReading

  package init(site: SiteID, latest: ClockReading) {
    self.site = site
    self.latest = latest
  }

  /// Whether writes of a writer to a document may be this store's.
  package func mayBe(_ writer: CRDTCore.Writer) -> Bool { writer.site == site && writer.birth <= latest }
}

/// The sites as which this store wrote before, oldest first.
struct FormerSites: Hashable, Sendable {
  /// How many are kept: a store that becomes another site more often forgets the first ones.
  static let limit = 256
  private static let key = Array("formerSites".utf8)

  private(set) var sites: [FormerSite] = []

  init() {}

  /// - Throws: `corrupt` for a damaged entry.
  init(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    let stored = try access.small(Self.key, in: tables.meta, "meta") { reader throws(CodecError) in
      try FormerSites(&reader)
    }
    self = stored ?? FormerSites()
  }

  init(_ reader: inout ByteReader) throws(CodecError) {
    while !reader.isAtEnd {
      sites.append(
        FormerSite(site: try reader.readSite(), latest: ClockReading(rawValue: try reader.readFixed())))
    }
  }

  /// Whether an entry of `meta` has these sites.
  static func isKey(_ key: [UInt8]) -> Bool { key == self.key }

  mutating func add(_ former: FormerSite) {
    let known = sites.first { $0.site == former.site }?.latest ?? .zero
    sites.removeAll { $0.site == former.site }
    sites.append(FormerSite(site: former.site, latest: max(known, former.latest)))
    if sites.count > Self.limit { sites.removeFirst(sites.count - Self.limit) }
  }

  func write(_ access: PageAccess, _ tables: Tables) throws(StoreError) {
    var value = ByteWriter(capacity: sites.count * 24)
    for former in sites {
      value.write(former.site)
      value.writeFixed(former.latest.rawValue)
    }
    try SmallRecord.put(value.bytes, at: Self.key, in: tables.meta, access)
  }

  /// Adds a site to those that are stored.
  ///
  /// A damaged entry stays as it is. So its readers go on to find that they do not know the sites.
  static func add(_ former: FormerSite, _ access: PageAccess, _ tables: Tables) throws(StoreError) {
    do throws(StoreError) {
      var sites = try FormerSites(access, tables)
      sites.add(former)
      try sites.write(access, tables)
    } catch {
      guard error.code == .corrupt else { throw error }
    }
  }
}

extension ReadTransaction {
  /// The sites as which this store wrote before; an older release has recorded none.
  ///
  /// - Throws: `corrupt` for a damaged entry.
  package borrowing func formerSites() throws -> [FormerSite] {
    let pages = try pages
    return try FormerSites(pages.access, pages.tables).sites
  }
}

extension WriteTransaction {
  /// The sites as which this store wrote before; an older release has recorded none.
  ///
  /// - Throws: `corrupt` for a damaged entry.
  package func formerSites() throws -> [FormerSite] {
    let access = try pages().access
    return try FormerSites(access, tables).sites
  }

  /// Records a site as which the store wrote from which this one is made.
  func add(_ former: FormerSite) throws(StoreError) {
    let access = try pagesToWrite("renew")
    keepsTime = true
    try update { () throws(StoreError) in try FormerSites.add(former, access, tables) }
  }
}
