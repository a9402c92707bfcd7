import CRDTCore
public import DocStore
import Failpoints
public import QueryLanguage

/// The sync conversation of two peers, as a pure state machine: bytes and events in, actions out.
///
/// It reads the store that it is given, and has no clock, socket or task of its own. Each call returns the
/// actions to perform, in order. The type is not `Sendable`: one actor or task owns it and makes one call at
/// a time.
///
/// `Documentation/DrivingSync.md` lists what a driver must do and has a complete driver. All sessions of a
/// store must get their times from one monotonic clock.
///
/// The two directions are independent: the `Puller` pulls what this peer subscribes to, and the `Pusher`
/// serves the other peer.
public final class Session {
  /// The phase of the session.
  enum State {
    case idle
    case awaitingHello(deadline: Duration)
    /// The peer has sent its hello, and the driver has not admitted it yet.
    case met(Hello, PeerInfo)
    /// The peer has this store's site: the session asks whether it is a clone or this very process.
    case doubtingSite(deadline: Duration)
    case open
    case closed(SyncError)

    /// The name of the state, without what it holds.
    var name: String {
      switch self {
      case .idle: "idle"
      case .awaitingHello: "awaiting hello"
      case .met: "met"
      case .doubtingSite: "doubting the site"
      case .open: "open"
      case .closed: "closed"
      }
    }

    /// Whether a state may follow this one; the session may end in each.
    func mayLead(to next: State) -> Bool {
      switch (self, next) {
      case (.closed, _): false
      case (_, .closed): true
      case (.idle, .awaitingHello), (.awaitingHello, .met), (.awaitingHello, .open): true
      case (.awaitingHello, .doubtingSite), (.met, .open): true
      case (.idle, _), (.awaitingHello, _), (.met, _), (.doubtingSite, _), (.open, _): false
      }
    }
  }

  /// Identifies the session in the origin of the commits that it applies.
  public let id: UInt64
  let context: SessionContext
  let puller: Puller
  let pusher: Pusher
  let statements: RemoteStatements
  let presence: PresenceExchange
  let revocations: RevocationExchange
  private(set) var state = State.idle
  var input = FrameBuffer()
  var backlog = InputBacklog()
  /// The offset of the next frame in the peer's stream.
  var inputOffset = 0
  /// The offset of the payload of the last parsed frame; errors in a queued interest refer to it.
  var draftOffset = 0
  var health = LinkHealth()
  /// The highest HLC timestamp that this peer sent in its hello.
  var highestSent: ClockReading?
  private var queries: [SubscriptionQuery] = []
  /// When the pending wake-up is due.
  private var wakeAt: Duration?
  /// Whether the peer has ended the session with a reason, so that it needs no `bye`.
  var isEndedByPeer = false
  /// The site of a peer that refused this one before its hello.
  var refusedByPeer: SiteID?

  /// Creates a session; nothing happens before ``start(now:)``.
  ///
  /// - Parameters:
  ///   - id: A number that is unique among the sessions of the store since it was opened.
  ///   - store: The session reads it, and writes only through ``Action/apply(_:)``.
  ///   - gate: Decides what may leave and enter.
  ///   - shared: One instance for all sessions of the store.
  ///   - configuration: The properties of this peer.
  public init(
    id: UInt64, store: Store, gate: any SyncGate, shared: SessionShared = SessionShared(),
    configuration: SessionConfiguration
  ) {
    self.id = id
    shared.attach(to: store)
    context = SessionContext(
      id: id, store: store, gate: gate, shared: shared, configuration: configuration)
    let puller = Puller(context)
    self.puller = puller
    pusher = Pusher(
      context, ownInterest: { puller.pull.interest.matcher(for: $0) },
      ownDigest: { puller.digest(of: $0, under: $1, from: $2) })
    statements = RemoteStatements(context)
    presence = PresenceExchange(context)
    revocations = RevocationExchange(context)
    let pusher = pusher
    puller.announcements.followedLog = { [unowned pusher] in pusher.feed.followedLog(of: $0) }
    puller.pull.seen = { [unowned pusher] in pusher.queue.window.acknowledged.transactions }
  }

  deinit { _ = context.shared.leave(id) }

  /// What the session has transferred so far.
  public var statistics: SyncStatistics { context.statistics }

