public import DocStore
import NIOConcurrencyHelpers
public import QueryEngine
public import SyncProtocol

/// Drives one session over one link: brings it bytes, commits and time, and carries out what it asks for.
///
/// The session runs where its link does: what a socket receives is looked at on the socket's event loop, and what
/// the session answers goes out from there. Steps that would keep the loop from other links run on a worker.
///
/// Memory is bounded: while too much waits to be looked at or sent, the link is not read, and the peer in turn waits;
/// the session bounds what waits to be applied.
public final class SessionDriver: Sendable {
  /// Names the session in the origin of the commits it applies.
  public let id: UInt64
  /// The link; the driver closes it at the end.
  public let link: any Link

  /// What every driver of a peer is set up with.
  public struct Setup: Sendable {
    let store: Store
    let gate: any SyncGate
    let configuration: SessionConfiguration
    let clock: TransportClock
    let shared = SessionShared()
    let nudges = SessionNudges()
    let bell = StatusBell()
    let engine: Engine?

    /// Collects what sessions need.
    ///
    /// - Parameters:
    ///   - store: What is synced.
    ///   - gate: What may leave and come in.
    ///   - configuration: What this peer is.
    ///   - clock: The time that sessions go by.
    ///   - engine: Runs statements for other peers; without one none are.
    public init(
      store: Store, gate: any SyncGate, configuration: SessionConfiguration,
      clock: TransportClock = .continuous, engine: Engine? = nil
    ) {
      self.store = store
      self.gate = gate
      var configuration = configuration
      if engine == nil { configuration.answersRemoteQueries = false }
      configuration.packsOutside = true
      self.configuration = configuration
      self.clock = clock
      self.engine = engine
      shared.attach(to: store)
    }
  }

  /// What lasts beyond the session's own end.
  private struct State {
    var end: SessionEnd?
    var inboundEnded = false
    var outboundEnded = false
    /// Batches on their way through the store, and statements that run for the peer.
    var work = 0
    var lingering: Task<Void, Never>?
    var waiter: CheckedContinuation<SessionEnd, Never>?
  }

  let setup: Setup
  let inbox = SessionInbox()
  let figures = NIOLockedValueBox(SessionFigures())
  let timer: SessionTimer
  /// Used only by whoever has the turn.
  let turn: SessionTurn
  private let onEvent: @Sendable (SyncEvent) -> Void
  weak let host: (any SessionHost)?
  private let state = NIOLockedValueBox(State())
  let questions = NIOLockedValueBox(OpenQuestions())

  /// Prepares a session; nothing happens before `run`.
  ///
  /// - Parameters:
  ///   - id: A number that no other session of the store has had since it was opened.
  ///   - link: A link that nobody else uses.
  ///   - setup: The store and what a session asks.
  ///   - subscriptions: What to pull from the peer, until `subscribe` says otherwise.
  ///   - onEvent: Hears of events in their order, one at a time, on the session's thread; must be quick.
  public convenience init(
    id: UInt64, link: any Link, setup: Setup, subscriptions: [SubscriptionQuery] = [],
    onEvent: @escaping @Sendable (SyncEvent) -> Void = { _ in }
  ) {
    self.init(
      id: id, link: link, setup: setup, subscriptions: subscriptions, isIncoming: false, host: nil,
      onEvent: onEvent)
  }

  /// Prepares a session; the peer says hello first where `isIncoming`, and `host` decides about it.
  init(
    id: UInt64, link: any Link, setup: Setup, subscriptions: [SubscriptionQuery], number: UInt64 = 0,
    isIncoming: Bool, host: (any SessionHost)?, onEvent: @escaping @Sendable (SyncEvent) -> Void
  ) {
    self.id = id
    self.link = link
    self.setup = setup
    self.onEvent = onEvent
    self.host = host
    timer = SessionTimer(clock: setup.clock)
    var configuration = setup.configuration
    configuration.isLocal = link.isLocal
    configuration.isIncoming = isIncoming
    configuration.asksForAdmission = host != nil
    turn = SessionTurn(
      Session(
        id: id, store: setup.store, gate: setup.gate, shared: setup.shared, configuration: configuration))
    // The first turn is the start's, which finds it here.
    _ = inbox.post { $0.subscribe(to: subscriptions, number: number) }
  }

  /// What the session has moved so far.
  public var statistics: SyncStatistics { figures.withLockedValue { $0.statistics } }

  /// How far it has come.
  public var progress: SyncProgress { figures.withLockedValue { $0.progress } }

  /// Replaces what is pulled from the peer.
  public func subscribe(to queries: [SubscriptionQuery]) { subscribe(to: queries, number: 0) }

  /// The same for a set that has a number, which rises with each.
  func subscribe(to queries: [SubscriptionQuery], number: UInt64) {
    post { $0.subscribe(to: queries, number: number) }
  }

  /// Says that the gate's answers have changed.
  public func policyChanged() {
    post { $0.policyChanged = true }
  }

  /// Asks for an orderly end; `run` returns soon after.
  public func close() { close(.closedHere) }

