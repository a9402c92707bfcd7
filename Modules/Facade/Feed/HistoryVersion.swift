package import CRDTCore

/// A document as a transaction of this store left it.
package struct HistoryVersion: Hashable, Sendable {
  package enum Kind: UInt8, Sendable {
    case written = 0
    case removed = 1
    /// It left this store alone.
    case evicted = 2
    /// It cannot be read any more; it is not stored as such.
    case damaged = 255
  }

  package let id: DocumentID
  package let kind: Kind
  /// Its fields with `_id`; `nil` where there are none.
  package let fields: [TextKey: Value]?
  /// When this store committed it, in milliseconds since 1970.
  ///
  /// It never goes back from one version to the next.
  package let time: UInt64
  /// When it was written, by the clock of the site that wrote last.
  package let writtenAt: UInt64
  /// The site that wrote last; zero for default data.
  package let site: SiteID
  /// Where to go on from behind it.
  package let place: HistoryPlace

  /// The version as an object of JSON.
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

/// Tells one version of a collection from all others, in their order.
package struct HistoryPlace: Hashable, Comparable, Sendable {
  package let time: UInt64
  /// Counts the versions of one millisecond.
  package let count: UInt32

  package init(time: UInt64, count: UInt32) { (self.time, self.count) = (time, count) }

  package static func < (a: Self, b: Self) -> Bool { (a.time, a.count) < (b.time, b.count) }

  /// The place behind this one.
  var next: HistoryPlace {
    count == .max ? HistoryPlace(time: time + 1, count: 0) : HistoryPlace(time: time, count: count + 1)
  }
}

/// Versions that are read at once.
package struct HistoryPage: Hashable, Sendable {
  /// In their order.
  package var versions: [HistoryVersion]
  /// Where to go on from; `nil` where there are no more.
  package var next: HistoryPlace?

  package init(versions: [HistoryVersion] = [], next: HistoryPlace? = nil) {
    self.versions = versions
    self.next = next
  }
}
