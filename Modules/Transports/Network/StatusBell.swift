import NIOConcurrencyHelpers

/// Wakes its listeners whenever the status of sync may have changed.
///
/// A listener then reads the status itself. So several changes before it does so wake it once.
final class StatusBell: Sendable {
  private struct State {
    var listeners: [UInt64: AsyncStream<Void>.Continuation] = [:]
    var lastID: UInt64 = 0
    var isClosed = false
  }

  private let state = NIOLockedValueBox(State())

  /// One element at once and one after each change; the stream ends when the network is closed.
  func calls() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.yield()
    let id = state.withLockedValue { state -> UInt64? in
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
      _ = self?.state.withLockedValue { $0.listeners.removeValue(forKey: id) }
    }
    return stream
  }

  func ring() {
    let listeners = state.withLockedValue { state in
      state.listeners.isEmpty ? [] : Array(state.listeners.values)
    }
    for listener in listeners { listener.yield() }
  }

  func close() {
    let listeners = state.withLockedValue { state in
      state.isClosed = true
      defer { state.listeners = [:] }
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}
