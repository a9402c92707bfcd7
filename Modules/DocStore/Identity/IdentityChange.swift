public import CRDTCore

/// Reports that the store became a new site, because it was found to be a copy or for another reason.
public struct IdentityChange: Hashable, Sendable {
  /// Why the store became a new site.
  public struct Reason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The data is in another file than the one it was written to.
    ///
    /// The directory was copied, or moved to another file system.
    public static let copied = Reason(rawValue: "copied")
    /// The data is older than this store's last write: it was put back from a backup.
    public static let restored = Reason(rawValue: "restored")
    /// The data was created as a backup, and is a store of its own from its first open on.
    public static let backup = Reason(rawValue: "backup")
    /// The file `instance` beside the data is missing or damaged.
    public static let sideFileMissing = Reason(rawValue: "sideFileMissing")
    /// The site does not follow from the key with which the store is opened.
    public static let key = Reason(rawValue: "key")
    /// A peer has found another store that writes as the same site, with more or other writes.
    public static let cloned = Reason(rawValue: "cloned")
    /// The store's clock was ahead, and restarts at the wall clock.
    public static let clock = Reason(rawValue: "clock")
  }

  public let reason: Reason
  /// The site under which the data was written; its writes stay.
  public let previousSite: SiteID

  public init(reason: Reason, previousSite: SiteID) {
    self.reason = reason
    self.previousSite = previousSite
  }
}

extension IdentityChange.Reason: CustomStringConvertible {
  public var description: String { rawValue }
}

extension IdentityChange {
  /// The line for the log.
  var line: String {
    let cause =
      switch reason {
      case .copied: "its files are a copy"
      case .restored: "it was put back from an older copy"
      case .backup: "it was made as a backup"
      case .key: "the one that it had does not follow from the device's key"
      case .cloned: "a peer has met another store that writes as the same site"
      case .clock: "its clock had run ahead and begins anew"
      default: "the file that says whether it was copied is missing"
      }
    return "The store takes a new site, because \(cause); it was site \(previousSite)"
  }
}
