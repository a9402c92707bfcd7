import CRDTCore
import DocStore

/// Removes versions of one collection in a transaction.
///
/// It removes versions that are too old, the oldest ones when all take too many bytes, or all of them. The
/// last version of each document before the oldest time stays, since it has the document's state from that
/// time on. It is removed when a later version replaces it, when the document is removed, or when nothing
/// else frees enough space.
struct HistoryTrim {
  private let collection: UInt32
  /// The policy; `nil` keeps no version.
  private let policy: HistoryPolicy?
  private let horizon: UInt64
  private let transaction: WriteTransaction
  private(set) var totals: HistoryEntries.Totals

  init(
    _ collection: UInt32, _ policy: HistoryPolicy?, now: UInt64, _ totals: HistoryEntries.Totals,
    _ transaction: WriteTransaction
  ) {
    self.collection = collection
    self.policy = policy
    horizon = policy.map { now > $0.milliseconds ? now - $0.milliseconds : 0 } ?? .max
    self.totals = totals
    self.transaction = transaction
  }

  private var isTooLarge: Bool { policy.map { totals.byteCount > UInt64($0.byteLimit) } ?? true }

  /// Processes a limited number of versions.
  ///
  /// - Returns: The number of processed versions; `limit` if more may remain.
  /// - Throws: What reading and writing throw.
  mutating func run(limit: Int) throws -> Int {
    var count = 0
    for place in try HistoryEntries.places(.passing, collection, limit: limit, transaction) {
      guard place.time < horizon || isTooLarge else { return count }
      try retire(place)
      count += 1
    }
    guard isTooLarge else { return count }
    for place in try HistoryEntries.places(.staying, collection, limit: limit - count, transaction) {
      guard isTooLarge else { return count }
      try remove(place, .staying)
      count += 1
    }
    return policy == nil ? try count + removeUnnoted(limit: limit - count) : count
  }

  /// Removes all versions of a document, whatever the policy keeps.
  ///
  /// - Complexity: O(*n*) in its versions.
  mutating func removeAll(of id: DocumentID) throws {
    var places: [HistoryPlace] = []
    let first = HistoryEntries.documentKey(collection, id, HistoryPlace(time: 0, count: 0))
    try transaction.forEachSideKey(HistoryEntries.table, from: first) { key, _ in
      guard let place = HistoryEntries.place(of: id, key, collection) else { return false }
      places.append(place)
      return true
    }
    for place in places {
      for order in HistoryEntries.Order.allCases {
        if let note = try HistoryEntries.note(order, collection, place, transaction) {
          totals.subtract(note.byteCount)
        }
        try erase(HistoryEntries.noteKey(order, collection, place))
      }
      try erase(HistoryEntries.documentKey(collection, id, place))
    }
  }

  /// Removes or keeps a version that is the oldest one besides those that stay.
  private mutating func retire(_ place: HistoryPlace) throws {
    let note = try HistoryEntries.note(.passing, collection, place, transaction)
    // A version with a damaged note is found through its document only. It is removed with the document's
    // next version.
    guard policy != nil, let note else { return try remove(place, .passing) }
    // Older versions must be removed first: they would otherwise seem to be the state after a removed one.
    while let earlier = try neighbour(of: place, note.id, reversed: true) {
      if let bytes = try HistoryEntries.note(.staying, collection, earlier, transaction)?.byteCount {
        totals.subtract(bytes)
      }
      try erase(HistoryEntries.noteKey(.staying, collection, earlier))
      try erase(HistoryEntries.documentKey(collection, note.id, earlier))
    }
    guard try isNeeded(place, note.id) else { return try remove(place, .passing) }
    try erase(HistoryEntries.noteKey(.passing, collection, place))
    try transaction.setSideValue(
      HistoryEntries.note(note.id, byteCount: Int(clamping: note.byteCount)), HistoryEntries.table,
      key: HistoryEntries.noteKey(.staying, collection, place))
  }

  /// Returns whether a version is the document's state at the oldest time, or its current state.
  private func isNeeded(_ place: HistoryPlace, _ id: DocumentID) throws -> Bool {
    if let next = try neighbour(of: place, id, reversed: false) {
      return place.time < horizon && next.time >= horizon
    }
    // A document that was removed needs no version.
    do {
      let key = HistoryEntries.documentKey(collection, id, place)
      let kind = try transaction.sideValue(HistoryEntries.table, key: key)?.first
      return kind != HistoryVersion.Kind.removed.rawValue && kind != HistoryVersion.Kind.evicted.rawValue
    } catch {
      guard error.code == .corrupt else { throw error }
      return true
    }
  }

  /// The previous or the next version of a document.
  private func neighbour(
    of place: HistoryPlace, _ id: DocumentID, reversed: Bool
  ) throws -> HistoryPlace? {
    var found: HistoryPlace?
    let key = HistoryEntries.documentKey(collection, id, place)
    try transaction.forEachSideKey(HistoryEntries.table, from: key, reversed: reversed) { key, _ in
      found = HistoryEntries.place(of: id, key, collection)
      guard found == place else { return false }
      found = nil
      return true
    }
    return found
  }

  private mutating func remove(_ place: HistoryPlace, _ order: HistoryEntries.Order) throws {
    let note = try HistoryEntries.note(order, collection, place, transaction)
    if let note { try erase(HistoryEntries.documentKey(collection, note.id, place)) }
    try erase(HistoryEntries.noteKey(order, collection, place))
    totals.subtract(note?.byteCount ?? 0)
  }

  /// Removes versions whose notes were damaged.
  private func removeUnnoted(limit: Int) throws -> Int {
    var keys: [[UInt8]] = []
    try transaction.forEachSideKey(
      HistoryEntries.table, from: HistoryEntries.firstDocumentKey(collection)
    ) { key, _ in
      guard keys.count < limit, HistoryEntries.isDocumentKey(key, collection) else { return false }
      keys.append(key)
      return true
    }
    for key in keys { try erase(key) }
    return keys.count
  }

  private func erase(_ key: [UInt8]) throws {
    try transaction.setSideValue(nil, HistoryEntries.table, key: key)
  }
}
