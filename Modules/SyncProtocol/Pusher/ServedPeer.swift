import CRDTCore
import DocStore
import Failpoints

/// What is known of the peer that this side serves.
///
/// This is what the peer subscribes to, what it has of that, and what else it may hold.
///
/// The parts of the pusher share it.
final class ServedPeer {
  let context: SessionContext
  /// Returns what this peer itself subscribes to in a collection.
  let ownInterest: (Collection) -> CollectionInterest?
  /// What the peer subscribes to.
  var subscribed = PeerInterest()
  /// The current reconciliation.
  var reconciliation = ServedReconciliation()
  /// What is known of what the peer has under its interest.
  var holding = PeerHolding()
  /// Documents that the peer may hold although they do not match here.
  var watch: WatchList
  /// Collections whose document ids the peer must not disclose.
  ///
  /// Each change that does not match may concern the peer.
  var unnamed: Set<TextKey> = []
  /// Whether the session resumed from a checkpoint.
  ///
  /// The receiver's documents that do not match here were then exchanged in an earlier session. This session
  /// does not know them.
  var isResumed = false
  /// Documents too large to be sent whole.
  ///
  /// Reconciliation includes them, since the peer may have writes that they lack.
  private var oversize = OversizeSizes()

  init(_ context: SessionContext, ownInterest: @escaping (Collection) -> CollectionInterest?) {
    self.context = context
    self.ownInterest = ownInterest
    watch = WatchList(context.tuning)
  }

  /// The interest under which the peer is served.
  var interest: Interest { subscribed.served }
  /// The generation number that the peer has given to the served interest; `nil` while none is served.
  var generation: UInt64? { subscribed.generation }
  var gatekeeper: Gatekeeper? { context.gatekeeper }
  /// Whether queries of a received interest must be compiled before other input of the peer is processed.
  var isDrafting: Bool { subscribed.nextQueryBytes != nil }

  /// Whether the session sends a collection: the peer subscribes to it and the policy lets it flow out.
  func concerns(_ collection: String) -> Bool {
    interest.covers(collection) && gatekeeper?.maySend(collection) ?? false
  }

  /// Returns the numbers of the collections that this session sends.
  func concernedCollections() throws(SyncError) -> Set<UInt32> {
    let names = interest.names.filter(concerns)
    return try context.read { snapshot in Set(try names.compactMap { try snapshot.collection($0)?.id })
    }
  }

  /// Whether the peer may hold a document that does not match here.
  func mayHold(_ key: DocumentKey, in collection: String) -> Bool {
    watch.contains(key) || unnamed.contains(TextKey(collection))
  }

  /// Forgets what the peer may hold: it reconciles everything, or resumes.
  func forgetHolders() {
    watch = WatchList(context.tuning)
    unnamed = []
    isResumed = false
  }

  /// Makes the peer reconcile everything: too much has changed to be announced, or the changes are unknown.
  ///
  /// No change is queued until then. This is rule 8 in `Documentation/Sync.md`.
  func compareInstead() {
    holding.awaitReconciliation()
    #if DEBUG || SIMULATION
      isLossUnsaid = true
    #endif
  }

  #if DEBUG || SIMULATION
    /// Whether this side has lost track of what the peer lacks, and has not reported it.
    ///
    /// It must have reported it by the end of the call.
    var isLossUnsaid = false
  #endif

  /// Returns the canonical sizes in bytes of the documents that are too large to be sent.
  func oversizeSizes(_ snapshot: borrowing ReadTransaction) throws -> [DocumentKey: Int] {
    try oversize.sizes(snapshot)
  }
}
