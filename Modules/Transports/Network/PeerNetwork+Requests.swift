import NIOConcurrencyHelpers
import SyncProtocol

/// Connections about which the application decides.
extension PeerNetwork {
  /// For so long the application may think about a connection, which is denied then: less than a peer waits for hello.
  public static let decisionDeadline = Duration.seconds(8)

  /// Has every connection to come, of either direction, decided by a handler; `nil` lets all in.
  ///
  /// A peer that is denied is told so, and tries again as after any failure.
  public func decideConnections(by handler: ConnectionRequestHandler?) {
    state.withLockedValue { $0.requestHandler = handler }
  }

  /// What is to be done about a peer that has said hello where the application decides.
  enum Inquiry {
    case none
    case ask(ConnectionRequestHandler, ConnectionRequest, SessionDriver)
    case full(SessionDriver)
  }

  /// Lets the application decide, if it wants to.
  ///
  /// - Returns: Whether somebody decides, now or later.
  func inquire(about peer: PeerInfo, in session: UInt64) -> Bool {
    switch state.withLockedValue({ $0.inquiry(about: peer, in: session) }) {
    case .none: return false
    case .full(let driver): driver.close(.noRoom)
    case .ask(let handler, let request, let driver):
      // From now on its connection counts as a session, and waits.
      driver.link.admitted()
      let decision = Decision { [weak self] isAllowed in self?.settle(isAllowed, peer, in: session) }
      let clock = setup.clock
      decision.await(
        Task { decision.settle(await handler(request)) },
        orAlarm: Task { try? await clock.sleep(for: Self.decisionDeadline) })
    }
    return true
  }

  private func settle(_ isAllowed: Bool, _ peer: PeerInfo, in session: UInt64) {
    guard let driver = state.withLockedValue({ $0.takeInquiry(in: session) }) else { return }
    if isAllowed { decide(on: peer, in: session) } else { driver.close(.denied) }
  }
}

/// Hears of the first of several answers.
private final class Decision: Sendable {
  private struct State {
    var onDecision: (@Sendable (Bool) -> Void)?
    var tasks: [Task<Void, Never>] = []
  }

  private let state: NIOLockedValueBox<State>

  init(_ onDecision: @escaping @Sendable (Bool) -> Void) {
    state = NIOLockedValueBox(State(onDecision: onDecision))
  }

  /// Takes an answer; who is still thinking is cancelled.
  func settle(_ isAllowed: Bool) {
    let (onDecision, tasks) = state.withLockedValue { state in
      defer { state = State() }
      return (state.onDecision, state.tasks)
    }
    for task in tasks { task.cancel() }
    onDecision?(isAllowed)
  }

  /// Waits for an answer that a task gives, and answers no when another one is over before that.
  func await(_ answer: Task<Void, Never>, orAlarm alarm: Task<Void, Never>) {
    let isOpen = state.withLockedValue { state in
      guard state.onDecision != nil else { return false }
      state.tasks = [answer, alarm]
      return true
    }
    guard isOpen else { return alarm.cancel() }
    Task {
      await alarm.value
      settle(false)
    }
  }
}

extension NetworkState {
  /// Decides whether the application is asked about a session's peer, and marks the session as waiting for its answer.
  mutating func inquiry(about peer: PeerInfo, in id: UInt64) -> PeerNetwork.Inquiry {
    guard let requestHandler, let session = sessions[id] else { return .none }
    // What the proof does not bear out is refused without a question.
    if let proven = session.provenPeer, proven.site != peer.site { return .none }
    let waiting = sessions.values.filter { if case .asked = $0.standing { true } else { false } }
    guard waiting.count < limits.undecided,
      waiting.count(where: { $0.provenOrigin == session.provenOrigin }) < limits.undecidedByOrigin
    else { return .full(session.driver) }
    sessions[id]?.standing = .asked(peer)
    let request = ConnectionRequest(
      peer: peer, identity: session.provenPeer?.identity, direction: session.connection.direction,
      endpoint: session.connection.endpoint)
    return .ask(requestHandler, request, session.driver)
  }

  /// Takes a session out of those that wait for the application's answer.
  ///
  /// - Returns: `nil` when it is over.
  mutating func takeInquiry(in id: UInt64) -> SessionDriver? {
    guard let session = sessions[id], case .asked = session.standing else { return nil }
    sessions[id]?.standing = .awaitingHello
    return session.driver
  }
}

extension SyncError {
  static let noRoom = SyncError(.full, "There is no room for more connections")

  fileprivate static let denied = SyncError(.denied, "The application denies the connection")
}
