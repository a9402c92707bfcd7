import CRDTCore
public import DocStore
import Dispatch
import Synchronization

/// How far a backup, a compaction or a verification has come.
public typealias DunlinProgress = MaintenanceProgress

/// What is damaged in a database, as far as it can be told.
public typealias DunlinVerification = VerificationReport

/// What was rescued from a damaged database, and what was not.
public typealias DunlinRescue = RescueReport

extension DunlinStore {
  /// How the database stands now; costs as much as a few reads, however large it is.
  ///
  /// - Throws: `closed`, `corrupt`, `io`.
  public func statistics() throws -> DunlinStatistics {
    try translatingErrors { DunlinStatistics(try core.store.statistics()) }
  }

  /// Reads everything and names all that is damaged; reads and writes go on, and nothing is changed.
  ///
  /// Every page, checksum, record, count and index row. What the report does not name can be read.
  /// - Parameter progress: Hears of entries now and then, on another thread.
  /// - Returns: What is damaged. Damage is not thrown.
  /// - Throws: `closed`, `io`; `CancellationError` soon after the task is cancelled.
  public func verify(
    progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinVerification {
    try await besideTasks { [core] check in
      try core.store.verify { try check($0, progress) }
    }
  }

  /// Copies the database into a new directory, as one consistent state; reads and writes go on.
  ///
  /// The copy is a database of its own, and another peer. It is there whole or not at all. System parameters that are kept
  /// go with it.
  /// - Parameters:
  ///   - path: A directory that does not exist, or is empty; its parent must exist.
  ///   - progress: Hears of entries now and then, on another thread.
  /// - Throws: `exists`, `full`, `permission`, `io`, `closed`; `CancellationError` soon after the task is
  ///   cancelled, and then there is no copy.
  public func backup(
    to path: String, progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws {
    try await besideTasks { [core] check in
      try core.store.backup(to: path, carrying: Dunlin.carriedFiles) { try check($0, progress) }
    }
  }

  /// Writes the data file anew without its free pages; reads go on, writes wait.
  ///
  /// - Parameter progress: Hears of entries now and then, on another thread.
  /// - Throws: `full`, which needs room for both files; `nestedWriteTransaction`, `poisoned`, `io`, `closed`;
  ///   `CancellationError` soon after the task is cancelled, and then all is as before.
  public func compact(
    progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws {
    try await besideTasks { [core] check in
      try core.store.compact { try check($0, progress) }
    }
  }

  /// Has the database's clock begin anew at the wall clock, since that is right and was ahead once.
  ///
  /// Each write is later than those before. A device whose clock was two years ahead for one write goes on from there, and wins
  /// every conflict for two years; the log says so, as do ``statistics()`` and `system:vitals`. Peers whose clocks agree
  /// with this device's put it right by themselves; this is for who knows it without them. The database becomes another
  /// peer. What was written keeps its time.
  /// - Returns: Whether it was ahead; else nothing is changed.
  /// - Throws: `nestedWriteTransaction`, `poisoned`, `full`, `io`, `closed`.
  @discardableResult
  public func trustClock() async throws -> Bool {
    try await besideTasks { [core] _ in try core.store.trustClock() }
  }

  /// A document's bytes as they are stored, whole or damaged; `nil` when there are none.
  ///
  /// - Throws: `closed`, `io`.
  public func rawBytes(of id: DunlinDocumentID, in collection: String) throws -> [UInt8]? {
    try translatingErrors { try core.store.rawBytes(of: id.checked(), in: collection) }
  }
}

extension Dunlin {
  /// Looks through the database at `path` without opening it, for one that is too damaged to be opened.
  ///
  /// - Parameters:
  ///   - path: The database's directory.
  ///   - progress: Hears of entries now and then, on another thread.
  /// - Returns: What is damaged. Damage is not thrown.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `io`; `CancellationError`.
  public static func verify(
    path: String, progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinVerification {
    try await besideTasks { check in
      try Store.verify(at: path) { try check($0, progress) }
    }
  }

  /// Takes all that can be read out of a damaged database, which need not open, into a new one.
  ///
  /// Deletions and indexes too. The new database is another peer; it is there whole or not at all, and the old
  /// one is not changed.
  /// - Parameters:
  ///   - path: The damaged database's directory.
  ///   - target: A directory that does not exist, or is empty; its parent must exist.
  ///   - progress: Hears of documents now and then, on another thread.
  /// - Returns: What was rescued, and what is damaged.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `exists`, `full`, `io`; `corrupt` when nothing can be found in
  ///   the file; `CancellationError`, and then there is no new database.
  public static func rescue(
    path: String, to target: String, progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinRescue {
    try await besideTasks { check in
      try Store.rescue(from: path, to: target, carrying: carriedFiles) { try check($0, progress) }
    }
  }
}

/// Passes progress on, unless the task was cancelled.
typealias ProgressCheck =
  @Sendable (MaintenanceProgress, (MaintenanceProgress) -> Void) throws -> Void

/// Whether a task was cancelled, for work on another thread.
private final class Cancellation: Sendable {
  // Relaxed: the flag alone is read, and late is early enough.
  private let flag = Atomic(false)

  func cancel() { flag.store(true, ordering: .relaxed) }

  func check() throws {
    if flag.load(ordering: .relaxed) { throw CancellationError() }
  }
}

/// Runs long work on a thread that no task waits for.
func besideTasks<R: Sendable>(
  _ body: @escaping @Sendable (@escaping ProgressCheck) throws -> R
) async throws -> R {
  let cancellation = Cancellation()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .utility).async {
        continuation.resume(
          with: Result {
            try translatingErrors {
              try cancellation.check()
              return try body { progress, report in
                try cancellation.check()
                report(progress)
              }
            }
          })
      }
    }
  } onCancel: {
    cancellation.cancel()
  }
}
