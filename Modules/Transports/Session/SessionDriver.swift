public import DocStore
public import Links
import NIOConcurrencyHelpers
public import QueryLanguage
public import SyncProtocol

/// Drives one session over one link: passes it bytes, commits and time, and carries out its actions.
///
/// The session runs on its link's executor. What a socket receives is processed on the socket's event loop,
/// and the session's answers are sent from there. Long steps run on a worker, so that they do not block the
/// loop's other links.
///
/// Memory is bounded. While too much waits to be processed or sent, the link is not read, and so the peer
/// waits too. The session bounds what waits to be applied.
public final class SessionDriver: Sendable {
  /// Identifies the session in the origin of the commits that it applies.
  public let id: UInt64
  /// The link; the driver closes it at the end.
  public let link: any Link

  /// The settings that all drivers of a peer share.
  public struct Setup: Sendable {
    let store: Store
    var gate: any SyncGate
    let configuration: SessionConfiguration
    let clock: TransportClock
    let shared = SessionShared()
    let nudges = SessionNudges()
    let unseen = UnseenBytes()
    let bell = StatusBell()
    let engine: (any RemoteQueryRunner)?

    /// Combines what sessions need.
    ///
    /// - Parameters:
    ///   - store: The store to sync.
    ///   - gate: Decides what may be sent and received.
    ///   - configuration: The description of this peer.
    ///   - clock: The clock of sessions.
    ///   - engine: Runs statements for other peers; without one, statements are refused.
    public init(
      store: Store, gate: any SyncGate, configuration: SessionConfiguration,
      clock: TransportClock = .continuous, engine: (any RemoteQueryRunner)? = nil
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

  /// The state that outlasts the session's own end.
  private struct State {
    var end: SessionEnd?
    var inboundEnded = false
    var outboundEnded = false
    /// The number of batches being applied, and of statements that run for the peer.
    var work = 0
    var lingering: Task<Void, Never>?
    var waiter: CheckedContinuation<SessionEnd, Never>?
  }

  let setup: Setup
  let inbox: SessionInbox
  let figures = NIOLockedValueBox(SessionFigures())
  let timer: SessionTimer
  /// Used only by the caller that holds the turn.
  let turn: SessionTurn
  private let onEvent: @Sendable (SyncEvent) -> Void
  weak let host: (any SessionHost)?
  private let state = NIOLockedValueBox(State())
  let questions = NIOLockedValueBox(OpenQuestions())

  /// Prepares a session, which does nothing before `run`.
  ///
  /// - Parameters:
  ///   - id: A number that no other session of the store has had since it was opened.
  ///   - link: A link that nobody else uses.
  ///   - setup: The store and the other settings.
  ///   - subscriptions: The queries to pull from the peer, until `subscribe` replaces them.
  ///   - onEvent: Called with events in order, one at a time, on the session's thread; must be quick.
  public convenience init(
    id: UInt64, link: any Link, setup: Setup, subscriptions: [SubscriptionQuery] = [],
    onEvent: @escaping @Sendable (SyncEvent) -> Void = { _ in }
  ) {
    self.init(
      id: id, link: link, setup: setup, subscriptions: subscriptions, isIncoming: false, host: nil,
      onEvent: onEvent)
  }

  /// Prepares a session.
  ///
  /// If `isIncoming`, the peer says hello first, and `host` decides about it. If this peer `hasOwnGrant`, it
  /// evicts what the other one withdraws.
  init(
    id: UInt64, link: any Link, setup: Setup, subscriptions: [SubscriptionQuery], number: UInt64 = 0,
    isIncoming: Bool, hasOwnGrant: Bool = false, host: (any SessionHost)?,
    onEvent: @escaping @Sendable (SyncEvent) -> Void
  ) {
    self.id = id
    self.link = link
    self.setup = setup
    self.onEvent = onEvent
    self.host = host
    inbox = SessionInbox(setup.unseen)
    timer = SessionTimer(clock: setup.clock)
    var configuration = setup.configuration
    configuration.isLocal = link.isLocal
    configuration.isIncoming = isIncoming
    configuration.asksForAdmission = host != nil
    configuration.obeysWithdrawals = hasOwnGrant
    if host != nil { configuration.access = .nothing }
    turn = SessionTurn(
      Session(
        id: id, store: setup.store, gate: setup.gate, shared: setup.shared, configuration: configuration))
    // `start` holds the first turn, and processes this.
    _ = inbox.post { $0.subscribe(to: subscriptions, number: number) }
  }

  /// What the session has moved so far.
  public var statistics: SyncStatistics { figures.withLockedValue { $0.statistics } }

  /// The session's progress.
  public var progress: SyncProgress { figures.withLockedValue { $0.progress } }

  /// Replaces the subscriptions to the peer's documents.
  public func subscribe(to queries: [SubscriptionQuery]) { subscribe(to: queries, number: 0) }

  /// Replaces the subscriptions with a set that has a number; numbers rise.
  func subscribe(to queries: [SubscriptionQuery], number: UInt64) {
    post { $0.subscribe(to: queries, number: number) }
  }

  /// Says that the gate's answers have changed.
  public func policyChanged() {
    post { $0.policyChanged = true }
  }

  /// Requests an orderly end; `run` returns soon after.
  public func close() { close(.closedHere) }

  /// Runs the session to its end and closes the link; call it once.
  ///
  /// Cancelling the task ends the session at once, without a message to the peer. When this returns, nothing
  /// of the session is running.
  ///
  /// - Returns: Why it ended.
  public func run() async -> SessionEnd {
    timer.onDue { [weak self] in self?.post { $0.isDue = true } }
    // Registered before the session first reads the store, so that no commit is missed.
    let listener = setup.store.onCommit { [weak self] commit in
      guard let self, inbox.post(commit) else { return }
      callTurn()
    }
    setup.nudges.join(id) { [weak self] in self?.post { $0.nudged = true } }
    defer {
      listener.cancel()
      timer.cancel()
      setup.nudges.leave(id)
      // Sessions that waited for this one continue, however it ended.
      setup.nudges.nudge(setup.shared.leave(id))
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        state.withLockedValue { $0.waiter = waiter }
        // A caller that posts before the start finds the turn held.
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

  /// Applies a batch, and informs the session once it is durable.
  ///
  /// The session submits one batch at a time.
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

  /// Records that work has begun that the session's end must wait for.
  func beginWork() { state.withLockedValue { $0.work += 1 } }

  func endWork() {
    state.withLockedValue { $0.work -= 1 }
    endIfQuiet()
  }

  // MARK: - The end

  /// Ends the session; for the caller that holds the turn, which is not released.
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
      // Closing first would make the system drop bytes that the peer has not read, and with them the reason.
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

  /// Lets `run` return once nothing uses the link or the store.
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
    // Queued after the current call, so that nothing of the driver runs when the caller continues.
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
    // A session needs both directions: the peer's end of its direction ends the session.
    let gone = LinkError(.disconnected, "\(link.endpoint.address) ended the connection")
    if direction == .inbound || error != nil {
      post { $0.linkEnd = $0.linkEnd ?? error ?? gone }
    }
    endIfQuiet()
  }
}

/// Limits on what one driver holds.
enum DriverLimits {
  /// Received bytes that the session has not processed.
  static let unseenBytes = 512 << 10
  /// The same of one session while all sessions together hold `allUnseenBytes`.
  static let leastUnseenBytes = 32 << 10
  static let allUnseenBytes = 4 << 20
  /// Bytes of commits that the session has not processed, besides one commit.
  static let unseenCommitBytes = 16 << 20
  /// Changes in commits that are passed to a session at once.
  static let batchedChanges = 64
  /// How long an ended session waits for the peer to close.
  static let lingering: Duration = .seconds(2)
}
