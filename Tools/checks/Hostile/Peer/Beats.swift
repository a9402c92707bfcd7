import CRDTCore
import CoreFoundation  // a structure of C belongs to the module that the compiler loads first: this one or Glibc
import DocStore
import Facade
import Foundation
import Glibc
import Synchronization

/// The honest writes: one every 50 ms at one peer, and how long each takes to be in the store of another.
///
/// A document bears the time at which its write began, by the clock that all processes of a machine share.
final class Beats: Sendable {
  static let collection = "beats"
  static let interval = Duration.milliseconds(50)

  private struct State {
    var isRunning = false
    var written = 0
    /// Nanoseconds from the beginning of each write to its commit here.
    var waits: [Int64] = []
  }

  private let dunlin: Dunlin
  private let state: SharedState
  private let listener: CommitListener
  private let stopped = DispatchSemaphore(value: 0)

  /// What the commit listener keeps alive.
  private final class SharedState: Sendable {
    let mutex = Mutex(State())
  }

  init(_ dunlin: Dunlin) {
    self.dunlin = dunlin
    let state = SharedState()
    self.state = state
    listener = dunlin.parts.store.onCommit { commit in
      guard case .remote = commit.origin else { return }
      for change in commit.changes where change.collection.name == Self.collection {
        guard let began = Self.began(change) else { continue }
        let wait = Self.now() - began
        state.mutex.withLock { $0.waits.append(wait) }
      }
    }
  }

  private static func began(_ change: Change) -> Int64? {
    let fields = change.after?.withView { try? $0.fields(change.collection.keys) }
    guard case .int(let time)? = fields?["at"], (0...now()).contains(time) else { return nil }
    return time
  }

  /// Nanoseconds by the machine's monotonic clock.
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Begins to write.
  func start() {
    state.mutex.withLock { state in
      state.isRunning = true
      state.written = 0
    }
    Thread.detachNewThread { self.beat() }
  }

  /// Ends it.
  ///
  /// - Returns: How many were written.
  func stop() -> Int {
    state.mutex.withLock { $0.isRunning = false }
    stopped.wait()
    return state.mutex.withLock { $0.written }
  }

  /// The waits of those that came in since the last call.
  func takeWaits() -> [Int64] {
    state.mutex.withLock { state in
      defer { state.waits = [] }
      return state.waits
    }
  }

  private func beat() {
    defer { stopped.signal() }
    let run = UUID().uuidString
    let step = Int64(Self.interval / .nanoseconds(1))
    var due = Self.now()
    while true {
      let number = state.mutex.withLock { $0.isRunning ? $0.written : nil }
      guard let number else { return }
      let fields: [String: Any?] = [
        "_id": "\(run)-\(number)", "at": Self.now(), "n": number, "a": number % 97,
        "text": "an honest document of the usual length, with a word or two to be looked for: \(number)",
        "repeated": String(repeating: "a", count: 64),
      ]
      do {
        _ = try dunlin.store.collection(Self.collection).upsert(fields)
      } catch {
        FileHandle.standardError.write(Data("an honest write failed: \(error)\n".utf8))
        return
      }
      state.mutex.withLock { $0.written += 1 }
      due += step
      let rest = due - Self.now()
      if rest > 0 { usleep(UInt32(rest / 1_000)) } else { due = Self.now() }
    }
  }
}
