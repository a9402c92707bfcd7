import NIOConcurrencyHelpers

/// Keys of peers that are no longer trusted, whatever their certificates say, and what revocation lists name.
///
/// Keys that were inserted are never removed.
///
/// All links of a network share one. So a key that is revoked is also refused by handshakes in flight.
package final class RevokedKeys: Sendable {
  private struct State {
    var keys: Set<PeerKey> = []
    #if TLS
      var index = RevocationIndex()
    #endif
  }

  private let state = NIOLockedValueBox(State())

  /// Starts without keys.
  package init() {}

  /// Whether the key is revoked.
  func contains(_ key: PeerKey) -> Bool { state.withLockedValue { $0.keys.contains(key) } }

  /// Adds keys.
  package func insert(_ revoked: Set<PeerKey>) { state.withLockedValue { $0.keys.formUnion(revoked) } }

  #if TLS
    /// Whether a revocation list names the key.
    func isListed(_ key: PeerKey) -> Bool { state.withLockedValue { $0.index.contains(key) } }

    /// The time before which certificates of a user are revoked by a list, in seconds since 1970.
    func cutoff(ofUser user: String) -> Int64? { state.withLockedValue { $0.index.cutoff(ofUser: user) } }

    /// Replaces what revocation lists name.
    func replace(_ index: RevocationIndex) { state.withLockedValue { $0.index = index } }

    /// Why a peer with these certificates is not trusted; `nil` if nothing of it is revoked.
    func reason(_ facts: CertificateFacts) -> String? {
      state.withLockedValue { state in
        if let key = facts.key, state.keys.contains(key) { return "its key is revoked" }
        return state.index.reason(facts)
      }
    }
  #endif
}
