import CRDTCore
public import DocStore
import Dispatch
import Synchronization

/// The progress of a backup, a compaction or a verification.
public typealias DunlinProgress = MaintenanceProgress

/// The damage in a database, as far as it can be determined.
public typealias DunlinVerification = VerificationReport

/// What was rescued from a damaged database, and what was not.
public typealias DunlinRescue = RescueReport

extension DunlinStore {
  /// Returns the state of the database; costs as much as a few reads, at any size of the database.
  ///
  /// - Throws: `closed`, `corrupt`, `io`.
  public func statistics() throws -> DunlinStatistics {
    try translatingErrors { DunlinStatistics(try local.store.statistics()) }
  }

  /// Reads the whole database and reports all damage; reads and writes go on, and nothing is changed.
  ///
  /// It checks every page, checksum, record, count and index row. Whatever the report does not name can be
  /// read.
  /// - Parameter progress: Is called with the number of entries at intervals, on another thread.
  /// - Returns: The damage. Damage is not thrown.
  /// - Throws: `closed`, `io`; `CancellationError` soon after the task is cancelled.
  public func verify(
    progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinVerification {
    try await besideTasks { [local] check in
      try local.store.verify { try check($0, progress) }
    }
  }

  /// Copies the database into a new directory, as one consistent state; reads and writes go on.
  ///
  /// The copy is a database of its own, and another peer. The copy is either complete or does not exist. It
  /// includes the system parameters that are kept.
  /// - Parameters:
  ///   - path: A directory that does not exist, or is empty; its parent must exist.
  ///   - progress: Is called with the number of entries at intervals, on another thread.
  /// - Throws: `exists`, `full`, `permission`, `io`, `closed`; `CancellationError` soon after the task is
  ///   cancelled, and then there is no copy.
  public func backup(
    to path: String, progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws {
    try await besideTasks { [local] check in
      try local.store.backup(to: path, carrying: Dunlin.carriedFiles) { try check($0, progress) }
    }
  }

  /// Rewrites the data file without its free pages; reads go on, writes wait.
  ///
  /// - Parameter progress: Is called with the number of entries at intervals, on another thread.
  /// - Throws: `full` when there is no room for both files; `nestedWriteTransaction`, `poisoned`, `io`,
  ///   `closed`; `CancellationError` soon after the task is cancelled, and then nothing has changed.
  public func compact(
    progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws {
    try await besideTasks { [local] check in
      try local.store.compact { try check($0, progress) }
    }
  }

  /// Resets the database's clock to the wall clock, which is right now but was ahead before.
  ///
  /// Each write has a later timestamp than the writes before it. A device whose clock was two years ahead for
  /// one write therefore stays two years ahead, and wins every conflict for two years. The log,
  /// ``statistics()`` and `system:vitals` report this.
  ///
  /// Peers whose clocks agree with this device's clock correct it by themselves. Call this when you know
  /// without them that the wall clock is right. The database becomes another peer. Earlier writes keep their
  /// timestamps.
  /// - Returns: Whether the database's clock was ahead; if not, nothing is changed.
  /// - Throws: `nestedWriteTransaction`, `poisoned`, `full`, `io`, `closed`.
  @discardableResult
  public func trustClock() async throws -> Bool {
    try await besideTasks { [local] _ in try local.store.trustClock() }
  }

  /// A document's bytes as they are stored, intact or damaged; `nil` when there are none.
  ///
  /// - Throws: `closed`, `io`.
  public func rawBytes(of id: DunlinDocumentID, in collection: String) throws -> [UInt8]? {
    try translatingErrors { try local.store.rawBytes(of: id.checked(), in: collection) }
  }
}

extension Dunlin {
  /// Verifies the database at `path` without opening it, also when it is too damaged to be opened.
  ///
  /// - Parameters:
  ///   - path: The database's directory.
  ///   - progress: Is called with the number of entries at intervals, on another thread.
  /// - Returns: The damage. Damage is not thrown.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `io`; `CancellationError`.
  public static func verify(
    path: String, progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinVerification {
    try await besideTasks { check in
      try Store.verify(at: path) { try check($0, progress) }
    }
  }

  /// Copies all readable data of a damaged database into a new one; the damaged one need not open.
  ///
  /// It copies deletions and indexes too. The new database is another peer. It is either complete or does not
  /// exist. The old database is not changed.
  /// - Parameters:
  ///   - path: The damaged database's directory.
  ///   - target: A directory that does not exist, or is empty; its parent must exist.
  ///   - progress: Is called with the number of documents at intervals, on another thread.
  /// - Returns: What was rescued, and what is damaged.
  /// - Throws: `notFound`, `alreadyOpen`, `permission`, `exists`, `full`, `io`; `corrupt` when nothing can be
  ///   found in the file; `CancellationError`, and then there is no new database.
  public static func rescue(
    path: String, to target: String, progress: @escaping @Sendable (DunlinProgress) -> Void = { _ in }
  ) async throws -> DunlinRescue {
    try await besideTasks { check in
      try Store.rescue(from: path, to: target, carrying: carriedFiles) { try check($0, progress) }
    }
  }
}

/// Reports progress to the caller; throws when the task was cancelled.
typealias ProgressCheck =
  @Sendable (MaintenanceProgress, (MaintenanceProgress) -> Void) throws -> Void

/// Whether a task was cancelled, for work on another thread.
private final class Cancellation: Sendable {
  // Relaxed: only the flag itself is read, and a delay does no harm.
  private let flag = Atomic(false)

  func cancel() { flag.store(true, ordering: .relaxed) }

  func check() throws {
    if flag.load(ordering: .relaxed) { throw CancellationError() }
  }
}

/// Runs long work on another thread, so that no thread of the task pool is blocked.
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