  /// The progress of both directions.
  public var progress: SyncProgress {
    var progress = SyncProgress()
    progress.confirmedSequence = pusher.confirmedSequence
    progress.isCaughtUp = puller.isCaughtUp
    progress.lastUpdate = puller.updatedAt
    progress.pull = puller.meter.progress
    progress.unreadable = context.unreadable.ranges
    progress.damagedDocuments = context.unreadable.documents.count
    progress.refusedDocuments = context.unreadable.exceeding.count
    progress.isPeerUnreadable = context.unreadable.isAtPeer
    progress.withheldDocuments = context.withheld.count
    progress.documentsWithheldByPeer = context.withheld.byPeer
    return progress
  }

  /// The other peer, once it has sent its hello.
  public var peer: PeerInfo? { context.peer }

  /// Whether the session has ended.
  public var isClosed: Bool {
    if case .closed = state { true } else { false }
  }

  /// Above this cost per document, in records, evaluation takes too long for a shared thread.
  private static let dearVisits = 16

  /// Whether processing a commit takes long, because the peer's conditions are many or expensive.
  package var isDear: Bool { pusher.peer.interest.visitCost > Self.dearVisits }

  /// How long each call may run.
  package var stepLength: StepLength {
    get { context.stepLength }
    set { context.stepLength = newValue }
  }

