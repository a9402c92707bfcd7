import CRDTCore

/// The sites found in a file, by their ordinals; many of them may be missing.
final class FoundSites: StoredSites, Sendable {
  private let byOrdinal: [UInt32: SiteID]

  private init(_ byOrdinal: [UInt32: SiteID]) { self.byOrdinal = byOrdinal }

  func site(_ ordinal: UInt32) -> SiteID? { byOrdinal[ordinal] }

  /// A table for reading only.
  static func table(_ byOrdinal: [UInt32: SiteID]) -> SiteTable {
    SiteTable(sites: [], from: Int(UInt32.max), stored: FoundSites(byOrdinal))
  }
}
