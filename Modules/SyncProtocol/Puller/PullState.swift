import CRDTCore
import DocStore
import Failpoints

/// What this peer pulls from the other, and how far it has got; the parts of the puller share it.
final class PullState {
  /// The phases of a pull.
  enum Phase: Equatable {
    /// No reconciliation has begun, or there is nothing to reconcile.
    case idle
    /// Range questions are unanswered or waiting to be sent.
    case asking
    /// The sender was asked to resume from a checkpoint.
    ///
    /// `isRepeated` is true if the interest was sent before this request.
    case resuming(SyncCheckpoint, isRepeated: Bool)
    /// The sender resumes from the checkpoint and sends its log through this sequence number.
    case following(through: UInt64)
    /// All questions and requests are sent.
    ///
    /// The sender has yet to confirm that it has sent every answer, and this peer has yet to apply all of
    /// them.
    case settling
    case done

    /// Whether a phase may follow this one; a new interest leads to `idle` from each.
    func mayLead(to next: Phase) -> Bool {
      switch (self, next) {
      case (_, .idle): true
      case (.idle, .resuming), (.idle, .asking), (.idle, .done): true
      case (.resuming, .resuming), (.resuming, .following): true
      case (.following, .done), (.asking, .settling), (.settling, .done): true
      case (.done, .asking), (.done, .done): true
      case (.idle, _), (.resuming, _), (.following, _), (.asking, _), (.settling, _), (.done, _): false
      }
    }
  }

  /// Which collections the next reconciliation compares.
  enum Due: Equatable {
    case nothing
    case collections(Set<TextKey>)
    case everything

    mutating func add(_ collection: String) {
      switch self {
      case .nothing: self = .collections([TextKey(collection)])
      case .collections(let names): self = .collections(names.union([TextKey(collection)]))
      case .everything: break
      }
    }

    mutating func add(_ other: Due) {
      switch other {
      case .nothing: break
      case .collections(let names): for name in names { add(name.text) }
      case .everything: self = .everything
      }
    }
  }

  let context: SessionContext
  /// Received transactions that are not applied yet.
  let queue: ReceiveQueue
  var interest = Interest()
  var generation: UInt64 = 0
  private(set) var phase = Phase.idle
  var reconciliation: UInt64 = 0
  /// What the next reconciliation compares.
  var due = Due.nothing
  /// Withdrawn documents to evict with the next batch.
  var withdrawn: [Withdrawal] = []
  /// How many frames with wants or haves were sent; each of them may be answered.
  private(set) var asksSent: UInt64 = 0
  /// Returns how many of this peer's transactions the sender has applied, as far as it has reported that.
  var seen: () -> UInt64 = { 0 }

  init(_ context: SessionContext) {
    self.context = context
    queue = ReceiveQueue(context)
  }

  /// Goes on to the next phase.
  func enter(_ next: Phase) {
    check(.transition, phase.mayLead(to: next), phase: "pull \(phase)", "it leads to \(next)")
    phase = next
  }

  /// Returns whether the sender may learn what this peer holds of a collection: ids, versions, fingerprints.
  func mayReport(_ collection: String) -> Bool { context.gatekeeper?.maySend(collection) ?? false }

  /// Returns whether the sender may learn that this peer holds, or has evicted, a document.
  func mayReport(_ name: DocumentName) -> Bool {
    mayReport(name.collection) && context.gatekeeper?.mayRead(name.collection, name.id) ?? false
  }

  /// Returns whether documents of a collection are subscribed to, and accepted from the sender.
  func accepts(_ collection: String) -> Bool {
    interest.covers(collection) && context.gatekeeper?.mayAccept(collection) ?? false
  }

  /// Whether a document is evicted that the sender withdraws.
  ///
  /// A small peer is not trusted with what this store has written: it could say that it has that, and nobody
  /// else might.
  func obeys(_ withdrawal: Withdrawal) -> Bool {
    let site = context.store.site
    return context.peer?.kind == .big || !withdrawal.known.elements.contains { $0.writer.site == site }
  }

  /// Whether the interest is reconciled, and nothing is to be compared again.
  var isDone: Bool { phase == .done && due == .nothing }

  /// Whether the puller has yet to begin a reconciliation or to scan its own log, and so sends no notices.
  var isBeginning: Bool {
    switch phase {
    case .idle, .resuming: true
    case .asking, .following, .settling, .done: false
    }
  }

  /// Sends requests.
  ///
  /// - Parameters:
  ///   - wants: The requests.
  ///   - reconciliation: The reconciliation that they belong to; 0 outside of one.
  ///   - isTransaction: Whether the documents must become visible together.
  ///   - isGraft: Whether the sender is to push from now on.
  func sendWants(_ wants: [DocumentWant], reconciliation: UInt64, isTransaction: Bool, isGraft: Bool = false)
  {
    for chunk in wants.chunks(
      of: 48 << 10,
      size: { $0.vector.elements.count * 34 + 64 + $0.id.bytes.count + $0.collection.utf8.count })
    {
      asksSent += 1
      let list = WantList(
        reconciliation: reconciliation, seen: queue.appliedTransactions, isTransaction: isTransaction,
        isGraft: isGraft,
        goesOn: isTransaction && chunk.endIndex < wants.endIndex, wants: Array(chunk))
      #if DEBUG || SIMULATION
        context.watch?(.requested(chunk.map { ($0.collection, $0.id) }))
      #endif
      context.send(.want) { list.encode(to: &$0) }
    }
  }

  /// Sends notices of documents that are held here.
  func sendHaves(_ haves: [DocumentHave], reconciliation: UInt64) {
    for chunk in haves.chunks(
      of: 48 << 10,
      size: { $0.vector.elements.count * 34 + 80 + $0.id.bytes.count + $0.collection.utf8.count })
    {
      asksSent += 1
      context.send(.have) {
        DocumentHave.encode(
          Array(chunk), reconciliation: reconciliation, seen: queue.appliedTransactions, to: &$0)
      }
    }
  }
}
