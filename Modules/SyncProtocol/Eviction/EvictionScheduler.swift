import CRDTCore
import DocStore
import QueryLanguage
import Synchronization

/// Evicts documents that have left subscriptions with eviction, for all sessions of a store.
///
/// A change that takes a document out of all subscriptions marks it, in the same store transaction. The
/// document is evicted later, when nothing is lost: a peer must have its state and keep it, and all connected
/// peers must know of the change. The evicted version is stored, so that no older copy returns from a peer
/// that has not received the change.
package final class EvictionScheduler: Sendable {
  /// A marked document.
  struct Candidate: Sendable, Hashable {
    let name: DocumentName
    /// The sequence number of the document's last change.
    let since: UInt64
  }

  struct Member {
    /// The interest of the session's peer.
    var interest = Interest()
    var gatekeeper: Gatekeeper?
    /// The peer has everything up to this commit that concerns it; 0 if it may lack something.
    var confirmed: UInt64 = 0
    /// The documents that the session is about to evict.
    var assigned: [Candidate] = []
  }

  struct State {
    var rules = EvictionRules()
    var listener: CommitListener?
    var isLoaded = false
    var members: [UInt64: Member] = [:]
    /// Documents to evict, approximately in the order of their last changes.
    var waiting = WorkQueue<Candidate>()
    /// Documents that no connected peer keeps; they wait for another peer.
    var parked: [Candidate] = []
  }

  /// The number of documents that one store transaction evicts.
  static let batch = 256

  private let state = Mutex(State())

  init() {}

  var rules: EvictionRules { state.withLock { $0.rules } }

  /// Records the store's subscriptions, and which of them evict documents that no longer match.
  func follow(_ queries: [SubscriptionQuery], evicting: Set<SubscriptionQuery>, of store: Store) {
    let rules = EvictionRules(queries, evicting: evicting)
    let (listens, loads) = state.withLock { state in
      defer { state.isLoaded = state.isLoaded || rules.evictsAny }
      state.rules = rules
      state.waiting.append(contentsOf: state.parked)
      state.parked = []
      return (state.listener == nil && rules.evictsAny, !state.isLoaded && rules.evictsAny)
    }
    if listens {
      // Batches from peers call `look` themselves, since they know which documents the peer has.
      let listener = store.beforeCommit { [weak self] write in
        if write.origin == .user { try self?.look(at: write) { _ in false } }
      }
      state.withLock { $0.listener = listener }
    }
    if loads { load(store) }
  }

  /// Loads the documents that were marked before the store was opened.
  private func load(_ store: Store) {
    var found: [Candidate] = []
    // Documents whose notes cannot be read stay.
    try? store.read { snapshot in
      try snapshot.forEachLeavingNote { note in
        if case .leaving(let since, _) = LeavingState(note.bytes) {
          found.append(
            Candidate(name: DocumentName(collection: note.collection.name, id: note.id), since: since))
        }
        return true
      }
    }
    let candidates = found.sorted { $0.since < $1.since }
    add(candidates)
  }

  func add(_ candidates: [Candidate]) {
    guard !candidates.isEmpty else { return }
    state.withLock { state in
      state.waiting.append(contentsOf: candidates)
    }
  }

  func park(_ candidate: Candidate) { state.withLock { $0.parked.append(candidate) } }

  /// Whether any document waits to be evicted.
  var isInUse: Bool { state.withLock { !$0.waiting.isEmpty || !$0.parked.isEmpty } }

  // MARK: - Sessions

  func join(_ session: UInt64) { state.withLock { $0.members[session] = Member() } }

  func leave(_ session: UInt64) {
    state.withLock { state in
      guard let member = state.members.removeValue(forKey: session) else { return }
      state.waiting.append(contentsOf: member.assigned)
    }
  }

  /// Records the interest of a session's peer, which has confirmed nothing for it yet.
  func note(_ session: UInt64, _ interest: Interest, _ gatekeeper: Gatekeeper?) {
    state.withLock { state in
      state.members[session]?.interest = interest
      state.members[session]?.gatekeeper = gatekeeper
      state.members[session]?.confirmed = 0
    }
  }

  /// Records the commit up to which a session's peer has everything that concerns it.
  ///
  /// The commit is 0 if the peer may lack something.
  func note(_ session: UInt64, confirmed: UInt64) {
    state.withLock { state in
      guard let before = state.members[session]?.confirmed, before != confirmed else { return }
      state.members[session]?.confirmed = confirmed
      guard before == 0 else { return }
      // The peer may keep documents that no other peer keeps.
      state.waiting.append(contentsOf: state.parked)
      state.parked = []
    }
  }

  /// Returns the documents that a session is to evict now; the session must call `finished` afterwards.
  func dequeue(for session: UInt64) -> [Candidate] {
    state.withLock { state in
      guard !state.waiting.isEmpty, state.members[session]?.assigned.isEmpty ?? false else {
        return []
      }
      let floor = state.members.values.map(\.confirmed).min() ?? 0
      var assigned: [Candidate] = []
      while assigned.count < Self.batch, let next = state.waiting.removeFirst() {
        guard next.since <= floor else {
          state.waiting.prepend(next)
          break
        }
        assigned.append(next)
      }
      state.members[session]?.assigned = assigned
      return assigned
    }
  }

  /// Records that a session's documents are evicted or queued again.
  func finished(_ session: UInt64) { state.withLock { $0.members[session]?.assigned = [] } }

  /// Returns the peers that have everything up to a commit that concerns them.
  func members(confirmed sequence: UInt64) -> [Member] {
    state.withLock { $0.members.values.filter { $0.confirmed >= sequence } }
  }
}
