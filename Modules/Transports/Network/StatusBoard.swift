import Synchronization

/// Publishes each status to all listeners; a slow listener gets only the newest.
package final class StatusBoard<Status: Sendable>: Sendable {
  private struct State {
    var listeners: [UInt64: AsyncStream<Status>.Continuation] = [:]
    var lastID: UInt64 = 0
    var isClosed = false
  }

  private let state = Mutex(State())

  /// A board without listeners.
  package init() {}

  /// The status, now and after each change, until the task is cancelled or the board is closed.
  ///
  /// - Parameter current: Reads the status. It is called under the lock, so that no listener keeps an
  ///   outdated status.
  /// - Returns: The statuses; a slow reader gets the newest one.
  package func statuses(_ current: () -> Status) -> AsyncStream<Status> {
    let (stream, continuation) = AsyncStream.makeStream(of: Status.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state -> UInt64? in
      continuation.yield(current())
      guard !state.isClosed else { return nil }
      state.lastID += 1
      state.listeners[state.lastID] = continuation
      return state.lastID
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
    }
    return stream
  }

  /// Sends the status to all listeners.
  ///
  /// - Parameter current: Reads the status; called under the lock.
  package func publish(_ current: () -> Status) {
    state.withLock { state in
      let status = current()
      for listener in state.listeners.values { listener.yield(status) }
    }
  }

  /// Ends all statuses, also those that are asked for later.
  package func close() {
    let listeners = state.withLock { state in
      state.isClosed = true
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}

/// Wakes its listeners whenever the status of sync may have changed.
///
/// A listener then reads the status itself. So several changes before it does so wake it once.
typealias StatusBell = StatusBoard<Void>

extension StatusBell {
  /// One element at once and one after each change; the stream ends when the network is closed.
  func calls() -> AsyncStream<Void> { statuses {} }

  func ring() { publish {} }
}
