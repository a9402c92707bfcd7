import NIOConcurrencyHelpers

/// Keys of peers that are not believed any more, whatever their certificates say; a key that is in it stays.
///
/// All links of a network share one, so that a key that is revoked is refused by handshakes that are in flight too.
final class RevokedKeys: Sendable {
  private let keys = NIOLockedValueBox<Set<PeerKey>>([])

  /// Whether the key is revoked.
  func contains(_ key: PeerKey) -> Bool { keys.withLockedValue { $0.contains(key) } }

  /// Adds keys.
  func insert(_ revoked: Set<PeerKey>) { keys.withLockedValue { $0.formUnion(revoked) } }
}
