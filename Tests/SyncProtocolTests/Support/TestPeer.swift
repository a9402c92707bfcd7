import CRDTCore
import DocStore
import Foundation
import QueryEngine
import ScopePolicy
import Synchronization
import SyncProtocol
import TestKit

/// A peer of the deterministic network: a real store, its subscriptions and its scopes.
final class TestPeer {
  let name: String
  let kind: PeerKind
  let scopes = SyncScopes()
  private(set) var shared = SessionShared()
  private let directory: TemporaryDirectory
  private let clock: ManualClock
  private(set) var store: Store
  private(set) var queries: [SubscriptionQuery] = []
  /// Those of the queries that let go of what leaves them.
  private var evicting: Set<SubscriptionQuery> = []
  private(set) var endpoints: [Endpoint] = []
  private var listener: CommitListener?
  private let commits = CommitLog()
  let log = LogLines()
  /// Told of every commit, when it has become visible.
  var onCommit: (Commit) throws -> Void = { _ in }

  private let options: StoreOptions

  init(
    _ name: String, _ kind: PeerKind, clock: ManualClock, hardDocumentBytes: Int = Limits.hardDocumentBytes,
    stagedBytes: Int? = nil, disk: TemporaryDirectory? = nil, tune: (inout StoreOptions) -> Void = { _ in }
  ) throws {
    self.name = name
    self.kind = kind
    self.clock = clock
    directory = try disk ?? TemporaryDirectory()
    var random = SeededGenerator(seed: UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) }))
    let site = Mutex(random.split())
    let log = log
    var options = StoreOptions(
      mapBytes: 1 << 30, now: { clock.milliseconds }, random: { site.withLock { $0.next() } },
      log: { _, line in log.append(line) }, hardDocumentBytes: hardDocumentBytes)
    // Time moves only when told, and so does what goes by it.
    options.collectionInterval = nil
    // Copies are made of whole disks.
    options.trustsCopies = true
    if let stagedBytes { options.workingBytes = stagedBytes }
    tune(&options)
    self.options = options
    store = try Store.open(at: directory.file("store"), options: options)
    listen()
  }

  /// A copy of all files as they are now.
  func copyDisk() throws -> TemporaryDirectory {
    let copy = try TemporaryDirectory()
    do {
      try FileManager.default.copyItem(atPath: directory.file("store"), toPath: copy.file("store"))
    } catch let error as CocoaError where error.code == .fileNoSuchFile {
      // A draft of the open store's own that has got its name meanwhile.
      try FileManager.default.removeItem(atPath: copy.file("store"))
      try FileManager.default.copyItem(atPath: directory.file("store"), toPath: copy.file("store"))
    }
    return copy
  }

  /// Puts all files back as they were, and goes on from there.
  func restore(_ disk: TemporaryDirectory) throws {
    close()
    try FileManager.default.removeItem(atPath: directory.file("store"))
    try FileManager.default.copyItem(atPath: disk.file("store"), toPath: directory.file("store"))
    store = try Store.open(at: directory.file("store"), options: options)
    listen()
  }

  /// Ends the process and starts it again, with the same subscriptions.
  func restart() throws {
    listener?.cancel()
    store.crash()
    _ = commits.take()
    store = try Store.open(at: directory.file("store"), options: options)
    shared = SessionShared()
    shared.follow(queries, evicting: evicting, of: store)
    listen()
  }

  private func listen() {
    listener = store.onCommit { [commits] commit in commits.append(commit) }
  }

  func close() {
    listener?.cancel()
    store.close()
  }

  /// Forgets what its sessions had in memory, as a restart does.
  func forgetSessions() {
    shared = SessionShared()
    shared.follow(queries, evicting: evicting, of: store)
  }

  /// Commits that have happened, for who plays the sessions itself.
  func takeCommits() -> [Commit] { commits.take() }

  func join(_ endpoint: Endpoint) { endpoints.append(endpoint) }

  func leave(_ endpoint: Endpoint) { endpoints.removeAll { $0 === endpoint } }

  /// Hands commits that have happened to the sessions' queues.
  func distribute() throws {
    for commit in commits.take() {
      try onCommit(commit)
      for endpoint in endpoints { endpoint.commits.append(commit) }
    }
  }

  func subscribe(_ texts: String...) throws { try subscribe(texts) }

  func subscribe(_ texts: [String], evicting letGo: [String] = []) throws {
    evicting = Set(try letGo.map { try SubscriptionQuery(dql: $0) })
    queries = try (texts + letGo).map { try SubscriptionQuery(dql: $0) }
    shared.follow(queries, evicting: evicting, of: store)
    for endpoint in endpoints { endpoint.subscribe() }
  }

  // MARK: - Documents

  @discardableResult
  func write(_ body: (WriteTransaction) throws -> Void) throws -> CommitReceipt {
    clock.advance()
    return try store.write { try body($0) }.1
  }

  func put(_ id: String, _ fields: [TextKey: Value], in collection: String = "things") throws {
    try write { try $0.upsert(fields, id: try DocumentID(id), into: collection) }
  }

  func remove(_ id: String, in collection: String = "things") throws {
    try write { try $0.remove(try DocumentID(id), in: collection) }
  }

  func evict(_ id: String, in collection: String = "things") throws {
    try write { try $0.evict(try DocumentID(id), in: collection) }
  }

  /// Changes bytes in the open store's file, as a rotting disk would.
  ///
  /// - Returns: How often `old`, which is as long as `new`, stood there.
  func damage(_ old: String, by new: String) throws -> Int {
    let handle = try FileHandle(forUpdating: file)
    defer { try? handle.close() }
    let data = try Data(contentsOf: file)
    var count = 0
    var start = data.startIndex
    while let range = data.range(of: Data(old.utf8), in: start..<data.endIndex) {
      try handle.seek(toOffset: UInt64(range.lowerBound))
      try handle.write(contentsOf: Data(new.utf8))
      start = range.upperBound
      count += 1
    }
    return count
  }

  /// The pages of the open store's file.
  func pages() throws -> TreePages { TreePages(bytes: [UInt8](try Data(contentsOf: file))) }

  /// Makes a page of the open store's file one that cannot be walked over.
  func damage(page: Int) throws {
    let handle = try FileHandle(forUpdating: file)
    defer { try? handle.close() }
    try handle.seek(toOffset: UInt64(page * TreePages.pageBytes + 12))
    try handle.write(contentsOf: Data([0xFF]))
    // The store wrote the page itself.
    try store.forgetVerifiedPages()
  }

  var file: URL { URL(fileURLWithPath: directory.file("store") + "/data.mdb") }

  /// All living documents of a collection, by id.
  func documents(in collection: String = "things") throws -> [String: [TextKey: Value]] {
    try store.read { transaction in
      var found: [String: [TextKey: Value]] = [:]
      guard let known = try transaction.collection(collection) else { return found }
      try transaction.forEachRecord(in: known) { id, _, record in
        guard record.isAlive, case .string(let key) = try DocumentID.decode(id) else { return true }
        found[key] = try record.fields(known.keys)
        return true
      }
      return found
    }
  }

  /// A living document, read without a look at any other.
  func document(_ id: String, in collection: String = "things") throws -> [TextKey: Value]? {
    try store.read { transaction in
      guard let known = try transaction.collection(collection) else { return nil }
      return try transaction.withRecord(known, try DocumentID(id)) { record, _ in
        record.isAlive ? try record.fields(known.keys) : nil
      } ?? nil
    }
  }
}

