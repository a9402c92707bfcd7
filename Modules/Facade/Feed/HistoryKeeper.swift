package import CRDTCore
package import DocStore
import Synchronization

/// Keeps every version of the documents of some collections, written in the transaction that made it.
///
/// It costs nothing where no collection asks for it.
package final class HistoryKeeper: Sendable {
  private struct State {
    /// By the collection's name.
    var policies: [TextKey: HistoryPolicy] = [:]
    var listener: CommitListener?
  }

  /// Versions that go with a transaction, at least, and in one that only removes.
  private enum Removal {
    static let least = 8
    static let batch = 512
  }

  /// What is read at once.
  private enum Page {
    static let versions = 1_000
    static let bytes = 4 << 20
  }

  private let store: Store
  private let now: @Sendable () -> UInt64
  private let state = Mutex(State())

  /// Goes on as it was before.
  ///
  /// - Parameters:
  ///   - store: Where documents and versions are.
  ///   - now: The wall clock in milliseconds since 1970.
  /// - Throws: `corrupt`, `io`, `closed`.
  package init(
    store: Store, now: @escaping @Sendable () -> UInt64 = StoreOptions.systemMilliseconds
  ) throws {
    self.store = store
    self.now = now
    let stored = try translatingErrors { try Self.stored(store) }
    state.withLock { state in
      for (name, entry) in stored where !entry.isEnding { state.policies[name] = entry.policy }
    }
    listen()
  }

  private static func stored(_ store: Store) throws -> [TextKey: (policy: HistoryPolicy, isEnding: Bool)] {
    try store.read { transaction in
      var found: [TextKey: (policy: HistoryPolicy, isEnding: Bool)] = [:]
      // A policy that is damaged is none: its versions stay until it is set again.
      try transaction.forEachSideEntry(HistoryEntries.policies, damaged: { _ in }) { key, value in
        found[TextKey(String(decoding: key, as: UTF8.self))] = try HistoryPolicy.decoded(value)
        return true
      }
      return found
    }
  }

  /// Ends it; versions stay.
  package func close() { state.withLock { $0.listener = nil } }

  // MARK: - Policies

  /// For which collections versions are kept.
  package var policies: [String: HistoryPolicy] {
    Dictionary(uniqueKeysWithValues: state.withLock { $0.policies }.map { ($0.key.text, $0.value) })
  }

  /// Keeps versions of a collection from the next transaction on; `nil` ends that, and the versions go.
  ///
  /// - Throws: `argument`, `invalidCollectionName`; what writing throws.
  package func keep(_ policy: HistoryPolicy?, of collection: String) async throws {
    try policy?.check()
    do throws(StoreError) { try CollectionName.check(collection, operation: "keep") } catch {
      throw DunlinError(error)
    }
    let key = Array(collection.utf8)
    do {
      try await store.write { transaction in
        if let policy {
          try transaction.setSideValue(policy.encoded(isEnding: false), HistoryEntries.policies, key: key)
        } else if let known = try transaction.sideValue(HistoryEntries.policies, key: key) {
          let ending = try HistoryPolicy.decoded(known).policy.encoded(isEnding: true)
          try transaction.setSideValue(ending, HistoryEntries.policies, key: key)
        }
      }
    } catch {
      throw DunlinError.translating(error)
    }
    state.withLock { $0.policies[TextKey(collection)] = policy }
    listen()
    if policy == nil { try await trim() }
  }

  /// Listens to transactions as long as there is a policy.
  private func listen() {
    state.withLock { state in
      if state.policies.isEmpty {
        state.listener = nil
      } else if state.listener == nil {
        state.listener = store.atEndOfTransactions { [weak self] in try self?.record($0) }
      }
    }
  }

  // MARK: - Writing

  /// Adds versions to a transaction that is about to end.
  private func record(_ transaction: WriteTransaction) throws {
    let policies = state.withLock { $0.policies }
    var changes: [DocumentKey: (first: Change, last: Change)] = [:]
    var order: [DocumentKey] = []
    var wanted: [UInt32: HistoryPolicy?] = [:]
    for change in transaction.pendingChanges {
      let number = change.key.collection
      if wanted[number] == nil { wanted[number] = .some(policies[TextKey(change.collection.name)]) }
      guard case .some(.some) = wanted[number] else { continue }
      if changes[change.key] == nil {
        changes[change.key] = (change, change)
        order.append(change.key)
      } else {
        changes[change.key]?.last = change
      }
    }
    guard !order.isEmpty else { return }
    let time = now()
    var totals: [UInt32: HistoryEntries.Totals] = [:]
    var added: [UInt32: Int] = [:]
    for key in order {
      guard let (first, last) = changes[key] else { continue }
      var known = try totals[key.collection] ?? Self.totals(of: key.collection, transaction)
      if try add(first, last, at: time, &known, transaction) { added[key.collection, default: 0] += 1 }
      totals[key.collection] = known
    }
    for (number, count) in added {
      guard var known = totals[number], case .some(.some(let policy)) = wanted[number] else { continue }
      _ = try Self.trim(
        number, policy, now: time, limit: max(2 * count, Removal.least), &known, transaction)
      try transaction.setSideValue(known.encoded, HistoryEntries.table, key: HistoryEntries.totalsKey(number))
    }
  }

  private static func totals(
    of collection: UInt32, _ transaction: WriteTransaction
  ) throws -> HistoryEntries.Totals {
    let key = HistoryEntries.totalsKey(collection)
    do {
      return try transaction.sideValue(HistoryEntries.table, key: key).map { try .init($0) } ?? .init()
    } catch let error as StoreError where error.code == .corrupt {
      return try recount(collection, transaction)
    }
  }

  /// Counts what there is, since nobody knows any more: what is damaged must not keep documents from being written.
  private static func recount(
    _ collection: UInt32, _ transaction: WriteTransaction
  ) throws -> HistoryEntries.Totals {
    var totals = HistoryEntries.Totals()
    var places: [HistoryPlace] = []
    try transaction.forEachSideKey(HistoryEntries.table, from: HistoryEntries.firstTimeKey(collection)) {
      key, _ in
      guard let place = HistoryEntries.place(byTime: key, collection) else { return false }
      places.append(place)
      return true
    }
    for place in places {
      let note = try note(at: place, of: collection, transaction)
      totals.count += 1
      totals.byteCount += note?.byteCount ?? 0
      totals.last = max(totals.last, place)
    }
    return totals
  }

  /// What is noted of a version; `nil` where that is damaged.
  private static func note(
    at place: HistoryPlace, of collection: UInt32, _ transaction: WriteTransaction
  ) throws -> (id: DocumentID, byteCount: UInt64)? {
    do {
      let key = HistoryEntries.timeKey(collection, place)
      return try transaction.sideValue(HistoryEntries.table, key: key).map { try HistoryEntries.note($0) }
    } catch let error as StoreError where error.code == .corrupt {
      return nil
    }
  }

  /// - Returns: `false` where nothing that a reader sees has changed.
  private func add(
    _ first: Change, _ last: Change, at time: UInt64, _ totals: inout HistoryEntries.Totals,
    _ transaction: WriteTransaction
  ) throws -> Bool {
    let keys = last.collection.keys
    let old = try first.before?.withView { try $0.isAlive ? $0.fields(keys) : nil }
    let new = try last.after?.withView { try $0.isAlive ? $0.fields(keys) : nil }
    let isEviction = last.kind == .evict
    guard (old ?? nil) != (new ?? nil) || isEviction else { return false }
    var author = (reading: ClockReading(milliseconds: time), site: store.site)
    if let vector = try last.after?.withView({ try $0.vector(sites: last.sites) }) {
      let latest = vector.elements.max { $0.reading < $1.reading }
      author = latest.map { ($0.reading, $0.writer.site) } ?? (.zero, .zero)
    }
    let value = HistoryEntries.encoded(
      isEviction ? .evicted : new ?? nil == nil ? .removed : .written, new ?? nil,
      writtenAt: author.reading.milliseconds, author.site)
    let place = totals.draw(time)
    let (collection, id) = (last.key.collection, last.id)
    let key = HistoryEntries.documentKey(collection, id, place)
    let byteCount = value.count + 2 * key.count
    try transaction.setSideValue(value, HistoryEntries.table, key: key)
    try transaction.setSideValue(
      HistoryEntries.note(id, byteCount: byteCount), HistoryEntries.table,
      key: HistoryEntries.timeKey(collection, place))
    totals.count += 1
    totals.byteCount += UInt64(byteCount)
    return true
  }

  // MARK: - Removing

  /// Removes versions that are too old, or too many; `nil` keeps none.
  ///
  /// - Returns: How many went.
  /// - Throws: What reading and writing throw.
  private static func trim(
    _ collection: UInt32, _ policy: HistoryPolicy?, now: UInt64, limit: Int,
    _ totals: inout HistoryEntries.Totals, _ transaction: WriteTransaction
  ) throws -> Int {
    let horizon = policy.map { now > $0.milliseconds ? now - $0.milliseconds : 0 } ?? .max
    var places: [HistoryPlace] = []
    try transaction.forEachSideKey(HistoryEntries.table, from: HistoryEntries.firstTimeKey(collection)) {
      key, _ in
      guard places.count < limit, let place = HistoryEntries.place(byTime: key, collection) else {
        return false
      }
      places.append(place)
      return true
    }
    var count = 0
    for place in places {
      guard place.time < horizon || totals.byteCount > UInt64(policy?.byteLimit ?? 0) else { break }
      // A version whose note is damaged is found by its document alone, and stays.
      let note = try note(at: place, of: collection, transaction)
      if let note {
        try transaction.setSideValue(
          nil, HistoryEntries.table, key: HistoryEntries.documentKey(collection, note.id, place))
      }
      try transaction.setSideValue(nil, HistoryEntries.table, key: HistoryEntries.timeKey(collection, place))
      totals.subtract(note?.byteCount ?? 0)
      count += 1
    }
    return count
  }

  /// Removes versions that are too old, and all of collections whose versions are no longer kept; in short transactions.
  ///
  /// To be called now and then, since a collection that is not written to does not do it by itself.
  package func trim() async throws {
    do {
      for (name, entry) in try Self.stored(store) {
        let policy = entry.isEnding ? nil : entry.policy
        while try await trimSome(name.text, policy) { try Task.checkCancellation() }
      }
    } catch {
      throw DunlinError.translating(error)
    }
  }

  /// - Returns: Whether there may be more.
  private func trimSome(_ name: String, _ policy: HistoryPolicy?) async throws -> Bool {
    let (table, policies, time) = (HistoryEntries.table, HistoryEntries.policies, now())
    return try await store.write { transaction in
      let key = Array(name.utf8)
      // It may have been switched on again.
      guard let stored = try transaction.sideValue(policies, key: key),
        try HistoryPolicy.decoded(stored).isEnding == (policy == nil)
      else { return false }
      guard let collection = try transaction.collection(name) else {
        if policy == nil { try transaction.setSideValue(nil, policies, key: key) }
        return false
      }
      var totals = try Self.totals(of: collection.id, transaction)
      let count = try Self.trim(
        collection.id, policy, now: time, limit: Removal.batch, &totals, transaction)
      let isEmpty = policy == nil && count < Removal.batch
      if count > 0 || isEmpty {
        try transaction.setSideValue(
          isEmpty ? nil : totals.encoded, table, key: HistoryEntries.totalsKey(collection.id))
      }
      if isEmpty { try transaction.setSideValue(nil, policies, key: key) }
      return count == Removal.batch
    }.0
  }

  // MARK: - Reading

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
        var found: [(place: HistoryPlace, id: DocumentID)] = []
        // A note that is damaged is passed over: its version is found by its document.
        try transaction.forEachSideEntry(
          HistoryEntries.table, from: HistoryEntries.timeKey(known.id, place), damaged: { _ in }
        ) { key, value in
          guard let place = HistoryEntries.place(byTime: key, known.id), place.time <= end else {
            return false
          }
          let note = try HistoryEntries.note(value)
          guard found.count < min(limit, Page.versions), byteCount < Page.bytes else {
            page.next = place
            return false
          }
          byteCount += Int(clamping: note.byteCount)
          found.append((place, note.id))
          return true
        }
        for (place, id) in found {
          page.versions.append(try Self.version(of: id, in: known, at: place, transaction))
        }
        return page
      }
    }
  }

  /// A document as it was at a time: the last version up to then.
  ///
  /// - Returns: `nil` where no version is that old.
  /// - Throws: `corrupt`, `io`, `closed`.
  package func version(
    of id: DocumentID, in collection: String, at time: UInt64
  ) throws -> HistoryVersion? {
    try translatingErrors {
      try store.read { transaction in
        guard let known = try transaction.collection(collection) else { return nil }
        let start = HistoryEntries.documentKey(known.id, id, HistoryPlace(time: 0, count: 0))
        var last: HistoryPlace?
        try transaction.forEachSideKey(HistoryEntries.table, from: start) { key, _ in
          guard let place = HistoryEntries.place(of: id, key, known.id), place.time <= time else {
            return false
          }
          last = place
          return true
        }
        return try last.map { try Self.version(of: id, in: known, at: $0, transaction) }
      }
    }
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

extension DunlinStore {
  /// Goes on keeping versions of the collections for which that is switched on.
  ///
  /// - Throws: `corrupt`, `io`, `closed`.
  package func keepHistory() throws -> HistoryKeeper {
    try HistoryKeeper(store: core.store, now: core.wallClock)
  }
}
