import Foundation
import Synchronization

/// Runs a clean-up when the user interrupts the program, then ends it with the shell's usual status.
///
/// The signals' handler posts a semaphore that a thread waits for. That takes no file descriptor, so it can
/// also end a program that has none left.
struct Interruption {
  private let watch: SignalWatch

  init(_ cleanUp: @escaping @Sendable () -> Void) { self.init(cleanUp, goesOn: false) }

  private init(_ body: @escaping @Sendable () -> Void, goesOn: Bool) {
    watch = SignalWatch.shared
    watch.begin(body, goesOn: goesOn)
  }

  /// Calls `body` whenever the user interrupts the program, which goes on.
  static func survived(_ body: @escaping @Sendable () -> Void) -> Interruption {
    Interruption(body, goesOn: true)
  }

  /// Calls `body` at each hangup (SIGHUP), which then does not end the program.
  static func atHangup(_ body: @escaping @Sendable () -> Void) { SignalWatch.shared.atHangup(body) }

  /// Does not return when an interruption is under way: the clean-up goes on, then ends the program.
  func yieldToCleanUp() async {
    guard watch.isInterrupted else { return }
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  /// From here on the signals do again what they do by themselves.
  func cancel() { watch.cancel() }
}

/// The one place of the process where signals arrive.
private final class SignalWatch: Sendable {
  static let shared = SignalWatch()

  private static let numbers = [SIGINT, SIGTERM, SIGHUP]
  private let cleanUp = Mutex<(body: @Sendable () -> Void, goesOn: Bool)?>(nil)
  private let hangup = Mutex<(@Sendable () -> Void)?>(nil)
  private let interrupted = Atomic(false)

  private init() {
    // Made before any handler that uses them is in place.
    _ = arrivals
    Thread.detachNewThread { [self] in run() }
  }

  var isInterrupted: Bool { interrupted.load(ordering: .sequentiallyConsistent) }

  /// Has `body` called when a signal arrives.
  ///
  /// With `goesOn` that is the user's interruption alone, and the program goes on behind it.
  func begin(_ body: @escaping @Sendable () -> Void, goesOn: Bool) {
    cleanUp.withLock { $0 = (body, goesOn) }
    meet(goesOn ? [SIGINT] : Self.numbers)
  }

  func atHangup(_ body: @escaping @Sendable () -> Void) {
    hangup.withLock { $0 = body }
    meet([SIGHUP])
  }

  private func meet(_ numbers: [Int32]) {
    for number in numbers { signal(number, noteSignal) }
    // Whoever started the program may have kept them from arriving.
    var arriving = sigset_t()
    sigemptyset(&arriving)
    for number in numbers { sigaddset(&arriving, number) }
    pthread_sigmask(SIG_UNBLOCK, &arriving, nil)
  }

  func cancel() {
    for number in Self.numbers { signal(number, SIG_DFL) }
    cleanUp.withLock { $0 = nil }
    hangup.withLock { $0 = nil }
  }

  private func run() {
    while true {
      guard sem_wait(arrivals.semaphore) == 0 else { continue }
      let number = arrivals.number.load(ordering: .sequentiallyConsistent)
      if number == SIGHUP, let body = hangup.withLock({ $0 }) {
        body()
        continue
      }
      guard let (body, goesOn) = cleanUp.withLock({ $0 }) else { continue }
      guard !goesOn else {
        body()
        continue
      }
      interrupted.store(true, ordering: .sequentiallyConsistent)
      body()
      exit(128 + number)
    }
  }
}

/// What a signal's handler may touch: a number, and a semaphore that lives as long as the process.
// SAFETY: the semaphore is initialized once and never freed; its operations are atomic.
private final class Arrivals: @unchecked Sendable {
  let number = Atomic<Int32>(0)
  let semaphore: UnsafeMutablePointer<sem_t>

  init() {
    semaphore = .allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
  }
}

private let arrivals = Arrivals()

/// Called in the middle of anything: it does only what POSIX allows there.
private func noteSignal(_ number: Int32) {
  arrivals.number.store(number, ordering: .sequentiallyConsistent)
  sem_post(arrivals.semaphore)
}
