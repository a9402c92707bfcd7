import Transports

/// Checks the status of sync now and after each change of it, until a condition is met.
///
/// It does not poll: the sessions signal each change of what they know.
struct SyncWait: Sendable {
  /// The result of a check of the status.
  enum Finding: Sendable {
    case reached
    /// What is still missing, as the end of a sentence.
    case missing(String)
  }

  private let sync: PeerSync
  /// The number of the run of sync, from a start to the next stop, to which the wait belongs.
  private let run: UInt64

  /// - Throws: `closed`; `notSyncing` if sync is not started.
  init(_ sync: PeerSync) throws(DunlinError) {
    self.sync = sync
    run = try sync.currentRun()
  }

  /// Waits until a check reports that the condition is met.
  ///
  /// - Parameters:
  ///   - timeout: The longest time to wait; `nil` for ever.
  ///   - look: Checks the status; must be quick, and runs on any thread.
  /// - Throws: `timeout`, with what is missing; `notSyncing` as soon as sync stops, `closed` as soon as the
  ///   database closes; `CancellationError`; what `look` throws.
  func wait(_ timeout: Duration?, until look: @escaping @Sendable () throws -> Finding) async throws {
    if case .reached = try checked(look) { return }
    let isReached = try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask { [self] in
        for await _ in sync.network.statusCalls() {
          if case .reached = try checked(look) { return true }
        }
        try Task.checkCancellation()
        throw DunlinError(.closed, "the database is closed")
      }
      if let timeout {
        group.addTask { [sync] in
          try await sync.network.sleep(for: timeout)
          return false
        }
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
    guard !isReached, case .missing(let what) = try checked(look) else { return }
    throw DunlinError(.timeout, "what was waited for has not come within \(timeout ?? .zero): \(what)")
  }

  private func checked(_ look: () throws -> Finding) throws -> Finding {
    guard try sync.currentRun() == run else {
      throw DunlinError(.notSyncing, "sync was stopped while something was waited for")
    }
    return try translatingErrors { try look() }
  }
}
