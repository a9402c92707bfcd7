import Foundation

/// Times what runs on one thread, in rounds, of which the fastest and the median count.
struct Measures {
  /// The processor time of this thread, so that what else runs on the machine disturbs little.
  private static var nanoseconds: Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }

  /// Runs `body` `rounds` times; each does something to `count` documents.
  func time(_ name: String, per count: Int, rounds: Int = 7, _ body: () throws -> Void) rethrows {
    var times: [Double] = []
    for _ in 0..<rounds {
      let start = Self.nanoseconds
      try body()
      times.append((Self.nanoseconds - start) / Double(count))
    }
    times.sort()
    note(name, "\(Self.text(times[0])) ns least, \(Self.text(times[rounds / 2])) ns median")
  }

  func note(_ name: String, _ figure: String) {
    print(name.padding(toLength: 58, withPad: " ", startingAt: 0), figure)
  }

  private static func text(_ value: Double) -> String { String(format: "%8.1f", value) }
}
