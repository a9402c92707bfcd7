import BenchmarkSupport
import DocStore
import QueryEngine
import ScopePolicy
import SyncProtocol
import Synchronization

/// Two sessions that hand their frames to each other in this thread, at a time that stands still.
final class SessionPair {
  private let sender: End
  private let receiver: End

  init(_ sender: Store, _ receiver: Store) {
    self.sender = End(sender)
    self.receiver = End(receiver)
  }

  /// Has the receiver pull what a query matches, to the end.
  func sync(_ query: String) throws {
    let queries = [try SubscriptionQuery(dql: query)]
    try receiver.perform(receiver.session.subscriptionsChanged(queries, now: .zero))
    try sender.perform(sender.session.start(now: .zero))
    try receiver.perform(receiver.session.start(now: .zero))
    try goOn()
  }

  /// Has the receiver get what the sender has committed up to a sequence.
  func pass(through sequence: UInt64) throws {
    var commits = sender.takeCommits()
    // The store announces a commit right after its writer has returned.
    while commits.last.map({ $0.sequence < sequence }) ?? true { commits += sender.takeCommits() }
    try sender.perform(sender.session.committed(commits, now: .zero))
    try goOn()
  }

  private func goOn() throws { while try sender.step(receiver) || receiver.step(sender) {} }
}

/// A store's end of the conversation.
private final class End {
  let session: Session
  private let store: Store
  private let bench = PackBench()
  private let commits = Commits()
  private var listener: CommitListener?
  private var sent: [UInt8] = []
  private var isAwake = false

  init(_ store: Store) {
    self.store = store
    session = Session(
      id: 1, store: store, gate: SyncScopes(), configuration: SessionConfiguration(kind: .big))
    listener = store.onCommit { [commits] commit in commits.list.withLock { $0.append(commit) } }
  }

  /// The commits of the store since the last call.
  func takeCommits() -> [Commit] {
    commits.list.withLock { commits in
      defer { commits = [] }
      return commits
    }
  }

  /// Carries actions out in their order, and then those that come of them.
  func perform(_ actions: [Action]) throws {
    var actions = actions
    var place = 0
    while place < actions.count {
      let action = actions[place]
      place += 1
      switch action {
      case .send(let bytes): sent += bytes
      case .wake(let delay): if delay == .zero { isAwake = true }
      case .close(let error): throw error
      case .event, .nudge, .admission, .presence: break
      case .pack(let job): actions += session.packed(job.run(with: bench), now: .zero)
      case .apply(let batch):
        let outcome = try store.write(origin: .remote(1)) { try batch.apply(in: $0) }.0
        actions += session.applied(batch.ticket, .success(outcome), now: .zero)
      case .query: throw BenchmarkError("no statement was sent")
      }
    }
  }

  /// Takes what the other end has sent, and goes on.
  ///
  /// - Returns: Whether there was anything to do.
  func step(_ other: End) throws -> Bool {
    let bytes = other.sent
    other.sent = []
    if !bytes.isEmpty { try perform(session.receive(bytes, now: .zero)) }
    guard isAwake else { return !bytes.isEmpty }
    isAwake = false
    try perform(session.tick(now: .zero))
    return true
  }
}

/// What a store has committed; its threads add to it.
private final class Commits: Sendable {
  let list = Mutex<[Commit]>([])
}
