package import CRDTCore
import DocStore

/// Reading what is kept.
extension HistoryKeeper {
  /// What is read at once.
  private enum Page {
    static let versions = 1_000
    static let bytes = 4 << 20
  }

  /// How many versions of a collection there are, and the bytes that they take.
  package func totals(of collection: String) throws -> (versions: Int, bytes: Int) {
    try translatingErrors {
      try store.read { transaction in
        guard let known = try transaction.collection(collection),
          let value = try transaction.sideValue(
            HistoryEntries.table, key: HistoryEntries.totalsKey(known.id))
        else { return (0, 0) }
        let totals = try HistoryEntries.Totals(value)
        return (Int(clamping: totals.count), Int(clamping: totals.byteCount))
      }
    }
  }

  /// The versions of a document, oldest first.
  ///
  /// - Parameters:
  ///   - id: The document.
  ///   - collection: Where it is.
  ///   - place: The first place, included.
  ///   - end: The last time, included, in milliseconds since 1970.
  ///   - limit: How many at most; a page has no more than 1,000, nor than about 4 MiB.
  /// - Returns: The versions, and where to go on from.
  /// - Throws: `corrupt`, `io`, `closed`.
  package func versions(
    of id: DocumentID, in collection: String, from place: HistoryPlace = HistoryPlace(time: 0, count: 0),
    through end: UInt64 = .max, limit: Int = 100
  ) throws -> HistoryPage {
    try translatingErrors {
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
  }

  /// The versions of all documents of a collection, in the order of their transactions.
  ///
  /// - Parameters:
  ///   - collection: Which one.
  ///   - place: The first place, included.
  ///   - end: The last time, included, in milliseconds since 1970.
  ///   - limit: How many at most; a page has no more than 1,000, nor than about 4 MiB.
  /// - Returns: The versions, and where to go on from.
  /// - Throws: `corrupt`, `io`, `closed`.
  package func versions(
    in collection: String, from place: HistoryPlace = HistoryPlace(time: 0, count: 0),
    through end: UInt64 = .max, limit: Int = 100
  ) throws -> HistoryPage {
    try translatingErrors {
      try store.read { transaction in
        var (page, byteCount) = (HistoryPage(), 0)
        guard let known = try transaction.collection(collection) else { return page }
        let limit = min(limit, Page.versions)
        var found: [(place: HistoryPlace, id: DocumentID, byteCount: UInt64)] = []
        for order in HistoryEntries.Order.allCases {
          var count = 0
          // A note that is damaged is passed over: its version is found by its document.
          try transaction.forEachSideEntry(
            HistoryEntries.table, from: HistoryEntries.noteKey(order, known.id, place), damaged: { _ in }
          ) { key, value in
            guard let place = HistoryEntries.place(order, key, known.id), place.time <= end else {
              return false
            }
            let note = try HistoryEntries.note(value)
            found.append((place, note.id, note.byteCount))
            count += 1
            // One more than there is room for says where to go on.
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
  }

  /// A document as it was at a time: the last version up to then.
  ///
  /// - Returns: The version, `nil` where none is that old; and the time from which on the document is known, that of its oldest
  ///   version. What it was before was never seen, or is kept no more.
  /// - Throws: `corrupt`, `io`, `closed`.
  package func version(
    of id: DocumentID, in collection: String, at time: UInt64
  ) throws -> (version: HistoryVersion?, knownFrom: UInt64?) {
    try translatingErrors {
      try store.read { transaction in
        guard let known = try transaction.collection(collection) else { return (nil, nil) }
        let (beginning, moment) = (HistoryPlace(time: 0, count: 0), HistoryPlace(time: time, count: .max))
        let first = try Self.place(of: id, in: known, from: beginning, reversed: false, transaction)
        let last = try Self.place(of: id, in: known, from: moment, reversed: true, transaction)
        return (try last.map { try Self.version(of: id, in: known, at: $0, transaction) }, first?.time)
      }
    }
  }

  /// The first version of a document from a place on, or back from it.
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

  /// Reads a version; one that cannot be read says so.
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
      // Others are as they were.
    }
    return HistoryVersion(
      id: id, kind: .damaged, fields: nil, time: place.time, writtenAt: 0, site: .zero, place: place)
  }
}
