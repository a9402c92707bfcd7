import Links
import Platform
import Synchronization

/// The user of a link that observes its callbacks, and records what no link may do.
final class WatchingUser: LinkUser {
  struct State {
    var receivedBytes = 0
    var ends: [LinkDirection: LinkError?] = [:]
    var problems: [String] = []
    /// All bytes, if they are kept.
    var kept: [UInt8] = []
    /// The number of received bytes above which there is no room.
    var room = Int.max
    /// Whether it has refused room since the last bytes.
    var hasRefused = false
    /// The thread of the current call, and the depth of nested calls.
    var thread: UInt?
    var depth = 0
  }

  private let name: String
  private let executor: any LinkExecutor
  private let expected: PatternBytes?
  private let onReceived: @Sendable ([UInt8]) -> Void
  private let state: Mutex<State>

  /// Observes one end.
  ///
  /// - Parameters:
  ///   - name: The name of the end in problems.
  ///   - executor: The executor on which it must be called.
  ///   - expected: The bytes that must arrive; `nil` keeps whatever arrives.
  ///   - room: The number of received bytes above which it has no room.
  ///   - onReceived: Called with the received bytes, after all checks.
  init(
    _ name: String, on executor: any LinkExecutor, expecting expected: PatternBytes?, room: Int = .max,
    onReceived: @escaping @Sendable ([UInt8]) -> Void = { _ in }
  ) {
    self.name = name
    self.executor = executor
    self.expected = expected
    self.onReceived = onReceived
    state = Mutex(State(room: room))
  }

  var current: State { state.withLock { $0 } }
  var receivedBytes: Int { state.withLock { $0.receivedBytes } }
  var hasRefused: Bool { state.withLock { $0.hasRefused } }
  var hasEnded: Bool { state.withLock { $0.ends.count == 2 } }

  func end(_ direction: LinkDirection) -> LinkError?? { state.withLock { $0.ends[direction] } }

  /// Gives room for so many bytes in total.
  func setRoom(_ bytes: Int) { state.withLock { $0.room = bytes } }

  func note(_ problem: String) {
    state.withLock { state in
      // A link with an error may repeat it at every byte.
      if state.problems.count < 5 { state.problems.append("\(name) \(problem)") }
    }
  }

  // MARK: - What the link calls

  func received(_ bytes: [UInt8]) {
    enter("received")
    defer { leave() }
    if bytes.isEmpty { note("was handed nothing") }
    let (offset, hadEnded) = state.withLock { ($0.receivedBytes, $0.ends.keys.contains(.inbound)) }
    if hadEnded { note("was handed \(bytes.count) bytes behind the end of its inbound direction") }
    if let wrong = expected?.firstDifference(bytes, at: offset) {
      note("was handed something else than was written, from byte \(wrong) on")
    }
    // Counted after all checks, so that the next event is a question for room.
    state.withLock { state in
      if expected == nil { state.kept += bytes }
      state.receivedBytes += bytes.count
      state.hasRefused = false
    }
    onReceived(bytes)
  }

  var hasRoom: Bool {
    enter("hasRoom")
    defer { leave() }
    return state.withLock { state in
      state.hasRefused = state.receivedBytes > state.room
      return !state.hasRefused
    }
  }

  func ended(_ direction: LinkDirection, _ error: LinkError?) {
    enter("ended")
    defer { leave() }
    let isSecond = state.withLock { state in
      defer { if !state.ends.keys.contains(direction) { state.ends[direction] = .some(error) } }
      return state.ends.keys.contains(direction)
    }
    if isSecond { note("was told twice that its \(direction) direction has ended") }
  }

  private func enter(_ call: String) {
    // A number or a pointer, depending on the system; both identify the thread.
    let thread = withUnsafeBytes(of: pthread_self()) { $0.load(as: UInt.self) }
    let other = state.withLock { state in
      let other = state.depth > 0 && state.thread != thread
      state.thread = thread
      state.depth += 1
      return other
    }
    if other { note("was called by two threads at once, the second with \(call)") }
    if !executor.isCurrent { note("was called with \(call) off the link's executor") }
  }

  private func leave() { state.withLock { $0.depth -= 1 } }
}
