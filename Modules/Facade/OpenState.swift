import Synchronization

/// Whether a database is open, and whether it syncs.
final class OpenState: Sendable {
  private struct State {
    var isOpen = true
    var isSyncing = false
    /// How often sync was started.
    var runs: UInt64 = 0
  }

  /// When the database was opened; the status report computes the uptime from it.
  let opening = ContinuousClock.now
  /// Whether the database is only read, so that it cannot sync.
  private let isReadOnly: Bool
  private let state = Mutex(State())

  init(isReadOnly: Bool) { self.isReadOnly = isReadOnly }

  var isOpen: Bool { state.withLock { $0.isOpen } }

  var isSyncing: Bool { state.withLock { $0.isSyncing } }

  /// Begins a run of sync.
  ///
  /// - Parameter check: Throws if sync must not run now.
  /// - Returns: `false` if sync runs already.
  /// - Throws: `closed`; `readOnlyStore` for a database that is only read; what `check` throws.
  func beginRun(_ check: () throws(DunlinError) -> Void) throws(DunlinError) -> Bool {
    try state.withLock { state throws(DunlinError) in
      guard state.isOpen else { throw DunlinError(.closed, "the database is closed") }
      guard !isReadOnly else { throw DunlinError.readOnlyStore("sync writes what it receives") }
      try check()
      guard !state.isSyncing else { return false }
      state.isSyncing = true
      state.runs += 1
      return true
    }
  }

  func endRun() { state.withLock { $0.isSyncing = false } }

  /// The number of the sync start that is in effect.
  ///
  /// - Throws: `closed`; `notSyncing` while it does not run.
  func currentRun() throws(DunlinError) -> UInt64 {
    try state.withLock { state throws(DunlinError) in
      guard state.isOpen else { throw DunlinError(.closed, "the database is closed") }
      guard state.isSyncing else { throw DunlinError(.notSyncing, "sync is not started") }
      return state.runs
    }
  }

  func close() { state.withLock { $0.isOpen = false } }
}
