package import CRDTCore

/// What an entry of the log says about the documents that it names.
package enum LogKind: UInt8, Hashable, Sendable {
  /// They were written together, and become visible together at receivers.
  case bound = 0
  /// Each was written by itself; they share an entry because they follow each other in one transaction.
  case loose = 1
  /// They were evicted from this store.
  case evicted = 2
}

/// The writer of a transaction, in one word: the application, or the peer that sent it.
package struct LogOrigin: Hashable, Sendable {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let user = LogOrigin(rawValue: 0)
  /// A peer whose site is unknown.
  static let unknown = LogOrigin(rawValue: .max)

  /// The word of a peer, by its site.
  package init(peer: SiteID) {
    rawValue = min(max(UInt32(truncatingIfNeeded: peer.low), 1), .max - 1)
  }
}

/// Documents of a collection with consecutive numbers.
package struct LogRun: Hashable, Sendable {
  package let collection: UInt32
  package let numbers: ClosedRange<UInt64>

  /// The runs of documents in any order; a document that is named twice counts once.
  static func runs(of places: [DocumentPlace]) -> [LogRun] {
    var isSorted = true
    for index in places.indices.dropFirst() where !isBefore(places[index - 1], places[index]) {
      isSorted = false
      break
    }
    return isSorted ? runs(inOrder: places) : runs(inOrder: places.sorted(by: isBefore))
  }

  private static func isBefore(_ a: DocumentPlace, _ b: DocumentPlace) -> Bool {
    a.collection != b.collection ? a.collection < b.collection : a.number < b.number
  }

  private static func runs(inOrder places: [DocumentPlace]) -> [LogRun] {
    guard let first = places.first else { return [] }
    var runs: [LogRun] = []
    var (collection, start, end) = (first.collection, first.number.rawValue, first.number.rawValue)
    for place in places.dropFirst() {
      let number = place.number.rawValue
      if place.collection == collection, number <= end + 1 {
        end = number
        continue
      }
      runs.append(LogRun(collection: collection, numbers: start...end))
      (collection, start, end) = (place.collection, number, number)
    }
    runs.append(LogRun(collection: collection, numbers: start...end))
    return runs
  }
}
