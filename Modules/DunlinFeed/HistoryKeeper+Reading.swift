public import CRDTCore
import DocStore

/// Reads the versions that are kept.
extension HistoryKeeper {
  /// The limits of one page.
  private enum Page {
    static let versions = 1_000
    static let bytes = 4 << 20
  }

  /// The number of versions of a collection, and the bytes that they take.
  public func totals(of collection: String) throws -> (versions: Int, bytes: Int) {
    try store.read { transaction in
      guard let known = try transaction.collection(collection),
        let value = try transaction.sideValue(
          HistoryEntries.table, key: HistoryEntries.totalsKey(known.id))
      else { return (0, 0) }
      let totals = try HistoryEntries.Totals(value)
      return (Int(clamping: totals.count), Int(clamping: totals.byteCount))
    }
  }

  /// The versions of a document, oldest first.
  ///
  /// - Parameters:
  ///   - id: The document.
  ///   - collection: The collection of the document.
  ///   - place: The first place, included.
  ///   - end: The last time, included, in milliseconds since 1970.
  ///   - limit: The greatest number of versions; a page has at most 1,000, and about 4 MiB.
  /// - Returns: The versions, and the place to continue from.
  /// - Throws: `corrupt`, `io`, `closed`.
  public func versions(
    of id: DocumentID, in collection: String, from place: HistoryPlace = HistoryPlace(time: 0, count: 0),
    through end: UInt64 = .max, limit: Int = 100
  ) throws -> HistoryPage {
    try store.read { transaction in
      var (page, byteCount) = (HistoryPage(), 0)
      guard let known = try transaction.collection(collection) else { return page }
      var found: [HistoryPlace] = []
      try transaction.forEachSideKey(
        HistoryEntries.table, from: HistoryEntries.documentKey(known.id, id, place)
      ) { key, valueBytes in
        guard let place = HistoryEntries.place(of: id, key, known.id), place.time <= end else {
          return false
        }
        guard found.count < min(limit, Page.versions), byteCount < Page.bytes else {
          page.next = place
          return false
        }
        byteCount += valueBytes
        found.append(place)
        return true
      }
      for place in found {
        page.versions.append(try Self.version(of: id, in: known, at: place, transaction))
      }
      return page
    }
  }

  /// The versions of all documents of a collection, in the order of their transactions.
  ///
  /// - Parameters:
  ///   - collection: The collection.
  ///   - place: The first place, included.
  ///   - end: The last time, included, in milliseconds since 1970.
  ///   - limit: The greatest number of versions; a page has at most 1,000, and about 4 MiB.
  /// - Returns: The versions, and the place to continue from.
  /// - Throws: `corrupt`, `io`, `closed`.
  public func versions(
    in collection: String, from place: HistoryPlace = HistoryPlace(time: 0, count: 0),
    through end: UInt64 = .max, limit: Int = 100
  ) throws -> HistoryPage {
    try store.read { transaction in
      var (page, byteCount) = (HistoryPage(), 0)
      guard let known = try transaction.collection(collection) else { return page }
      let limit = min(limit, Page.versions)
      var found: [(place: HistoryPlace, id: DocumentID, byteCount: UInt64)] = []
      for order in HistoryEntries.Order.allCases {
        var count = 0
        // A damaged note is skipped: its version is still found through its document.
        try transaction.forEachSideEntry(
          HistoryEntries.table, from: HistoryEntries.noteKey(order, known.id, place), damaged: { _ in }
        ) { key, value in
          guard let place = HistoryEntries.place(order, key, known.id), place.time <= end else {
            return false
          }
          let note = try HistoryEntries.note(value)
          found.append((place, note.id, note.byteCount))
          count += 1
          // One entry beyond the limit shows where the next page starts.
          return count <= limit
        }
      }
      for (place, id, bytes) in found.sorted(by: { $0.place < $1.place }) {
        guard page.versions.count < limit, byteCount < Page.bytes else {
          page.next = place
          break
        }
        byteCount += Int(clamping: bytes)
        page.versions.append(try Self.version(of: id, in: known, at: place, transaction))
      }
      return page
    }
  }

  /// The state of a document at a time: its last version up to then.
  ///
  /// - Returns: The version, `nil` if none is that old; and the time of the document's oldest version. The
  ///   state before that time was never recorded, or is no longer kept.
  /// - Throws: `corrupt`, `io`, `closed`.
  public func version(
    of id: DocumentID, in collection: String, at time: UInt64
  ) throws -> (version: HistoryVersion?, knownFrom: UInt64?) {
    try store.read { transaction in
      guard let known = try transaction.collection(collection) else { return (nil, nil) }
      let (beginning, moment) = (HistoryPlace(time: 0, count: 0), HistoryPlace(time: time, count: .max))
      let first = try Self.place(of: id, in: known, from: beginning, reversed: false, transaction)
      let last = try Self.place(of: id, in: known, from: moment, reversed: true, transaction)
      return (try last.map { try Self.version(of: id, in: known, at: $0, transaction) }, first?.time)
    }
  }

  /// The first version of a document at or after a place; if reversed, the last one at or before it.
  private static func place(
    of id: DocumentID, in collection: Collection, from place: HistoryPlace, reversed: Bool,
    _ transaction: borrowing ReadTransaction
  ) throws -> HistoryPlace? {
    var found: HistoryPlace?
    let key = HistoryEntries.documentKey(collection.id, id, place)
    try transaction.forEachSideKey(HistoryEntries.table, from: key, reversed: reversed) { key, _ in
      found = HistoryEntries.place(of: id, key, collection.id)
      return false
    }
    return found
  }

  /// Reads a version; one that cannot be read has the kind `damaged`.
  private static func version(
    of id: DocumentID, in collection: Collection, at place: HistoryPlace,
    _ transaction: borrowing ReadTransaction
  ) throws -> HistoryVersion {
    let key = HistoryEntries.documentKey(collection.id, id, place)
    do {
      if let value = try transaction.sideValue(HistoryEntries.table, key: key) {
        return try HistoryEntries.version(of: id, at: place, value)
      }
    } catch let error as StoreError where error.code == .corrupt {
      // Other versions are not affected.
    }
    return HistoryVersion(
      id: id, kind: .damaged, fields: nil, time: place.time, writtenAt: 0, site: .zero, place: place)
  }
}
