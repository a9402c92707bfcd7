import BenchmarkSupport

/// Adds up the time and the processor time of what is measured.
struct Stopwatch {
  private(set) var seconds = 0.0
  private(set) var cpuSeconds = 0.0
  private var started = (nanoseconds: 0.0, cpuSeconds: 0.0)

  mutating func start() { started = (Measures.nanoseconds, Measures.cpuSeconds) }

  mutating func stop() {
    seconds += (Measures.nanoseconds - started.nanoseconds) / 1e9
    cpuSeconds += Measures.cpuSeconds - started.cpuSeconds
  }

  mutating func time<R>(_ body: () throws -> R) rethrows -> R {
    start()
    defer { stop() }
    return try body()
  }
}
