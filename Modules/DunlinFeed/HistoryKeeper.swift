import CRDTCore
public import DocStore
import Synchronization

/// Keeps every version of the documents of some collections.
///
/// It writes a version in the transaction that makes the change. It costs nothing unless a collection has a
/// policy. The transaction that erases a document, here or for a peer, removes all of its versions.
public final class HistoryKeeper: Sendable {
  /// The greatest number of collections of which versions are kept.
  private static let collectionLimit = 1_000

  /// The greatest number of old versions that one transaction removes.
  ///
  /// A transaction that writes versions may remove twice as many, or `least` if that is more. One that only
  /// removes may remove `batch`.
  private enum Removal {
    static let least = 8
    static let batch = 512
  }

  let store: Store
  private let now: @Sendable () -> UInt64
  /// Calls `record` before each commit, from the first policy on, while this object exists.
  private let listener = Mutex<CommitListener?>(nil)

  /// Keeps versions under the stored policies; stored versions stay when this object is released.
  ///
  /// - Parameters:
  ///   - store: The store of the documents and of their versions.
  ///   - now: The wall clock in milliseconds since 1970.
  ///   - report: Called with a line about each policy that cannot be read.
  /// - Throws: `io`, `closed`.
  public init(
    store: Store, now: @escaping @Sendable () -> UInt64 = StoreOptions.systemMilliseconds,
    report: @escaping (String) -> Void = { _ in }
  ) throws {
    self.store = store
    self.now = now
    let stored = try Self.stored(store) { name in
      report("The policy of the history of \(name) is damaged: no versions are kept until it is set again")
    }
    if stored.contains(where: { !$0.value.isEnding }) { listen() }
  }

  /// All policies by collection.
  ///
  /// A damaged one has no effect until it is set again; `damaged` is called with its collection.
  private static func stored(
    _ store: Store, damaged: @escaping (_ collection: String) -> Void = { _ in }
  ) throws -> [TextKey: (policy: HistoryPolicy, isEnding: Bool)] {
    try store.read { transaction in
      var found: [TextKey: (policy: HistoryPolicy, isEnding: Bool)] = [:]
      func note(damaged key: [UInt8]) { damaged(String(decoding: key, as: UTF8.self)) }
      try transaction.forEachSideEntry(HistoryEntries.policies, damaged: note) { key, value in
        if let entry = try? HistoryPolicy.decoded(value) {
          found[TextKey(String(decoding: key, as: UTF8.self))] = entry
        } else {
          note(damaged: key)
        }
        return true
      }
      return found
    }
  }

  // MARK: - Policies

  /// The collections of which versions are kept, with their policies.
  ///
  /// - Throws: `io`, `closed`.
  public var policies: [String: HistoryPolicy] {
    get throws {
      let stored = try Self.stored(store).filter { !$0.value.isEnding }
      return Dictionary(uniqueKeysWithValues: stored.map { ($0.key.text, $0.value.policy) })
    }
  }

  /// The policy for the versions of a collection; `nil` where versions are not kept.
  ///
  /// - Throws: `io`, `closed`.
  public func policy(of collection: String) throws -> HistoryPolicy? {
    let key = Array(collection.utf8)
    do {
      return HistoryPolicy.inForce(try store.read { try $0.sideValue(HistoryEntries.policies, key: key) })
    } catch let error as StoreError where error.code == .corrupt || error.code == .limit {
      // The key is too long for the name of a collection.
      return nil
    }
  }

  /// Keeps versions of a collection from the next transaction on.
  ///
  /// `nil` as the policy stops this, and removes the versions.
  ///
  /// - Throws: `argument`, `invalidCollectionName`, `limit`; what writing throws.
  public func keep(_ policy: HistoryPolicy?, of collection: String) async throws {
    try policy?.check()
    try CollectionName.check(collection, operation: "keep")
    // Before the policy is stored, so that the next transaction after it gets a version.
    if policy != nil { listen() }
    let key = Array(collection.utf8)
    try await store.write { transaction in
      if let policy {
        try Self.checkRoom(for: key, transaction)
        try transaction.setSideValue(policy.encoded(isEnding: false), HistoryEntries.policies, key: key)
      } else if let known = try transaction.sideValue(HistoryEntries.policies, key: key) {
        let ending = try HistoryPolicy.decoded(known).policy.encoded(isEnding: true)
        try transaction.setSideValue(ending, HistoryEntries.policies, key: key)
      }
    }
    if policy == nil { try await trim() }
  }

  private static func checkRoom(for key: [UInt8], _ transaction: WriteTransaction) throws {
    var (count, isKnown) = (0, false)
    try transaction.forEachSideKey(HistoryEntries.policies) { name, _ in
      count += 1
      isKnown = isKnown || name == key
      return true
    }
    guard isKnown || count < collectionLimit else {
      throw FeedError(.limit, "versions are kept of at most \(collectionLimit) collections")
    }
  }

  private func listen() {
    listener.withLock { listener in
      guard listener == nil else { return }
      listener = store.beforeCommit { [weak self] in try self?.record($0) }
    }
  }

  // MARK: - Writing

