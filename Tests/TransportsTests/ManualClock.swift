import Synchronization
import TestKit

/// A clock that stands still until a test moves it.
final class ManualClock: Clock {
  typealias Instant = SkippingClock.Instant

  private struct Sleeper {
    let deadline: Duration
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var now = Duration.zero
    var nextID = 0
    var sleepers: [Int: Sleeper] = [:]
  }

  private let state = Mutex(State())

  var now: Instant { Instant(offset: state.withLock { $0.now }) }
  var minimumResolution: Duration { .nanoseconds(1) }
  /// How many tasks sleep.
  var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let slept = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result = state.withLock { state -> Bool? in
          if Task.isCancelled { return false }
          if state.now >= deadline.offset { return true }
          state.sleepers[id] = Sleeper(deadline: deadline.offset, continuation: continuation)
          return nil
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(returning: false)
    }
    if !slept { throw CancellationError() }
  }

  /// How long the one sleeps that wakes first.
  var nextDelay: Duration? {
    state.withLock { state in state.sleepers.values.map { $0.deadline - state.now }.min() }
  }

  /// Moves the time on and wakes whom it reaches.
  func advance(by duration: Duration) {
    let woken = state.withLock { state in
      state.now += duration
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due
    }
    for sleeper in woken.values { sleeper.continuation.resume(returning: true) }
  }

  /// Waits until `count` tasks sleep.
  func waitForSleepers(_ count: Int = 1) async {
    while sleeperCount < count { await pause() }
  }
}
