import DocStore
import Foundation
import QueryEngine
import SyncProtocol
import Synchronization

/// A store that syncs, and what all its sessions share.
final class SyncedStore: Sendable {
  private struct State {
    var queries: [SubscriptionQuery] = []
    var drivers: [UInt64: PipeDriver] = [:]
    var lastSession: UInt64 = 0
  }

  let store: Store
  let gate: any SyncGate
  let engine: Engine
  let shared = SessionShared()
  private let state = Mutex(State())

  init(_ store: Store, gate: any SyncGate) {
    (self.store, self.gate) = (store, gate)
    engine = Engine(
      store: store, parameters: SystemParameters(),
      environment: EngineEnvironment(now: { DispatchTime.now().uptimeNanoseconds }))
  }

  /// The time, of one clock for all sessions of the store.
  var now: Duration { .nanoseconds(DispatchTime.now().uptimeNanoseconds) }

  /// Subscribes at every peer, also at later ones, and evicts what leaves the queries in `evicting`.
  func subscribe(to queries: [SubscriptionQuery], evicting: Set<SubscriptionQuery> = []) {
    state.withLock { state in
      state.queries = queries
      shared.follow(queries, evicting: evicting, of: store)
      for driver in state.drivers.values { driver.call { $0.subscriptionsChanged(queries, now: $1) } }
    }
  }

  /// Syncs over a pipe until one end closes.
  func sync(
    over pipe: SocketEnd, as configuration: SessionConfiguration,
    onEvent: @escaping @Sendable (SyncEvent) -> Void = { _ in },
    onEnd: @escaping @Sendable (SyncError) -> Void
  ) -> PipeDriver {
    state.withLock { state in
      state.lastSession += 1
      let driver = PipeDriver(
        state.lastSession, pipe, of: self, as: configuration, onEvent: onEvent, onEnd: onEnd)
      state.drivers[state.lastSession] = driver
      driver.start(state.queries)
      return driver
    }
  }

  func remove(_ session: UInt64) { state.withLock { $0.drivers[session] = nil } }

  func nudge(_ sessions: [UInt64]) {
    let drivers = state.withLock { state in sessions.compactMap { state.drivers[$0] } }
    for driver in drivers { driver.call { $0.nudged(now: $1) } }
  }
}

/// Runs one session over one end of a pipe.
// SAFETY: mutable state is used on `turn` only, and the bench on `packer` only. A mutex protects the commits
// that wait.
final class PipeDriver: @unchecked Sendable {
  /// When more commits wait, they are dropped.
  private static let mostCommits = 64
  /// While more waits to be sent, nothing is read.
  private static let mostUnsentBytes = 32 << 20

  /// Commits that the session has not been told of.
  private struct Unseen {
    var commits: [Commit] = []
    /// The last commit that was dropped.
    var lostThrough: UInt64?
  }

  typealias Answer = @Sendable (Result<[QueryRow], RemoteQueryError>) -> Void

  private let id: UInt64
  private let session: Session
  private let pipe: SocketEnd
  private let peer: SyncedStore
  private let onEvent: @Sendable (SyncEvent) -> Void
  private let onEnd: @Sendable (SyncError) -> Void
  /// The session's only caller.
  private let turn = DispatchQueue(label: "session")
  private let (reader, writer) = (DispatchQueue(label: "reader"), DispatchQueue(label: "writer"))
  private let (packer, bench) = (DispatchQueue(label: "packer"), PackBench())
  private let worker = DispatchQueue(label: "worker", attributes: .concurrent)
  private let unseen = Mutex(Unseen())
  private var listener: CommitListener?
  private var isReading = false
  private var unsentBytes = 0
  private var lastQuestion: UInt64 = 0
  private var questions: [UInt64: (rows: [QueryRow], answer: Answer)] = [:]

  fileprivate init(
    _ id: UInt64, _ pipe: SocketEnd, of peer: SyncedStore, as configuration: SessionConfiguration,
    onEvent: @escaping @Sendable (SyncEvent) -> Void, onEnd: @escaping @Sendable (SyncError) -> Void
  ) {
    (self.id, self.pipe, self.peer, self.onEvent, self.onEnd) = (id, pipe, peer, onEvent, onEnd)
    var configuration = configuration
    configuration.packsOutside = true
    configuration.answersRemoteQueries = true
    session = Session(
      id: id, store: peer.store, gate: peer.gate, shared: peer.shared, configuration: configuration)
  }

