public import CRDTCore

/// That a store was found to be a copy of what it was, and so became a site of its own.
public struct IdentityChange: Hashable, Sendable {
  /// What gave it away.
  public struct Reason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// The data stands in another file than the one it was written to: the directory was copied, or moved
    /// to another file system.
    public static let copied = Reason(rawValue: "copied")
    /// The data is older than what this store wrote last: it was put back from a backup.
    public static let restored = Reason(rawValue: "restored")
    /// The data was made as a backup, and is a store of its own from its first open on.
    public static let backup = Reason(rawValue: "backup")
    /// The file `instance` beside the data is missing or damaged.
    public static let sideFileMissing = Reason(rawValue: "sideFileMissing")
    /// The site does not follow from the key that the store is opened with.
    public static let key = Reason(rawValue: "key")
    /// A peer has met a store that writes as the same site, and has written more or other things.
    public static let cloned = Reason(rawValue: "cloned")
    /// The store's clock had run ahead, and begins anew at the wall clock.
    public static let clock = Reason(rawValue: "clock")
  }

  public let reason: Reason
  /// The site that the data was written by; what it wrote stays.
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
  /// One line for the log.
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
