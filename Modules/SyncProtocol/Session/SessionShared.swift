public import DocStore
public import QueryEngine
import Synchronization

/// What the sessions of one store know together.
///
/// Each part is behind a lock of its own, and calls nothing under it.
public final class SessionShared: Sendable {
  /// Who asks whom for what is announced.
  let pulls = PullScheduler()
  /// What several send of the same changes.
  let encoding = SharedEncoding()
  /// Who brings much.
  let bulk = BulkScheduler()
  /// What is put aside of groups that come in parts.
  let components = ComponentStage()
  /// Lets go of what has left subscriptions.
  let leaves = EvictionScheduler()
  /// What peers subscribed to.
  let interests = InterestCache()
  /// What sessions hold of what their peers have sent.
  let memory = PeerMemory()
  /// What arrived of large groups over links that broke.
  package let stage = TransferStage()
  /// The store whose old entries are forgotten, and the registration for that.
  private let collection = Mutex<(store: UInt64, registration: CommitListener)?>(nil)

  /// Bytes of the subscriptions that are remembered, those of peers that have disconnected included.
  package var knownInterestBytes: Int { interests.byteCount }

  /// Bytes that all sessions hold of what their peers have sent and is not applied.
  package var heldBytes: Int { memory.arrivedBytes }

  /// Bytes of what the peers of all sessions subscribe to, ask and want.
  package var askedBytes: Int { memory.askedBytes }
  /// Bytes of answers to statements that the peers of all sessions have not taken.
  package var answerBytes: Int { memory.answerBytes }

  /// Makes the shared part; a store has one, however many sessions.
  public init() {}

  /// Has the store forget in its time what sync keeps there; a second call for the same store does nothing.
  ///
  /// Each session does so. Call it where none may ever begin.
  package func attach(to store: Store) {
    collection.withLock { collection in
      guard collection?.store != store.incarnation else { return }
      collection = (store.incarnation, store.addCollector(SyncCollector()))
    }
  }

  /// Forgets a session whose link is gone.
  ///
  /// - Returns: Sessions to be nudged, since they waited for it.
  public func leave(_ session: UInt64) -> [UInt64] {
    encoding.leave(session)
    memory.leave(session)
    leaves.leave(session)
    return Set(pulls.leave(session) + bulk.leave(session)).sorted()
  }

  /// Says what the store subscribes to, and of which queries documents are evicted that match none of them any more.
  ///
  /// Call it when the store is opened, also without any session, since what leaves by a local write is marked then. Call it
  /// again with each change, before `Session.subscriptionsChanged`. A document goes when a connected peer has it and keeps it,
  /// and all connected peers that follow it know that it left.
  ///
  /// - Parameters:
  ///   - queries: All that the store subscribes to.
  ///   - evicting: Those of the queries whose documents are evicted when they leave. A document that another query matches
  ///     stays, and so does one that another query matched before.
  ///   - store: The store of these sessions, the same each time.
  public func follow(_ queries: [SubscriptionQuery], evicting: Set<SubscriptionQuery>, of store: Store) {
    attach(to: store)
    leaves.follow(queries, evicting: evicting, of: store)
  }
}
