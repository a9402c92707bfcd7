/// A value that one thread waits for and another thread sets, once.
final class Latch<Value>: Sendable {
  private let value = Monitor<Value?>(nil)

  func set(_ value: sending Value) { self.value.withLock(wake: true) { $0 = value } }

  func wait() -> Value {
    while true {
      if let value = value.wait(until: { $0 }) { return value }
    }
  }

  /// Waits for at most `timeout`; returns `nil` when that has passed.
  func wait(for timeout: Duration) -> Value? { value.wait(for: timeout, until: { $0 }) }
}
