import NIOConcurrencyHelpers

/// Lets the sessions of a store wake each other.
final class SessionNudges: Sendable {
  private let wakers = NIOLockedValueBox<[UInt64: @Sendable () -> Void]>([:])

  func join(_ session: UInt64, _ wake: @escaping @Sendable () -> Void) {
    wakers.withLockedValue { $0[session] = wake }
  }

  func leave(_ session: UInt64) { _ = wakers.withLockedValue { $0.removeValue(forKey: session) } }

  /// Wakes sessions to re-evaluate work that was deferred in favour of others; ignores ended sessions.
  func nudge(_ sessions: [UInt64]) {
    let due = wakers.withLockedValue { wakers in sessions.compactMap { wakers[$0] } }
    for wake in due { wake() }
  }
}
