import CRDTCore
import DocStore
import QueryEngine
import Synchronization

/// Lets go of documents that have left subscriptions which evict: once for all sessions of a store.
///
/// A change that takes a document out of all subscriptions marks it, in its own transaction. A marked document is
/// evicted later, when nothing is lost by that: when a peer has its state and keeps it, and all that are connected
/// have been told. What was evicted so is remembered, so that no older copy comes back from a peer that has not heard.
package final class EvictionScheduler: Sendable {
  /// A document that is marked.
  struct Candidate: Sendable, Hashable {
    let name: DocumentName
    /// Its last change.
    let since: UInt64
  }

  struct Member {
    /// What its peer subscribes to.
    var interest = Interest()
    var gatekeeper: Gatekeeper?
    /// The peer has everything up to this commit that concerns it.
    var confirmed: UInt64 = 0
    /// What it is about to evict.
    var taken: [Candidate] = []
  }

  struct State {
    var rules = EvictionRules()
    var listener: CommitListener?
    var isLoaded = false
    var members: [UInt64: Member] = [:]
    /// By their last changes, about.
    var waiting = WorkQueue<Candidate>()
    /// Those that no connected peer keeps, until another one is there.
    var parked: [Candidate] = []
  }

  /// Documents that one transaction evicts.
  static let batch = 256

  private let state = Mutex(State())

  init() {}

  var rules: EvictionRules { state.withLock { $0.rules } }

  /// Takes what the store subscribes to from now on, and which of the queries let go of what leaves them.
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
      // A batch from a peer knows more, and looks for itself.
      let listener = store.beforeCommit { [weak self] transaction in
        if transaction.origin == .user { try self?.look(at: transaction) { _ in false } }
      }
      state.withLock { $0.listener = listener }
    }
    if loads { load(store) }
  }

  /// Remembers what was marked before the store was opened.
  private func load(_ store: Store) {
    var found: [Candidate] = []
    // What cannot be read stays here.
    try? store.read { transaction in
      try transaction.forEachLeavingNote { note in
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
      state.waiting.append(contentsOf: member.taken)
    }
  }

  /// Takes note of what a session's peer subscribes to; it has yet to be told what that concerns.
  func note(_ session: UInt64, _ interest: Interest, _ gatekeeper: Gatekeeper?) {
    state.withLock { state in
      state.members[session]?.interest = interest
      state.members[session]?.gatekeeper = gatekeeper
      state.members[session]?.confirmed = 0
    }
  }

  /// Takes note that a session's peer has everything up to a commit that concerns it; 0 when it may lack some.
  func note(_ session: UInt64, confirmed: UInt64) {
    state.withLock { state in
      guard let before = state.members[session]?.confirmed, before != confirmed else { return }
      state.members[session]?.confirmed = confirmed
      guard before == 0 else { return }
      // One more peer that may keep what the others do not.
      state.waiting.append(contentsOf: state.parked)
      state.parked = []
    }
  }

  /// The documents that a session is to evict now, if any; it must say when that is done.
  func take(for session: UInt64) -> [Candidate] {
    state.withLock { state in
      guard !state.waiting.isEmpty, state.members[session]?.taken.isEmpty ?? false else {
        return []
      }
      let floor = state.members.values.map(\.confirmed).min() ?? 0
      var taken: [Candidate] = []
      while taken.count < Self.batch, let next = state.waiting.removeFirst() {
        guard next.since <= floor else {
          state.waiting.prepend(next)
          break
        }
        taken.append(next)
      }
      state.members[session]?.taken = taken
      return taken
    }
  }

  /// What a session took is evicted, or waits again.
  func finished(_ session: UInt64) { state.withLock { $0.members[session]?.taken = [] } }

  /// Peers that have everything up to a commit that concerns them.
  func members(confirmed sequence: UInt64) -> [Member] {
    state.withLock { $0.members.values.filter { $0.confirmed >= sequence } }
  }
}
