import CRDTCore
import DocStore
import QueryEngine
import SyncProtocol

/// Drives one session over one connection: the simple counterpart of the driver in `Transports`.
///
/// Each action is a place at which the process may die.
package final class SimDriver {
  let id: UInt64
  unowned let peer: SimPeer
  unowned let connection: Connection
  let side: Int
  let session: Session
  private let bounds: FootprintBounds
  #if DEBUG || SIMULATION
    /// The rules of sync that take both ends to see.
    private(set) lazy var rules = RuleWatch(self)
  #endif
  private var inbox = Inbox()
  private var applying: [ApplyBatch] = []
  private var isApplying = false
  private var isPumpDue = false
  /// Turns in which the session did nothing but ask for another one.
  private var idleTurns = 0
  private var isWoken = false
  private var deadlines: [Duration] = []
  private(set) var isOver = false
  /// Who the other end is, once it has said so.
  private(set) var met: PeerInfo?
  private(set) var caughtUp: UInt64?
  private let startedAt: SimTime
  private var draws: Stream

  /// What waits to be looked at.
  private struct Inbox {
    var commits: [Commit] = []
    var applied: [(ticket: UInt64, result: Result<ApplyOutcome, any Error>)] = []
    /// By how many of the commits were made before.
    var subscriptions: [(afterCommits: Int, queries: [SubscriptionQuery])] = []
    var policyChanged = false
    var chunks: [[UInt8]] = []
    var writable = false
    var nudged = false
    var isStarting = true
    var isLost = false
    var isClosing = false

    var isEmpty: Bool {
      commits.isEmpty && applied.isEmpty && subscriptions.isEmpty && !policyChanged && chunks.isEmpty
        && !writable && !nudged && !isStarting && !isLost && !isClosing
    }
  }

  init(_ id: UInt64, _ peer: SimPeer, store: Store, _ connection: Connection, side: Int) {
    self.id = id
    self.peer = peer
    self.connection = connection
    self.side = side
    startedAt = peer.world.now
    draws = Stream(peer.world.script.seed, .driver, connection.link.number, connection.number, side)
    let configuration = peer.configuration(connection.link.number, connection.number)
    var other = configuration
    other.tuning = SyncTuning()
    connection.peer(1 - side).plan.tune(&other)
    bounds = FootprintBounds(configuration, facing: other)
    session = Session(
      id: id, store: store, gate: peer.scopes, shared: peer.shared, configuration: configuration)
    #if DEBUG || SIMULATION
      session.watch { [unowned self] in rules.hear($0) }
    #endif
    subscribe(peer.queries)
  }

  private var world: World { peer.world }

  /// Whether the peers have come as far as they can: beside damage neither is ever caught up.
  var isMet: Bool {
    met != nil
      && (caughtUp != nil || session.progress.isAnythingUnreadable
        || session.progress.isAnythingWithheld)
  }

  /// Whether nothing waits to be done.
  var isSettled: Bool { inbox.isEmpty && applying.isEmpty && !isApplying && !isPumpDue && isMet }

  // MARK: - Inputs

  func receive(_ bytes: [UInt8]) {
    inbox.chunks.append(bytes)
    awake()
  }

  func lost() {
    inbox.isLost = true
    awake()
  }

  func committed(_ commits: [Commit]) {
    inbox.commits += commits
    awake()
  }

  func subscribe(_ queries: [SubscriptionQuery]) {
    inbox.subscriptions.append((inbox.commits.count, queries))
    awake()
  }

  func policyChanged() {
    inbox.policyChanged = true
    awake()
  }

  func nudge() {
    inbox.nudged = true
    awake()
  }

  func close() {
    inbox.isClosing = true
    awake()
  }

  /// Ends it as a process that dies does.
  func vanish(isHeard: Bool) {
    isOver = true
    connection.vanish(side, isHeard: isHeard)
  }

  // MARK: - The pump

  private func awake() {
    guard !isPumpDue, !isOver else { return }
    isPumpDue = true
    peer.later(&draws) { [weak self] in try self?.pump() }
  }

  private func pump() throws {
    isPumpDue = false
    guard !isOver else { return }
    guard peer.isRunning else { return awake() }
    let input = inbox
    inbox = Inbox()
    inbox.isStarting = false
    if input.isStarting { try perform(session.start(now: now)) }
    try feed(input)
    guard !isOver else { return }
    if takeDue() { try perform(session.tick(now: now)) }
    if input.isLost, !isOver { end("the connection is lost") }
  }

  /// By the peer's own clock.
  private var now: Duration { peer.clock.monotonic }

  private func feed(_ input: Inbox) throws {
    var told = 0
    for (count, queries) in input.subscriptions {
      try tell(input.commits[told..<count])
      try perform(session.subscriptionsChanged(queries, now: now))
      told = count
    }
    try tell(input.commits[told...])
    for (ticket, result) in input.applied { try perform(session.applied(ticket, result, now: now)) }
    if input.policyChanged { try perform(session.policyChanged(now: now)) }
    for chunk in input.chunks { try perform(session.receive(chunk, now: now)) }
    if input.nudged { try perform(session.nudged(now: now)) }
    if input.writable { try perform(session.writable(now: now)) }
    if input.isClosing { try perform(session.close(now: now)) }
  }

  private func tell(_ commits: ArraySlice<Commit>) throws {
    if !commits.isEmpty { try perform(session.committed(Array(commits), now: now)) }
  }

  private func perform(_ actions: [Action]) throws {
    world.tally.operations += 1
    try checkProgress(actions)
    try checkBounds()
    #if DEBUG || SIMULATION
      rules.endCall()
    #endif
    for action in actions where !isOver {
      try peer.effect()
      switch action {
      case .send(let bytes):
        try world.willSend(bytes, from: peer, over: connection)
        connection.send(bytes, from: side)
        inbox.writable = true
      case .pack(let job):
        // Other threads take their time, and overtake each other.
        peer.later(&draws) { [weak self] in
          guard let self, !self.isOver else { return }
          try self.perform(self.session.packed(job.run(with: PackBench()), now: self.now))
        }
      case .apply(let batch):
        #if DEBUG || SIMULATION
          if let sequence = batch.checkpointSequence { rules.willStore(checkpoint: sequence) }
        #endif
        applying.append(batch)
        applyNext()
      case .close(let error): try closed(error)
      case .event(let event): take(event)
      case .query: break
      case .wake(let delay): wake(delay)
      case .nudge(let sessions): peer.nudge(sessions)
      case .admission, .presence: break
      }
    }
    if inbox.writable { awake() }
  }

  /// Fails if a session repeatedly asks to be called at once and does nothing.
  ///
  /// That would keep a processor busy.
  private func checkProgress(_ actions: [Action]) throws {
    let isIdle =
      !actions.isEmpty
      && actions.allSatisfy { if case .wake(let delay) = $0 { delay <= .zero } else { false } }
    idleTurns = isIdle ? idleTurns + 1 : 0
    guard idleTurns > 50_000 else { return }
    throw Violation(
      .progress, "\(peer.name) on \(connection.link.name) goes round in circles and sends nothing")
  }

  /// Memory does not grow with how much there is to say, or how slow the other end hears it.
  private func checkBounds() throws {
    let footprint = session.footprint
    guard let excess = bounds.excess(of: footprint, in: world) else { return }
    throw Violation(
      .bounds, "\(peer.name) on \(connection.link.name) holds more than it may of \(excess): \(footprint)")
  }

  /// At rest nothing waits for anything.
  func checkRest() throws {
    let footprint = session.footprint
    guard footprint.isEmpty, !session.isWithinFrame else {
      throw Violation(.bounds, "\(peer.name) on \(connection.link.name) still holds \(footprint)")
    }
  }

  private func take(_ event: SyncEvent) {
    switch event {
    case .connected(let info):
      met = info
      noteLaterWrites(of: info.site)
      connection.link.noteUse()
    case .caughtUp(let generation):
      caughtUp = generation
      #if DEBUG || SIMULATION
        rules.caughtUp()
      #endif
      world.reach(.caughtUp)
    case .overflow: world.reach(.overflowed)
    case .oversize: world.reach(.tooLargeToSend)
    default: break
    }
    world.oracles.heard(event, by: self)
  }

  /// Takes note when this peer has later writes of the other one's site than that has itself.
  private func noteLaterWrites(of site: SiteID) {
    guard let other = connection.peer(1 - side).store, other.site == site,
      let met = try? peer.store?.read({ try $0.highestReading(of: site) }),
      let own = try? other.read({ try $0.highestReading() })
    else { return }
    if met.milliseconds > own.milliseconds { connection.mustRenew[1 - side] = site }
  }

  private func wake(_ delay: Duration) {
    guard delay > .zero else {
      isWoken = true
      return awake()
    }
    let (seconds, attoseconds) = delay.components
    let wait = seconds * 1_000_000 + attoseconds / 1_000_000_000_000 + 1
    deadlines.append(now + delay)
    // A clock that is slow has not come so far by then.
    world.after(wait + wait / 500) { [weak self] in self?.awake() }
  }

  private func takeDue() -> Bool {
    var isDue = isWoken
    isWoken = false
    let now = now
    deadlines.removeAll { deadline in
      guard deadline <= now else { return false }
      isDue = true
      return true
    }
    return isDue
  }

  // MARK: - Applying

  /// Applies what waits, one transaction at a time, each durable before the session hears of it.
  private func applyNext() {
    guard !isApplying, !applying.isEmpty else { return }
    isApplying = true
    let batches = applying
    applying = []
    var outcomes: [ApplyOutcome] = []
    peer.write(origin: .remote(id)) { transaction in
      outcomes = try batches.map { try $0.apply(in: transaction) }
    } completion: { [weak self] result in
      guard let self, !isOver else { return }
      isApplying = false
      inbox.applied += batches.enumerated().map { index, batch in
        (batch.ticket, result.map { _ in outcomes[index] })
      }
      awake()
      applyNext()
    }
  }

  // MARK: - The end

  private func closed(_ error: SyncError) throws {
    if error.code == .timeout { world.reach(.silenceWasNoticed) }
    try world.oracles.closed(self, error)
    end("\(error)")
    if error.code == .cloned { try peer.renewSite() }
  }

  private func end(_ reason: String) {
    guard !isOver else { return }
    isOver = true
    world.narrate("\(peer.name) ends \(connection.link.name) (\(connection.number)): \(reason)")
    world.noteActivity()
    peer.forget(self)
    peer.nudge(peer.shared.leave(id))
    connection.hangUp(side)
  }
}