/// Time that moves only when told.
final class ManualClock: Sendable {
  private let now = Mutex<UInt64>(1_700_000_000_000)

  var milliseconds: UInt64 { now.withLock { $0 } }

  func advance(by milliseconds: UInt64 = 1) { now.withLock { $0 += milliseconds } }
}

/// Time that moves by the same span whenever somebody looks.
final class SteppingClock: Sendable {
  private let pace: UInt64
  private let now = Mutex<UInt64>(0)

  init(pace: Duration) { self.pace = UInt64(pace / .nanoseconds(1)) }

  /// Nanoseconds since the clock was made.
  func look() -> UInt64 {
    now.withLock { now in
      defer { now += pace }
      return now
    }
  }
}

/// Commits that no session has been told of.
final class CommitLog: Sendable {
  private let commits = Mutex<[Commit]>([])

  func append(_ commit: Commit) { commits.withLock { $0.append(commit) } }

  func take() -> [Commit] {
    commits.withLock { commits in
      defer { commits = [] }
      return commits
    }
  }
}

extension TestPeer {
  /// Forgets what it would after being in use for as long as its tombstones live.
  func forget() throws {
    let lifetime = store.tombstoneLifetime
    defer { store.tombstoneLifetime = lifetime }
    store.tombstoneLifetime = .zero
    try store.collect()
  }
}

/// What a store wrote to its log.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])

  func append(_ line: String) { lines.withLock { $0.append(line) } }

  var all: [String] { lines.withLock { $0 } }
}

extension TestPeer {
  /// A document as it travels whole; empty where it is not here.
  func wireDocument(_ id: String, in collection: String = "things") throws -> [UInt8] {
    try store.read { transaction in
      var out = ByteWriter()
      guard let known = try transaction.collection(collection) else { return [] }
      try transaction.withRecord(known, try DocumentID(id)) { record, _ in
        try WireDocument.append(
          record, lacking: VersionVector(),
          tables: RecordTables(keys: known.keys, sites: transaction.sites), to: &out)
      }
      return out.bytes
    }
  }

  /// Whether a document lives here.
  func exists(_ id: String, in collection: String = "things") throws -> Bool {
    try store.read { transaction in
      guard let known = try transaction.collection(collection) else { return false }
      return try transaction.withRecord(known, try DocumentID(id)) { record, _ in record.isAlive } ?? false
    }
  }
}
