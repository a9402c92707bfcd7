#if Server
  import Links
  import Synchronization

  /// The keys that were to be refused.
  final class KeySet: Sendable {
    private let kept = Mutex<Set<PeerKey>>([])

    var keys: Set<PeerKey> { kept.withLock { $0 } }

    func insert(_ keys: Set<PeerKey>) { kept.withLock { $0.formUnion(keys) } }
  }
#endif
