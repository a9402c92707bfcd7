import Foundation

/// The first error of several threads.
final class Failures: @unchecked Sendable {
  private let lock = NSLock()
  private var first: (any Error)?

  func note(_ body: () throws -> Void) {
    do { try body() } catch {
      lock.withLock { first = first ?? error }
    }
  }

  func check() throws {
    if let first = lock.withLock({ first }) { throw first }
  }
}
