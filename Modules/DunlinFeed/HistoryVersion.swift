package import CRDTCore

/// The state in which a transaction of this store left a document.
package struct HistoryVersion: Hashable, Sendable {
  package enum Kind: UInt8, Sendable {
    case written = 0
    case removed = 1
    /// The document was removed from this store only.
    case evicted = 2
    /// The version can no longer be read; this kind is never stored.
    case damaged = 255
  }

  package let id: DocumentID
  package let kind: Kind
  /// The document's fields with `_id`; `nil` if there are none.
  package let fields: [TextKey: Value]?
  /// When this store committed the version, in milliseconds since 1970.
  ///
  /// The time never decreases from one version to the next.
  package let time: UInt64
  /// When the document was written, by the clock of the site that wrote last.
  package let writtenAt: UInt64
  /// The site that wrote last; zero for default data.
  package let site: SiteID
  /// The place of the version, after which a reader can continue.
  package let place: HistoryPlace

  /// The version as a JSON object.
  package var object: [TextKey: Value] {
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
package struct HistoryPlace: Hashable, Comparable, Sendable {
  package let time: UInt64
  /// Counts the versions of one millisecond.
  package let count: UInt32

  package init(time: UInt64, count: UInt32) { (self.time, self.count) = (time, count) }

  package static func < (a: Self, b: Self) -> Bool { (a.time, a.count) < (b.time, b.count) }

  /// The place directly after this one.
  var next: HistoryPlace {
    count == .max ? HistoryPlace(time: time + 1, count: 0) : HistoryPlace(time: time, count: count + 1)
  }
}

/// A page of versions.
package struct HistoryPage: Hashable, Sendable {
  /// The versions in their order.
  package var versions: [HistoryVersion]
  /// The place to continue from; `nil` if there are no more versions.
  package var next: HistoryPlace?

  package init(versions: [HistoryVersion] = [], next: HistoryPlace? = nil) {
    self.versions = versions
    self.next = next
  }
}
