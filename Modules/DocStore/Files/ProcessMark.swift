import Platform
import Synchronization

/// Distinguishes a process from its forks, without a system call each time.
struct ProcessMark {
  private let forks = ForkCount.current
  /// Used only if forks cannot be counted.
  private let processID = getpid()

  /// Whether the current process is the one in which the mark was made.
  @inline(__always)
  var isHere: Bool { forks == .uncounted ? processID == getpid() : forks == ForkCount.value }
}

/// The number of forks between this process and the one that began to count.
private enum ForkCount {
  static var current: Int { isCounting ? value : .uncounted }

  @inline(__always)
  static var value: Int { count.load(ordering: .relaxed) }

  private static let isCounting: Bool = {
    // The handler runs in the child, whose threads may have stopped anywhere, so it only adds to a word.
    pthread_atfork(nil, nil) { count.add(1, ordering: .relaxed) } == 0
  }()

  private static let count = Atomic(0)
}

extension Int {
  fileprivate static let uncounted = -1
}
