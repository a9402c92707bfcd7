import CRDTCore
import TestKit
import Testing

@Suite struct SiteTableTests {
  private static func site(_ number: Int) -> SiteID {
    SiteID(high: UInt64(number % 3), low: UInt64(number) + 1)
  }

  /// On both sides of what is copied for each new site, and of what is put together then.
  @Test(arguments: [0, 1, 510, 511, 512, 513, 1_023, 1_024, 1_025, 5_000])
  func `sites that are added one by one, or all at once, have the same ordinals`(count: Int) {
    let sites = [.zero] + (0..<count).map(Self.site)
    var grown = SiteTable()
    for (ordinal, site) in sites.enumerated() {
      expectEqual(grown.intern(site), UInt32(ordinal))
      expectEqual(grown.intern(site), UInt32(ordinal))
    }
    for table in [grown, SiteTable(sites: sites), SiteTable(sites: Array(sites.dropFirst()))] {
      expectEqual(table.count, sites.count)
      expectEqual(table.sites, sites)
      expect(sites.indices.allSatisfy { table[UInt32($0)] == sites[$0] })
      expect(sites.indices.allSatisfy { table.ordinal(of: sites[$0]) == UInt32($0) })
      expect(table[UInt32(sites.count)] == nil)
      expect(table[.max] == nil)
      expect(table.ordinal(of: Self.site(count)) == nil)
    }
  }

  @Test func `a copy does not see what is added to another one`() {
    var tables = [SiteTable()]
    for number in 0..<3_000 {
      var next = tables[tables.count - 1]
      _ = next.intern(Self.site(number))
      if number % 100 == 0 { tables.append(next) } else { tables[tables.count - 1] = next }
    }
    for (index, table) in Array(tables.enumerated()).dropFirst() {
      expectEqual(table.count, min(index * 100, 3_000) + 1)
      expect(table.ordinal(of: Self.site(table.count - 1)) == nil)
      expectEqual(table.ordinal(of: Self.site(table.count - 2)), UInt32(table.count - 1))
    }
  }

  @Test func `of equal sites, which only damage makes, the first counts`() {
    let sites = [.zero] + (0..<600).map { Self.site($0 % 500) }
    for table in [SiteTable(sites: sites), SiteTable(sites: Array(sites.prefix(505)))] {
      expect((0..<500).allSatisfy { table.ordinal(of: Self.site($0)) == UInt32($0 + 1) })
      expectEqual(table[502], Self.site(1))
    }
  }
}