  /// Starts the session, and sends the hello unless this end accepted the connection.
  public func start(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .idle = state else { return }
      health.start(now: now)
      enter(.awaitingHello(deadline: now + context.configuration.helloDeadline))
      if !context.configuration.isIncoming { try sendHello() }
    }
  }

  /// Processes the next bytes of the peer's stream, split anywhere.
  public func receive(_ bytes: [UInt8], now: Duration) -> [Action] { receive(bytes.span.bytes, now: now) }

  /// Processes the next bytes of the peer's stream in place, split anywhere.
  public func receive(_ bytes: RawSpan, now: Duration) -> [Action] {
    guard begin(now) else { return [] }
    health.lastReceived = now
    context.statistics.bytesReceived += UInt64(bytes.byteCount)
    do throws(SyncError) {
      try receive(bytes)
      if health.endProbe() { context.ask(.admission(.isAlive(true))) }
    } catch {
      return finish(error)
    }
    return finish(nil)
  }

  /// Replaces what this peer pulls from the other.
  public func subscriptionsChanged(_ queries: [SubscriptionQuery], now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      self.queries = queries
      if case .open = state { puller.subscribe(to: Interest(queries)) }
    }
  }

  /// Processes commits of the store, whatever their origin: each exactly once, in order.
  ///
  /// Commits before ``start(now:)`` may be left out, as long as the session receives all later ones.
  public func committed(_ commits: [Commit], now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      for commit in commits {
        let sent = try pusher.feed.committed(commit) { puller.holds($0, $0.after) }
        try puller.committed(commit) { $0 < sent.count && sent[$0] }
      }
    }
  }

  /// Records that commits were dropped: the session finds their changes in the log, or by reconciliation.
  ///
  /// A driver that cannot keep up drops the waiting commits, and calls this before it passes the next commit.
  /// Memory stays bounded, and no change is lost.
  ///
  /// - Parameters:
  ///   - sequence: The sequence of the last dropped commit; a commit that the session has already received
  ///     has no effect.
  ///   - now: The time.
  /// - Returns: Actions.
  public func lostCommits(through sequence: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      try pusher.feed.lostCommits(through: sequence)
    }
  }

  /// Processes the result of applying a batch.
  public func applied(_ ticket: UInt64, _ result: Result<ApplyOutcome, any Error>, now: Duration) -> [Action]
  {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      let (owed, seen) = try puller.applied(ticket, result)
      check(
        .sync(2), seen <= pusher.queue.window.acknowledged.transactions, phase: "session \(state.name)",
        "a transaction counts as made after the peer had applied \(seen), which it has not acknowledged")
      try pusher.sender.noteMerged(owed)
      try pusher.owe(owed.map { DocumentRequest($0, seen: seen) }, isTransaction: true)
    }
  }

  /// Processes a packed chunk.
  public func packed(_ piece: PackedPiece, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      try pusher.queue.receive(piece)
    }
  }

  /// Records that the gate's answers have changed: data that was withheld may flow now.
  public func policyChanged(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in try noteUpdatedPolicy() }
  }

  /// Advances time: call it after each ``Action/wake(after:)``, and at any other time.
  public func tick(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in try checkTime(now) }
  }

  /// Re-evaluates work that was deferred in favor of another session of the store.
  public func nudged(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      puller.announcements.hurry()
      puller.bulk.hurry()
    }
  }

  /// Records that the link has room again.
  public func writable(now: Duration) -> [Action] { step(now) { () throws(SyncError) in } }

  /// Closes the session, and sends the peer the reason.
  public func close(_ reason: SyncError = .closedHere, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in throw reason }
  }

  /// Goes on to the next state.
  func enter(_ next: State) {
    check(.transition, state.mayLead(to: next), phase: "session \(state.name)", "it leads to \(next.name)")
    state = next
  }

  /// Runs one input, then the work that it made possible.
  func step(_ now: Duration, _ body: () throws(SyncError) -> Void) -> [Action] {
    guard begin(now) else { return [] }
    do throws(SyncError) {
      try body()
    } catch {
      return finish(error)
    }
    return finish(nil)
  }

  /// Begins a step.
  ///
  /// - Returns: `false` when the session is over.
  private func begin(_ now: Duration) -> Bool {
    guard !isClosed else { return false }
    context.beginStep(now)
    if let wakeAt, now >= wakeAt { self.wakeAt = nil }
    return true
  }

  private func finish(_ failure: SyncError?) -> [Action] {
    do throws(SyncError) {
      if let failure { throw failure }
      try receiveBacklog()
      if case .open = state { try work() }
      arm()
    } catch {
      fail(error)
    }
    return context.removeActions()
  }

  private func work() throws(SyncError) {
    try noteUpdatedPolicy()
    var budget = context.recordsPerCall
    try lookAtAnnouncements()
    if pusher.isDrained { try puller.evicted.askAgain() }
    let wasAsking = puller.isAsking
    try puller.work(budget: &budget)
    if pusher.isDrained {
      puller.noteDrained()
      pusher.feed.noteReported()
    }
    puller.noteFollowed()
    try puller.applyNext()
    try puller.pull.queue.checkHold()
    puller.pull.queue.noteHeld()
    try pusher.checkAsked(beside: statements.waitingBytes + puller.noticeExchange.heldBytes)
    puller.saveCheckpoint()
    pusher.isApplying = puller.pull.queue.isApplying
    // Requests of this call leave when the call returns.
    pusher.server.isAsking = wasAsking || puller.isAsking
    if puller.pull.queue.isQuiet { pusher.noteQuiet() }
    // A minimum, so that the fixed cost of a step does not matter.
    var visits = max(budget / pusher.peer.interest.visitCost, min(budget, 16))
    try pusher.work(budget: &visits)
    pusher.server.isAsking = puller.isAsking
    pusher.noteConfirmed()
    puller.letGo()
    if let place = pusher.feed.removeFellBehind() { puller.reportAgain(after: place) }
    context.reportWithheld()
    // The puller may have been waiting for what the pusher has just done.
    puller.reportCaughtUp()
    puller.announcements.reportSettled()
    statements.work(pieceBytes: pusher.queue.window.pieceBytes(LinkScheduler.pieceSpan))
    context.shared.memory.noteAnswers(statements.waitingBytes, of: id)
    // After the requests that follow from what is acknowledged: rule 3 in `Documentation/Sync.md`.
    puller.pull.queue.sendAcknowledgement()
    puller.measure()
    noteProgress()
  }

  private func noteUpdatedPolicy() throws(SyncError) {
    guard !context.isPolicyCurrent else { return }
    context.notePolicy()
    guard !SyncDefect.policyChangeIgnored.isPlanted else { return }
    guard case .open = state else { return }
    pusher.revoke()
    pusher.renew()
    puller.noticeExchange.reset()
    puller.renew()
  }

  /// Requests the next wake-up: immediately while there is work, otherwise at the earliest deadline.
  private func arm() {
    let next: Duration
    if isBehind, !isFull, !isClosed { return context.ask(.wake(after: .zero)) }
    switch state {
    case .idle, .met, .closed: return
    case .awaitingHello(let deadline), .doubtingSite(let deadline): next = deadline
    case .open:
      if puller.hasWork || pusher.hasWork { return context.ask(.wake(after: .zero)) }
      next =
        [
          puller.pull.queue.waitsForMemory(isFull) ? context.now + SyncLimits.memoryInterval : nil,
          health.lastReceived + context.configuration.silence, context.lastSent + context.pingInterval,
          health.stallDeadlines(context.configuration.stall).min(), health.lifeDeadline,
          puller.announcements.time, puller.bulk.time, puller.checkpointTime, pusher.markTime,
          pusher.server.waitsUntil, statements.deadline, presence.asksAt,
        ].compactMap { $0 }.min() ?? context.now
    }
    if let wakeAt, wakeAt <= next { return }
    wakeAt = next
    context.ask(.wake(after: max(next - context.now, .milliseconds(1))))
  }

  /// Ends the session, and sends the peer the reason unless the peer ended it.
  private func fail(_ error: SyncError) {
    if case .open = state { puller.saveLastCheckpoint() }
    statements.cancel()
    if !isEndedByPeer {
      let site = siteForRefusal
      context.send(.bye) { out in
        out.writeString(error.code.rawValue)
        out.writeString(error.code == .storage ? "The store failed" : error.message)
        if let site { out.write(site) }
      }
    }
    enter(.closed(error))
    leaveMesh()
    context.ask(.close(error))
  }

  /// Opens the session, now that both hellos have been exchanged.
  func open(with peer: PeerInfo) throws(SyncError) {
    context.peer = peer
    enter(.open)
    context.shared.pulls.join(id, now: context.now)
    context.shared.encoding.join(id)
    context.shared.leaves.join(id)
    context.report(.connected(peer))
    revocations.open()
    presence.open()
    // Send this first, so that the sender knows the staged data before it sends anything.
    try puller.pull.queue.assembly.sendStaged()
    try puller.begin(Interest(queries))
  }

  // MARK: - Time

  /// Closes the session after timeouts, and sends a ping on a quiet link.
  private func checkTime(_ now: Duration) throws(SyncError) {
    switch state {
    case .idle, .met, .closed: return
    case .awaitingHello(let deadline), .doubtingSite(let deadline):
      guard now < deadline else { throw SyncError(.timeout, "The peer did not say hello in time") }
    case .open:
      // While this end holds the peer back, its silence does not count.
      if isHolding { health.lastReceived = now }
      try health.check(
        silence: context.configuration.silence, patience: context.configuration.stall, now: now)
      statements.checkTime(now)
      presence.checkTime(now)
      if try pusher.queue.rest(now) { pusher.sender.batch.rest() }
      if let deadline = health.lifeDeadline, now >= deadline, health.endProbe() {
        context.ask(.admission(.isAlive(false)))
      }
      if now - context.lastSent >= context.pingInterval, !SyncDefect.pingNotSent.isPlanted { ping() }
    }
  }

  private func ping() {
    let nonce = context.configuration.random()
    context.send(.ping) { $0.writeFixed(nonce) }
  }

  /// Probes whether the peer is alive.
  ///
  /// Any bytes count, and a ping makes sure that the peer has something to answer.
  ///
  /// - Parameters:
  ///   - patience: The minimum time to answer; four round trips if these take longer.
  ///   - now: The time.
  /// - Returns: Actions; ``AdmissionAction/isAlive(_:)`` follows later.
  package func askForSignOfLife(within patience: Duration, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state, health.lifeDeadline == nil else { return }
      health.probe(until: now + max(patience, (context.roundTrip.shortest ?? .zero) * 4))
      ping()
    }
  }

  /// Records whether the peer acknowledges and answers.
  private func noteProgress() {
    let window = pusher.queue.window
    health.note(
      acknowledged: window.acknowledged.wireBytes, isSending: !isHolding && window.wireBytesInFlight > 0,
      answers: puller.answers, isPulling: !isHolding && puller.isWaitingForPeer, asked: context.askedBytes,
      now: context.now)
  }

  // MARK: - Other sessions of the store

  /// Requests announced documents that did not arrive, and publishes this session's progress to the others.
  func lookAtAnnouncements() throws(SyncError) {
    try pusher.owe(puller.processNotices(), isTransaction: false)
    try pusher.owe(puller.announcements.look(), isTransaction: false)
    context.shared.pulls.note(
      id, roundTrip: context.roundTrip.shortest, progressedAt: puller.pull.queue.progressedAt,
      isApplying: !puller.pull.queue.isApplied, promise: puller.promise)
    puller.bulk.note()
  }

  /// Leaves the shared schedulers, and wakes the sessions that waited for this one.
  func leaveMesh() {
    let waiting = context.shared.leave(id)
    if !waiting.isEmpty { context.ask(.nudge(waiting)) }
  }
}
