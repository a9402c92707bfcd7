import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// A store in a directory of its own, closed and removed with the fixture.
final class StoreFixture {
  let directory: TemporaryDirectory
  private let witness: TemporaryDirectory
  let log = LogLines()
  private(set) var store: Store
  private let options: StoreOptions

  var path: String { directory.file("db") }
  var dataPath: String { path + "/data.mdb" }

  /// A store whose clock stands still, whose random numbers come from `seed`, and which logs to ``log``.
  init(seed: UInt64 = 1, _ adjust: (inout StoreOptions) -> Void = { _ in }) throws {
    directory = try TemporaryDirectory()
    witness = try TemporaryDirectory()
    let random = Mutex(SeededGenerator(seed: seed))
    let log = log
    var options = StoreOptions(
      now: { 1_800_000_000_000 }, random: { random.withLock { $0.next() } }, log: { log.append($0, $1) })
    // Tests share the machine with heavier ones; only the test of the deadline wants a short one.
    options.transactionDeadline = .seconds(600)
    options.witnessDirectory = witness.path
    adjust(&options)
    self.options = options
    store = try Store.open(at: directory.file("db"), options: options)
  }

  deinit { store.close() }

  /// Closes the store, lets `meddle` have its files, and opens it again.
  func reopen(_ meddle: () throws -> Void = {}) throws {
    store.close()
    try meddle()
    store = try Self.open(at: path, options)
  }

  /// Opens a store that was closed just now.
  static func open(at path: String, _ options: StoreOptions) throws -> Store {
    // The test of a forked process has, until that ends, a hold on the locks of all.
    let end = ContinuousClock.now + .seconds(5)
    while true {
      do throws(StoreError) {
        return try Store.open(at: path, options: options)
      } catch {
        guard error.code == .alreadyOpen, ContinuousClock.now < end else { throw error }
      }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }
}

/// Log lines in the order written, from any thread.
final class LogLines: Sendable {
  private let lines = Mutex<[(StoreLogLevel, String)]>([])

  func append(_ level: StoreLogLevel, _ line: String) { lines.withLock { $0.append((level, line)) } }

  var all: [(StoreLogLevel, String)] { lines.withLock { $0 } }
  var texts: [String] { all.map(\.1) }
}

/// Commits in the order they were announced.
final class CommitLog: Sendable {
  private let commits = Mutex<[Commit]>([])

  func append(_ commit: Commit) { commits.withLock { $0.append(commit) } }

  var all: [Commit] { commits.withLock { $0 } }
}

extension Store {
  /// The fields of a living document; `nil` when it is unknown or removed.
  func fields(_ id: String, in collection: String) throws -> [TextKey: Value]? {
    try read { tx in
      guard let collection = try tx.collection(collection) else { return nil }
      return try tx.withRecord(collection, DocumentID(id)) { record, _ in
        record.isAlive ? try record.fields(collection.keys) : nil
      } ?? nil
    }
  }

  func count(in collection: String) throws -> Int? {
    try read { try $0.collections() }.first { $0.name == collection }?.documentCount
  }

  @discardableResult
  func put(_ id: String, _ fields: [TextKey: Value], into collection: String = "cars") throws -> CommitReceipt
  {
    try write { try $0.upsert(fields, id: DocumentID(id), into: collection) }.1
  }
}

/// The code of the store's error that `body` throws, or `nil` when it throws none.
func code<R>(of body: () throws -> R) -> StoreError.Code? {
  do {
    _ = try body()
    return nil
  } catch {
    return (error as? StoreError)?.code
  }
}

/// As ``code(of:)``, for asynchronous work.
func code<R>(
  isolation: isolated (any Actor)? = #isolation, ofAsync body: () async throws -> R
) async -> StoreError.Code? {
  do {
    _ = try await body()
    return nil
  } catch {
    return (error as? StoreError)?.code
  }
}
