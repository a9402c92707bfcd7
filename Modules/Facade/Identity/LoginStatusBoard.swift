#if TLS
  import Synchronization

  /// Publishes each status to all listeners; a slow listener gets only the newest.
  final class LoginStatusBoard: Sendable {
    private struct State {
      var listeners: [UInt64: AsyncStream<DunlinAuthenticationStatus>.Continuation] = [:]
      var nextID: UInt64 = 0
      var isClosed = false
    }

    private let state = Mutex(State())

    /// The status, now and after each change, until the task is cancelled or the board is closed.
    ///
    /// - Parameter current: Reads the status. It is called under the lock, so that no listener keeps an
    ///   outdated status.
    /// - Returns: The statuses; a slow reader gets the newest one.
    func statuses(_ current: () -> DunlinAuthenticationStatus) -> AsyncStream<DunlinAuthenticationStatus> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: DunlinAuthenticationStatus.self, bufferingPolicy: .bufferingNewest(1))
      let id = state.withLock { state -> UInt64? in
        continuation.yield(current())
        guard !state.isClosed else { return nil }
        state.nextID += 1
        state.listeners[state.nextID] = continuation
        return state.nextID
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
    func publish(_ current: () -> DunlinAuthenticationStatus) {
      state.withLock { state in
        let status = current()
        for listener in state.listeners.values { listener.yield(status) }
      }
    }

    func close() {
      let listeners = state.withLock { state in
        state.isClosed = true
        defer { state.listeners = [:] }
        return Array(state.listeners.values)
      }
      for listener in listeners { listener.finish() }
    }
  }
#endif
