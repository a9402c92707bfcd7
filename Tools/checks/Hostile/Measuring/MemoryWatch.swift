import Foundation
import Synchronization

/// Reads a process's memory a hundred times a second, and ends the process if it takes too much or too long.
final class MemoryWatch: Sendable {
  /// Anonymous memory beyond which the process is ended, so that the machine lives.
  static let limitBytes = 4 << 30

  private struct State {
    var peak = 0
    var isOver = false
    var ending: String?
  }

  private let processID: Int32
  private let deadline: ContinuousClock.Instant
  private let state = Mutex(State())

  /// Watches until ``stop()``; at `deadline` the process is ended.
  init(_ processID: Int32, deadline: ContinuousClock.Instant) {
    self.processID = processID
    self.deadline = deadline
    Thread.detachNewThread { self.watch() }
  }

  private func watch() {
    while let figures = ProcessFigures(of: processID) {
      let ending = state.withLock { state -> String? in
        state.peak = max(state.peak, figures.anonymousBytes)
        if figures.anonymousBytes > Self.limitBytes { state.ending = "killed at 4 GiB" }
        if ContinuousClock.now > deadline { state.ending = "hung" }
        return state.ending
      }
      if ending != nil { kill(processID, SIGKILL) }
      if state.withLock({ $0.isOver }) || ending != nil { return }
      usleep(10_000)
    }
  }

  /// The most since the last call, in bytes.
  func takePeak() -> Int {
    state.withLock { state in
      defer { state.peak = 0 }
      return max(state.peak, ProcessFigures(of: processID)?.anonymousBytes ?? 0)
    }
  }

  /// Why the process was ended from here, if it was.
  var ending: String? { state.withLock { $0.ending } }

  func stop() { state.withLock { $0.isOver = true } }
}
