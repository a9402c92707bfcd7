import CRDTCore
import DocStore

/// Which documents the peer may hold although they match its interest nowhere here.
///
/// Those it told of are remembered. Of those that come here later it may hold copies from elsewhere: the first are
/// simply offered; for the rest the peer is asked for a filter of what it holds.
struct WatchList {
  /// Where a collection's filter stands.
  enum Filter {
    case unasked(offered: Int)
    case asked
    case partial(bytes: [UInt8])
    case known(IDFilter)
  }

  /// Offers made before a filter is worth its bytes.
  static let freeOffers = 64
  private let tuning: SyncTuning
  private var hashes: Set<UInt64> = []
  private var watchesAll = false
  private var filters: [TextKey: Filter] = [:]
  /// Offers that a filter decides on, by collection.
  private var waiting: [TextKey: [DocumentOffer]] = [:]

  init(_ tuning: SyncTuning) { self.tuning = tuning }

  mutating func insert(_ key: DocumentKey) {
    guard !watchesAll else { return }
    hashes.insert(key.hash64)
    if hashes.count > tuning.watchedDocuments {
      watchesAll = true
      hashes = []
    }
  }

  func contains(_ key: DocumentKey) -> Bool { watchesAll || hashes.contains(key.hash64) }

  /// Has all documents that do not match offered when they change: nobody knows which of them the peer holds.
  mutating func insertAll() {
    watchesAll = true
    hashes = []
  }

  /// Whether offers wait for a filter.
  var isWaiting: Bool { !waitingFor.isEmpty }

  /// The collections whose offers wait for a filter.
  private var waitingFor: [String] {
    filters.filter { _, filter in
      switch filter {
      case .asked, .partial: true
      case .unasked, .known: false
      }
    }
    .keys.sorted().map(\.text)
  }

  /// Takes note of an interest that has `changed` in some collections: the peer answers nothing that it was asked before.
  ///
  /// - Returns: The collections of which the peer is to be asked for a filter again.
  mutating func askAgain(changed: Set<TextKey>) -> [String] {
    let names = waitingFor
    for name in changed { filters[name] = nil }
    for name in names { filters[name] = .asked }
    return names
  }

  /// What to do about a document that is new here and does not match.
  enum Decision {
    case offer
    case wait
    case ask
    case pass
  }

  mutating func decide(_ offer: DocumentOffer) -> Decision {
    switch filters[offer.collection] ?? .unasked(offered: 0) {
    case .unasked(let offered) where offered < Self.freeOffers:
      filters[offer.collection] = .unasked(offered: offered + 1)
      return .offer
    case .unasked:
      filters[offer.collection] = .asked
      waiting[offer.collection] = [offer]
      return .ask
    case .asked, .partial:
      guard waiting[offer.collection]?.count ?? 0 < tuning.waitingOffers else { return .offer }
      // Where it stands: a copy of all for each would be quadratic.
      waiting[offer.collection, default: []].append(offer)
      return .wait
    case .known(let filter): return filter.contains(offer.item.id.bytes.span.bytes) ? .offer : .pass
    }
  }

  /// Takes a piece of a filter.
  ///
  /// - Returns: The offers that waited for it and are to be made.
  mutating func take(_ frame: FilterFrame) throws(SyncError) -> [DocumentOffer] {
    var bytes: [UInt8]
    switch filters[frame.collection] {
    case .asked: bytes = []
    case .partial(let known): bytes = known
    // It was asked for under an interest before this one.
    case .unasked, .known, nil: return []
    }
    guard frame.offset == bytes.count else {
      throw SyncError(.malformed, "A filter's parts are not in order")
    }
    filters[frame.collection] = .asked
    bytes += frame.bytes
    guard bytes.count == frame.totalBytes else {
      filters[frame.collection] = .partial(bytes: bytes)
      return []
    }
    let filter = IDFilter(bytes: bytes)
    filters[frame.collection] = .known(filter)
    let offers = waiting.removeValue(forKey: frame.collection) ?? []
    return offers.filter { filter.contains($0.item.id.bytes.span.bytes) }
  }
}
