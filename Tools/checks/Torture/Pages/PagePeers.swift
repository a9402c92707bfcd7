import CRDTCore
import DocStore
import QueryEngine
import Synchronization
import SyncProtocol

/// Two stores that a link joins, of which one is damaged: everything happens in turn, on one thread.
struct PagePeers {
  private final class End {
    let store: Store
    let session: Session
    var outbound: [UInt8] = []
    var applies: [ApplyBatch] = []
    var wakeAt: Duration?
    var isCaughtUp = false
    var hasNamedRange = false
    var namedRecords = 0
    var closed: SyncError?
    private var commits: CommitListener?
    private let seen = SeenCommits()

    init(_ store: Store, id: UInt64) {
      self.store = store
      session = Session(
        id: id, store: store, gate: OpenGate(), shared: SessionShared(),
        configuration: SessionConfiguration(kind: .small, appID: "torture", random: { id }))
      commits = store.onCommit { [seen] in seen.append($0) }
    }

    func perform(_ actions: [Action], _ now: Duration) {
      for action in actions {
        switch action {
        case .send(let bytes): outbound += bytes
        case .apply(let batch): applies.append(batch)
        case .close(let error): closed = error
        case .event(let event): note(event)
        case .wake(let delay): wakeAt = now + delay
        case .pack, .nudge, .query, .admission, .presence: break
        }
      }
    }

    private func note(_ event: SyncEvent) {
      switch event {
      case .caughtUp: isCaughtUp = true
      case .unreadable, .unreadableLog: hasNamedRange = true
      case .damaged: namedRecords += 1
      default: break
      }
    }

    /// Does what there is to do.
    ///
    /// - Returns: Whether there was anything.
    func step(from other: End, _ now: Duration) -> Bool {
      guard closed == nil else { return false }
      var isBusy = false
      for commit in seen.take() {
        perform(session.committed([commit], now: now), now)
        isBusy = true
      }
      if !applies.isEmpty {
        let batch = applies.removeFirst()
        let id = session.id
        let result = Result { try store.write(origin: .remote(id)) { try batch.apply(in: $0) }.0 }
        perform(session.applied(batch.ticket, result, now: now), now)
        isBusy = true
      }
      if !other.outbound.isEmpty {
        let bytes = other.outbound
        other.outbound = []
        perform(session.receive(bytes, now: now), now)
        isBusy = true
      }
      if let time = wakeAt, time <= now {
        wakeAt = nil
        perform(session.tick(now: now), now)
        isBusy = true
      }
      return isBusy
    }
  }

  /// Commits of a store, from its own thread.
  private final class SeenCommits: Sendable {
    private let commits = Mutex<[Commit]>([])

    func append(_ commit: Commit) { commits.withLock { $0.append(commit) } }

    func take() -> [Commit] {
      commits.withLock { commits in
        defer { commits = [] }
        return commits
      }
    }
  }

  private struct OpenGate: SyncGate {
    var epoch: UInt64 { 0 }
    func fingerprint(toward peer: PeerKind) -> UInt64 { 0 }
    func maySend(collection: String, to peer: PeerKind) -> Bool { true }
    func mayAccept(collection: String, from peer: PeerKind) -> Bool { true }
  }

  /// What came of it.
  struct Outcome {
    /// Whether one of them was told that it has all that the other has for it.
    let isCaughtUp: Bool
    /// What the session said that the damaged store cannot read.
    let hasNamedRange: Bool
    let namedRecords: Int
    let closed: SyncError?
  }

  /// Lets a damaged store and another one tell each other all that they have.
  static func meet(_ damaged: Store, _ other: Store, asking text: String) throws -> Outcome {
    let query = try SubscriptionQuery(dql: text)
    let ends = [End(damaged, id: 1), End(other, id: 2)]
    var now = Duration.seconds(1)
    for end in ends {
      end.perform(end.session.subscriptionsChanged([query], now: now), now)
      end.perform(end.session.start(now: now), now)
    }
    while ends.allSatisfy({ $0.closed == nil }) {
      now += .milliseconds(1)
      let isBusy = ends[0].step(from: ends[1], now)
      if ends[1].step(from: ends[0], now) || isBusy { continue }
      // Sessions that wait for something else than a sign of life go on.
      guard let due = ends.compactMap(\.wakeAt).min(), due - now < .seconds(6) else { break }
      now = max(now, due)
    }
    return Outcome(
      isCaughtUp: ends.contains { $0.isCaughtUp }, hasNamedRange: ends[0].hasNamedRange,
      namedRecords: ends[0].namedRecords, closed: ends.compactMap(\.closed).first)
  }
}