  /// Runs the session to its end and closes the link; call it once.
  ///
  /// Cancelling the task ends it at once, without a word to the peer. Nothing of the session runs any more when this
  /// returns.
  ///
  /// - Returns: Why it ended.
  public func run() async -> SessionEnd {
    timer.onDue { [weak self] in self?.post { $0.isDue = true } }
    // Registered before the session reads the store for the first time, so that no commit falls between.
    let listener = setup.store.onCommit { [weak self] commit in
      guard let self, inbox.post(commit) else { return }
      callTurn()
    }
    setup.nudges.join(id) { [weak self] in self?.post { $0.nudged = true } }
    defer {
      listener.cancel()
      timer.cancel()
      setup.nudges.leave(id)
      // However the session ended, those that waited for it go on.
      setup.nudges.nudge(setup.shared.leave(id))
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        state.withLockedValue { $0.waiter = waiter }
        // Who posts before the start finds the turn taken.
        link.executor.execute { [weak self] in self?.start() }
      }
    } onCancel: {
      post { $0.cancelled = true }
    }
  }

  func post(_ change: (inout SessionInbox.Input) -> Void) {
    if inbox.post(change) { callTurn() }
  }

  func tell(_ event: SyncEvent) { onEvent(event) }

  // MARK: - Applying

  /// Applies a batch, of which the session hands out one at a time and hears once it is durable.
  func apply(_ batch: ApplyBatch) {
    beginWork()
    let outcome = NIOLockedValueBox(ApplyOutcome())
    setup.store.enqueue(origin: .remote(id)) { transaction in
      let applied = try batch.apply(in: transaction)
      outcome.withLockedValue { $0 = applied }
    } completion: { [weak self] result in
      let result = result.map { _ in outcome.withLockedValue { $0 } }
      self?.applied(AppliedBatch(ticket: batch.ticket, result: result))
    }
  }

  private func applied(_ batch: AppliedBatch) {
    post { $0.applied.append(batch) }
    endWork()
  }

  /// Notes that something has begun that the session's end waits for.
  func beginWork() { state.withLockedValue { $0.work += 1 } }

  func endWork() {
    state.withLockedValue { $0.work -= 1 }
    endIfQuiet()
  }

  // MARK: - The end

  /// Ends the session; for whoever has the turn, which is not given back.
  func end(_ end: SessionEnd) {
    inbox.discard()
    host?.over(id)
    endQuestions()
    turn.session.cancelQueries()
    state.withLockedValue { $0.end = end }
    switch end {
    case .link:
      link.close(LinkError(.closed, "\(end)"))
    case .session(let error):
      // Hanging up first would make the system drop bytes that the peer has not read yet, and with them the reason.
      link.finishWriting()
      link.resumeReading()
      let lingering = Task { [link, clock = setup.clock] in
        guard (try? await clock.sleep(for: DriverLimits.lingering)) != nil else { return }
        link.close(LinkError(.closed, error.description))
      }
      state.withLockedValue { $0.lingering = lingering }
    }
    endIfQuiet()
  }

  /// Lets `run` return once nothing uses the link or the store any more.
  private func endIfQuiet() {
    let (isQuiet, lingering) = state.withLockedValue { state in
      let isQuiet = state.end != nil && state.inboundEnded && state.outboundEnded
      defer { if isQuiet { state.lingering = nil } }
      return (isQuiet, isQuiet ? state.lingering : nil)
    }
    guard isQuiet else { return }
    lingering?.cancel()
    link.close(LinkError(.closed, "The session is over"))
    let (waiter, end) = state.withLockedValue { state in
      guard state.work == 0, let end = state.end, let waiter = state.waiter else {
        return (nil as CheckedContinuation<SessionEnd, Never>?, nil as SessionEnd?)
      }
      state.waiter = nil
      return (waiter, end)
    }
    guard let waiter, let end else { return }
    // Behind the call that is under way, so that nothing of the driver runs when the caller goes on.
    link.executor.execute { waiter.resume(returning: end) }
  }
}

extension SessionDriver: LinkUser {
  public func received(_ bytes: [UInt8]) {
    guard inbox.post(chunk: bytes) else { return }
    if link.executor.isCurrent { takeTurn(.loop) } else { callTurn() }
  }

  public var hasRoom: Bool { inbox.hasRoom }

  public func ended(_ direction: LinkDirection, _ error: LinkError?) {
    state.withLockedValue { state in
      switch direction {
      case .inbound: state.inboundEnded = true
      case .outbound: state.outboundEnded = true
      }
    }
    // Half a conversation is none: the peer's end of its direction ends the session.
    let gone = LinkError(.disconnected, "\(link.endpoint.address) ended the connection")
    if direction == .inbound || error != nil {
      post { $0.linkEnd = $0.linkEnd ?? error ?? gone }
    }
    endIfQuiet()
  }
}

/// Bounds of what one driver keeps.
enum DriverLimits {
  /// Bytes received that the session has not seen.
  static let unseenBytes = 512 << 10
  /// Bytes of commits that the session has not seen, beside one commit.
  static let unseenCommitBytes = 16 << 20
  /// Changes in commits that a session is told of at once.
  static let batchedChanges = 64
  /// Bytes that wait to be sent; above what a session has in flight, so that two peers never wait for each other.
  static let unsentBytes = 32 << 20
  /// How long an ended session waits for the peer to hang up.
  static let lingering: Duration = .seconds(2)
}