  /// Adds versions to a transaction that is about to commit.
  private func record(_ transaction: WriteTransaction) throws {
    var changes: [DocumentKey: (first: Change, last: Change)] = [:]
    var order: [DocumentKey] = []
    var wanted: [UInt32: HistoryPolicy?] = [:]
    for change in transaction.pendingChanges {
      let number = change.key.collection
      if wanted[number] == nil {
        wanted[number] = .some(try Self.policy(of: change.collection.name, transaction))
      }
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
      if try Self.isErased(last), case .some(.some(let policy)) = wanted[key.collection] {
        // Nothing stays of an erased document, not even that it was removed.
        var trim = HistoryTrim(key.collection, policy, now: time, known, transaction)
        try trim.removeAll(of: last.id)
        totals[key.collection] = trim.totals
        added[key.collection, default: 0] += 0
        continue
      }
      if try add(first, last, at: time, &known, transaction) { added[key.collection, default: 0] += 1 }
      totals[key.collection] = known
    }
    for (number, count) in added {
      guard let known = totals[number], case .some(.some(let policy)) = wanted[number] else { continue }
      var trim = HistoryTrim(number, policy, now: time, known, transaction)
      _ = try trim.run(limit: max(2 * count, Removal.least))
      try transaction.setSideValue(
        trim.totals.encoded, HistoryEntries.table, key: HistoryEntries.totalsKey(number))
    }
  }

  private static func isErased(_ change: Change) throws -> Bool {
    try change.after?.withView { try $0.isErased(sites: change.sites) } ?? false
  }

  /// The policy in this transaction; a damaged one does not prevent writes.
  private static func policy(of collection: String, _ transaction: WriteTransaction) throws -> HistoryPolicy?
  {
    do {
      let value = try transaction.sideValue(HistoryEntries.policies, key: Array(collection.utf8))
      return HistoryPolicy.inForce(value)
    } catch {
      guard error.code == .corrupt else { throw error }
      return nil
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

  /// Counts the versions after the totals were damaged, since damage must not prevent writes.
  private static func recount(
    _ collection: UInt32, _ transaction: WriteTransaction
  ) throws -> HistoryEntries.Totals {
    var totals = HistoryEntries.Totals()
    for order in HistoryEntries.Order.allCases {
      for place in try HistoryEntries.places(order, collection, limit: .max, transaction) {
        let note = try HistoryEntries.note(order, collection, place, transaction)
        totals.count += 1
        totals.byteCount += note?.byteCount ?? 0
        totals.last = max(totals.last, place)
      }
    }
    return totals
  }

  /// - Returns: `false` if nothing has changed that a reader can see.
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
      key: HistoryEntries.noteKey(.passing, collection, place))
    totals.count += 1
    totals.byteCount += UInt64(byteCount)
    return true
  }

  // MARK: - Removing

  /// Removes all versions of a document, for a document that must not be found in the history.
  ///
  /// The document itself stays. Its next change leaves a version again.
  ///
  /// - Returns: The number of versions that were removed.
  /// - Throws: `invalidCollectionName`; what writing throws.
  /// - Complexity: O(*n*) in the versions, in one transaction.
  public func removeVersions(of id: DocumentID, in collection: String) async throws -> Int {
    try CollectionName.check(collection, operation: "removeVersions")
    return try await store.write { transaction in
      guard let known = try transaction.collection(collection) else { return 0 }
      let before = try Self.totals(of: known.id, transaction)
      var trim = HistoryTrim(known.id, nil, now: 0, before, transaction)
      try trim.removeAll(of: id)
      guard trim.totals.count < before.count else { return 0 }
      try transaction.setSideValue(
        trim.totals.encoded, HistoryEntries.table, key: HistoryEntries.totalsKey(known.id))
      return Int(clamping: before.count - trim.totals.count)
    }.0
  }

  /// Removes versions that are too old, and all versions of collections whose policy has ended.
  ///
  /// It uses short transactions. Call this from time to time: a collection without writes does not remove its
  /// old versions by itself.
  public func trim() async throws {
    for (name, entry) in try Self.stored(store) {
      let policy = entry.isEnding ? nil : entry.policy
      while try await trimSome(name.text, policy) { try Task.checkCancellation() }
    }
  }

  /// - Returns: Whether more versions may remain to be removed.
  private func trimSome(_ name: String, _ policy: HistoryPolicy?) async throws -> Bool {
    let (table, policies, time) = (HistoryEntries.table, HistoryEntries.policies, now())
    return try await store.write { transaction in
      let key = Array(name.utf8)
      // The policy may have been set again.
      guard let stored = try transaction.sideValue(policies, key: key),
        try HistoryPolicy.decoded(stored).isEnding == (policy == nil)
      else { return false }
      guard let collection = try transaction.collection(name) else {
        if policy == nil { try transaction.setSideValue(nil, policies, key: key) }
        return false
      }
      var trim = HistoryTrim(
        collection.id, policy, now: time, try Self.totals(of: collection.id, transaction), transaction)
      let count = try trim.run(limit: Removal.batch)
      let isEmpty = policy == nil && count < Removal.batch
      if count > 0 || isEmpty {
        try transaction.setSideValue(
          isEmpty ? nil : trim.totals.encoded, table, key: HistoryEntries.totalsKey(collection.id))
      }
      if isEmpty { try transaction.setSideValue(nil, policies, key: key) }
      return count == Removal.batch
    }.0
  }
}