  /// The last commit that was dropped, until the session is told.
  var lostThrough: UInt64? { unseen.withLock { $0.lostThrough } }

  // MARK: - Calls of the session

  /// Calls the session, and carries out what it asks for before the next call.
  func call(_ body: @escaping @Sendable (Session, Duration) -> [Action]) {
    turn.async { [self] in
      for action in body(session, peer.now) { perform(action) }
      readOn()
    }
  }

  fileprivate func start(_ queries: [SubscriptionQuery]) {
    call { [self] session, now in
      // First, so that no commit falls between what the session reads and what it is told.
      listener = peer.store.onCommit { [weak self] in self?.committed($0) }
      return session.subscriptionsChanged(queries, now: now) + session.start(now: now)
    }
  }

  func close() { call { $0.close(now: $1) } }

  /// Asks the other peer to run a statement.
  func ask(_ question: QueryQuestion, _ answer: @escaping Answer) {
    call { [self] session, now in
      guard !session.isClosed else {
        answer(.failure(RemoteQueryError(.closed, "The session is over")))
        return []
      }
      lastQuestion += 1
      questions[lastQuestion] = ([], answer)
      return session.ask(lastQuestion, question, now: now)
    }
  }

  /// Takes a commit on the thread that made it, which must not wait.
  private func committed(_ commit: Commit) {
    let isFirst = unseen.withLock { unseen in
      let isFirst = unseen.commits.isEmpty && unseen.lostThrough == nil
      unseen.commits.append(commit)
      if unseen.commits.count > Self.mostCommits { unseen = Unseen(lostThrough: commit.sequence) }
      return isFirst
    }
    guard isFirst else { return }
    call { [self] session, now in
      let unseen = unseen.withLock { unseen in
        defer { unseen = Unseen() }
        return unseen
      }
      let found = unseen.lostThrough.map { session.lostCommits(through: $0, now: now) }
      return (found ?? []) + session.committed(unseen.commits, now: now)
    }
  }

  /// Reads the next bytes, unless the peer has to wait.
  private func readOn() {
    guard !isReading, !session.isHolding, !session.isClosed, unsentBytes < Self.mostUnsentBytes else {
      return
    }
    isReading = true
    reader.async { [self] in
      let bytes = pipe.read()
      call { [self] session, now in
        isReading = false
        let gone = SyncError(.peerClosed, "The pipe has ended")
        return bytes.map { session.receive($0, now: now) } ?? session.close(gone, now: now)
      }
    }
  }

  // MARK: - What the session asks for

  private func perform(_ action: Action) {
    switch action {
    case .send(let bytes):
      unsentBytes += bytes.count
      writer.async { [self] in
        pipe.write(bytes)
        turn.async { [self] in
          unsentBytes -= bytes.count
          readOn()
        }
      }
    case .apply(let batch):
      worker.async { [self] in
        let result = Result { try peer.store.write(origin: .remote(id)) { try batch.apply(in: $0) }.0 }
        call { $0.applied(batch.ticket, result, now: $1) }
      }
    case .pack(let job):
      packer.async { [self] in
        let piece = job.run(with: bench)
        call { $0.packed(piece, now: $1) }
      }
    case .wake(let delay):
      turn.asyncAfter(deadline: .now() + delay / .seconds(1)) { [weak self] in
        self?.call { $0.tick(now: $1) }
      }
    case .query(.run(let job)):
      worker.async { [self] in
        job.run(on: peer.engine) { piece in call { $0.queried(piece, now: $1) } }
      }
    case .query(.rows(let number, let rows, let received)):
      questions[number]?.rows += rows
      call { $0.consumedRows(of: number, through: received, now: $1) }
    case .query(.ended(let number, let end)):
      guard let (rows, answer) = questions.removeValue(forKey: number) else { return }
      answer(end.error.map { .failure($0) } ?? .success(rows))
    case .nudge(let sessions): peer.nudge(sessions)
    case .event(let event): onEvent(event)
    case .close(let reason): end(reason)
    case .admission, .presence: break  // Come only to sessions that were told to ask for them.
    }
  }

  private func end(_ reason: SyncError) {
    listener = nil
    peer.remove(id)
    for (_, answer) in questions.values { answer(.failure(RemoteQueryError(.closed, reason.message))) }
    questions = [:]
    // After the last word to the peer, or when it reads that no more.
    writer.async { [self] in pipe.close() }
    turn.asyncAfter(deadline: .now() + 2) { [pipe] in pipe.close() }
    onEnd(reason)
  }
}
