package import Foundation
import Synchronization

/// A wall clock that stands still until a test moves it.
package final class WallClock: Sendable {
  private struct State {
    var now: Date
    var nextID = 0
    var waiting: [Int: (end: Date, continuation: CheckedContinuation<Bool, Never>)] = [:]
    /// Those that were cancelled before they could wait.
    var cancelled: Set<Int> = []
  }

  private let state: Mutex<State>

  /// Begins at a time.
  package init(_ now: Date = Date()) { state = Mutex(State(now: now)) }

  package var now: Date { state.withLock { $0.now } }

  /// Moves the time on and wakes whom it reaches.
  package func advance(by seconds: TimeInterval) {
    let due = state.withLock { state in
      state.now += seconds
      let due = state.waiting.filter { $0.value.end <= state.now }
      for id in due.keys { state.waiting[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume(returning: true) }
  }

  /// Waits until a time has come.
  ///
  /// - Throws: `CancellationError`.
  package func wait(until end: Date) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let waited = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state -> Bool? in
          if state.cancelled.remove(id) != nil { return false }
          guard end > state.now else { return true }
          state.waiting[id] = (end, continuation)
          return nil
        }
        if let isOver { continuation.resume(returning: isOver) }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        let waiting = state.waiting.removeValue(forKey: id)
        if waiting == nil { state.cancelled.insert(id) }
        return waiting?.continuation
      }
      continuation?.resume(returning: false)
    }
    if !waited { throw CancellationError() }
  }
}
