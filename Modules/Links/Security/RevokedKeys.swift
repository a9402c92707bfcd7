import NIOConcurrencyHelpers

/// Keys of peers that are no longer trusted, whatever their certificates say.
///
/// Keys are never removed.
///
/// All links of a network share one. So a key that is revoked is also refused by handshakes in flight.
package final class RevokedKeys: Sendable {
  private let keys = NIOLockedValueBox<Set<PeerKey>>([])

  /// Starts without keys.
  package init() {}

  /// Whether the key is revoked.
  func contains(_ key: PeerKey) -> Bool { keys.withLockedValue { $0.contains(key) } }

  /// Adds keys.
  package func insert(_ revoked: Set<PeerKey>) { keys.withLockedValue { $0.formUnion(revoked) } }
}
