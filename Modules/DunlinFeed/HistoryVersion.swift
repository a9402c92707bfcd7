public import CRDTCore

/// The state in which a transaction of this store left a document.
public struct HistoryVersion: Hashable, Sendable {
  /// What a transaction did to the document.
  public enum Kind: UInt8, Sendable {
    case written = 0
    case removed = 1
    /// The document was removed from this store only.
    case evicted = 2
    /// The version can no longer be read; this kind is never stored.
    case damaged = 255
  }

  /// The document.
  public let id: DocumentID
  /// What the transaction did to the document.
  public let kind: Kind
  /// The document's fields with `_id`; `nil` if there are none.
  public let fields: [TextKey: Value]?
  /// When this store committed the version, in milliseconds since 1970.
  ///
  /// The time never decreases from one version to the next.
  public let time: UInt64
  /// When the document was written, by the clock of the site that wrote last.
  public let writtenAt: UInt64
  /// The site that wrote last; zero for default data.
  public let site: SiteID
  /// The place of the version, after which a reader can continue.
  public let place: HistoryPlace

  /// The version as a JSON object.
  public var object: [TextKey: Value] {
    let kind: String =
      switch kind {
      case .written: "written"
      case .removed: "removed"
      case .evicted: "evicted"
      case .damaged: "damaged"
      }
    return [
      "documentId": id.value, "kind": .string(kind), "value": fields.map { .map($0) } ?? .null,
      "time": .int(Int64(clamping: time)), "writtenAt": .int(Int64(clamping: writtenAt)),
      "site": .string("\(site)"),
    ]
  }
}

/// Identifies a version within its collection; places have the order of the versions.
public struct HistoryPlace: Hashable, Comparable, Sendable {
  /// When this store committed the version, in milliseconds since 1970.
  public let time: UInt64
  /// Counts the versions of one millisecond.
  public let count: UInt32

  /// Makes a place.
  public init(time: UInt64, count: UInt32) { (self.time, self.count) = (time, count) }

  public static func < (a: Self, b: Self) -> Bool { (a.time, a.count) < (b.time, b.count) }

  /// The place directly after this one.
  var next: HistoryPlace {
    count == .max ? HistoryPlace(time: time + 1, count: 0) : HistoryPlace(time: time, count: count + 1)
  }
}

/// A page of versions.
public struct HistoryPage: Hashable, Sendable {
  /// The versions in their order.
  public var versions: [HistoryVersion]
  /// The place to continue from; `nil` if there are no more versions.
  public var next: HistoryPlace?

  /// Makes a page.
  public init(versions: [HistoryVersion] = [], next: HistoryPlace? = nil) {
    self.versions = versions
    self.next = next
  }
}
