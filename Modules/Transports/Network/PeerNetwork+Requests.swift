import CRDTCore
import Links
import NIOConcurrencyHelpers
import SyncProtocol

/// Connections on which the application decides.
extension PeerNetwork {
  /// How long the application may take to decide about a connection; then it is denied.
  ///
  /// It is less than a peer waits for hello.
  public static let decisionDeadline = Duration.seconds(8)

  /// Lets a handler decide about all later connections of either direction; `nil` accepts all.
  ///
  /// A peer that is denied is told so, and tries again as after any failure.
  public func decideConnections(by handler: ConnectionRequestHandler?) {
    state.withLockedValue { $0.requestHandler = handler }
  }

  /// The next step for a peer that has said hello, if the application decides.
  enum Inquiry {
    case none
    case ask(ConnectionRequestHandler, ConnectionRequest, SessionDriver)
    /// No more connections may wait for the application.
    case full(SessionDriver, SyncError)
  }

  /// Lets the application decide, if it has a handler.
  ///
  /// - Returns: Whether a decision is made now or later.
  func inquire(about peer: PeerInfo, in session: UInt64) -> Bool {
    switch state.withLockedValue({ $0.inquiry(about: peer, in: session) }) {
    case .none: return false
    case .full(let driver, let reason): driver.close(reason)
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

/// Reports the first of several answers.
private final class Decision: Sendable {
  private struct State {
    var onDecision: (@Sendable (Bool) -> Void)?
    var tasks: [Task<Void, Never>] = []
  }

  private let state: NIOLockedValueBox<State>

  init(_ onDecision: @escaping @Sendable (Bool) -> Void) {
    state = NIOLockedValueBox(State(onDecision: onDecision))
  }

  /// Takes an answer and cancels the tasks that are still deciding.
  func settle(_ isAllowed: Bool) {
    let (onDecision, tasks) = state.withLockedValue { state in
      defer { state = State() }
      return (state.onDecision, state.tasks)
    }
    for task in tasks { task.cancel() }
    onDecision?(isAllowed)
  }

  /// Waits for an answer that a task gives, and answers no when the alarm's task ends before that.
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
  /// Decides whether to ask the application about a session's peer.
  ///
  /// If so, marks the session as waiting for the answer.
  mutating func inquiry(about peer: PeerInfo, in id: UInt64) -> PeerNetwork.Inquiry {
    guard let requestHandler, let session = sessions[id] else { return .none }
    // A claim that contradicts the proof is refused without a question.
    guard session.contradiction(in: peer) == nil else { return .none }
    let waiting = sessions.values.filter { if case .asked = $0.admission { true } else { false } }
    let fromThere = waiting.count { $0.provenOrigin == session.provenOrigin }
    guard fromThere < limits.undecidedByOrigin else {
      let origin = session.provenPeer == nil ? "from this address" : "with this key"
      return .full(session.driver, .undecided(fromThere, " \(origin)"))
    }
    guard waiting.count < limits.undecided else {
      return .full(session.driver, .undecided(waiting.count, ""))
    }
    sessions[id]?.admission = .asked(peer)
    let request = ConnectionRequest(
      peer: peer, identity: session.provenPeer?.identity, direction: session.connection.direction,
      endpoint: session.connection.endpoint)
    return .ask(requestHandler, request, session.driver)
  }

  /// Removes a session from those that wait for the application's answer.
  ///
  /// - Returns: `nil` when the session is over.
  mutating func takeInquiry(in id: UInt64) -> SessionDriver? {
    guard let session = sessions[id], case .asked = session.admission else { return nil }
    sessions[id]?.admission = .awaitingHello
    return session.driver
  }
}

extension SyncError {
  /// The error of a connection that finds too many others that wait for the application.
  ///
  /// - Parameters:
  ///   - count: How many wait, which is the limit.
  ///   - origin: Which ones are counted, with a space before it; empty for all.
  /// - Returns: The error, which the peer is told.
  fileprivate static func undecided(_ count: Int, _ origin: String) -> SyncError {
    SyncError(
      .full,
      """
      \(count) connections\(origin) wait for the application's connectionRequestHandler, and no more may; each is \
      denied after \(PeerNetwork.decisionDeadline.text) without an answer, so try again
      """)
  }

  fileprivate static let denied = SyncError(.denied, "The application denies the connection")
}
