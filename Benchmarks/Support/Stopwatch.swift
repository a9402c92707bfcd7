/// Adds up the time and the processor time of what is measured.
package struct Stopwatch {
  package private(set) var seconds = 0.0
  package private(set) var cpuSeconds = 0.0
  private var started = (nanoseconds: 0.0, cpuSeconds: 0.0)

  package init() {}

  package mutating func start() { started = (Measures.nanoseconds, Measures.cpuSeconds) }

  package mutating func stop() {
    seconds += (Measures.nanoseconds - started.nanoseconds) / 1e9
    cpuSeconds += Measures.cpuSeconds - started.cpuSeconds
  }

  package mutating func time<R>(_ body: () throws -> R) rethrows -> R {
    start()
    defer { stop() }
    return try body()
  }
}
