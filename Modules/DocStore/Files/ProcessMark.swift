import Platform
import Synchronization

/// Tells a process from its forks, without a call of the system each time.
struct ProcessMark {
  private let forks = ForkCount.current
  /// Looked at only where forks cannot be counted.
  private let processID = getpid()

  /// Whether the process in which the mark was made is this one.
  @inline(__always)
  var isHere: Bool { forks == .uncounted ? processID == getpid() : forks == ForkCount.value }
}

/// How many forks lie between this process and the one that began to count.
private enum ForkCount {
  static var current: Int { isCounting ? value : .uncounted }

  @inline(__always)
  static var value: Int { count.load(ordering: .relaxed) }

  private static let isCounting: Bool = {
    // What runs in the child, which may have stopped in the middle of anything, adds to a word.
    pthread_atfork(nil, nil) { count.add(1, ordering: .relaxed) } == 0
  }()

  private static let count = Atomic(0)
}

extension Int {
  fileprivate static let uncounted = -1
}
