import DocStore
import Foundation
import Synchronization

/// Runs work that tells its progress and can be interrupted: it cleans up, then the program ends.
struct LongWork {
  private final class State: Sendable {
    let isInterrupted = Atomic(false)
    let isDone = DispatchSemaphore(value: 0)
  }

  private let state: State
  private let interruption: Interruption
  private let label: String
  /// After this long the program ends though the work has not.
  private static let patience = DispatchTimeInterval.seconds(10)

  init(_ label: String) {
    self.label = label
    let state = State()
    self.state = state
    interruption = Interruption {
      state.isInterrupted.store(true, ordering: .relaxed)
      _ = state.isDone.wait(timeout: .now() + Self.patience)
    }
  }

  /// Runs `body`, which passes its progress on to the closure it is given.
  func run<R>(_ body: (@escaping (MaintenanceProgress) throws -> Void) throws -> R) throws -> R {
    let bar = Mutex<Progress?>(nil)
    defer {
      _ = bar.withLock { $0?.finish(0) }
      state.isDone.signal()
    }
    do {
      let result = try body { [state, label] progress in
        if state.isInterrupted.load(ordering: .relaxed) { throw ToolError("interrupted") }
        bar.withLock { bar in
          if bar == nil { bar = Progress(label, total: progress.total, unit: ("entry", "entries")) }
          bar?.update(progress.done)
        }
      }
      interruption.cancel()
      return result
    } catch {
      // The signal's handler ends the program with the status that shells expect.
      if !state.isInterrupted.load(ordering: .relaxed) { interruption.cancel() }
      throw error
    }
  }
}
