import Synchronization

/// The first error of several threads.
final class Failures: Sendable {
  private let first = Mutex<(any Error)?>(nil)

  func note(_ body: () throws -> Void) {
    do { try body() } catch {
      first.withLock { $0 = $0 ?? error }
    }
  }

  func check() throws {
    if let first = first.withLock({ $0 }) { throw first }
  }
}
