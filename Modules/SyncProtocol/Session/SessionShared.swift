public import DocStore
public import QueryLanguage
import Synchronization

/// The state that all sessions of one store share.
///
/// Each part has its own lock, and makes no calls to other types while holding it.
public final class SessionShared: Sendable {
  /// Decides which session requests an announced document.
  let pulls = PullScheduler()
  /// The operation deltas that several sessions send.
  let encoding = SharedEncoding()
  /// Decides which session pulls a large initial transfer.
  let bulk = BulkScheduler()
  /// Staged segments of large transactions.
  let segments = SegmentStage()
  /// Evicts documents that no longer match any subscription.
  let leaves = EvictionScheduler()
  /// The interests of peers.
  let interests = InterestCache()
  /// The memory that sessions hold for their peers.
  let memory = PeerMemory()
  /// Received chunks of large transactions whose links broke.
  package let stage = TransferStage()
  /// The documents that the store has erased lately.
  let erased = ErasedDocuments()
  /// The documents that are staged.
  let staged = StagedDocuments()
  /// The store whose sync tables are cleaned up, and the registrations of what does it.
  private let collection = Mutex<(store: UInt64, registrations: [CommitListener])?>(nil)

  /// Bytes of the cached subscriptions, including those of disconnected peers.
  package var knownInterestBytes: Int { interests.byteCount }

  /// How often erasures have read a staged segment or transfer.
  package var stagedReads: Int { staged.reads }

  /// Bytes that all sessions have received from their peers and not applied.
  package var heldBytes: Int { memory.arrivedBytes }

  /// Bytes of the subscriptions, statements and requests of all peers.
  package var askedBytes: Int { memory.askedBytes }
  /// Bytes of answers to statements that peers have not read yet.
  package var answerBytes: Int { memory.answerBytes }

  /// Creates the shared state; a store has one instance, however many sessions it has.
  public init() {}

  /// Has a store remove expired sync data, and staged parts of documents that are erased.
  ///
  /// Repeated calls for the same store do nothing. Each session calls this. Call it yourself if no session
  /// may ever start.
  package func attach(to store: Store) {
    collection.withLock { collection in
      guard collection?.store != store.incarnation else { return }
      let erasing = store.beforeErasure { [weak self] write, documents in
        try self?.removeStaged(of: documents, in: write)
      }
      collection = (store.incarnation, [store.addCollector(SyncCollector()), erasing])
    }
  }

  /// Removes the staged parts that contain documents which a transaction erases.
  private func removeStaged(of documents: Set<HashedDocument>, in write: WriteTransaction) throws {
    // First, since what has arrived of a running transfer may be staged as soon as this transaction ends.
    erased.add(documents)
    let isEmpty = try write.sideEntryCount(.staging) == 0
    let removed = isEmpty ? [] : try write.unstage(contentOf: documents, staged)
    for id in stage.forget(naming: documents, removed: removed) { segments.leaveAgain(id, erased.count) }
  }

  /// Removes a session whose link is gone.
  ///
  /// - Returns: The sessions that waited for it and need a wake-up.
  public func leave(_ session: UInt64) -> [UInt64] {
    encoding.leave(session)
    memory.leave(session)
    leaves.leave(session)
    return Set(pulls.leave(session) + bulk.leave(session)).sorted()
  }

  /// Sets the store's subscriptions, and which of them evict documents that no longer match any query.
  ///
  /// Call it when the store is opened, even without a session, because local writes mark documents that
  /// leave. Call it again at each change, before `Session.subscriptionsChanged`. A document is evicted once a
  /// connected peer has and keeps it, and all connected peers that follow it know that it left.
  ///
  /// - Parameters:
  ///   - queries: All subscriptions of the store.
  ///   - evicting: The queries whose documents are evicted when they leave. A document stays while another
  ///     query matches it, or if another query matched it before.
  ///   - store: The store of these sessions, the same at each call.
  public func follow(_ queries: [SubscriptionQuery], evicting: Set<SubscriptionQuery>, of store: Store) {
    attach(to: store)
    leaves.follow(queries, evicting: evicting, of: store)
  }
}
