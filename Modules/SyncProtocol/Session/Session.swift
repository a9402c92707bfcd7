import CRDTCore
public import DocStore
import Failpoints
public import QueryEngine

/// The sync conversation of two peers, as a pure state machine: bytes and events in, actions out.
///
/// It reads the store that it is given, and has no clock, socket or task of its own. Each call returns the
/// actions to perform, in order. The type is not `Sendable`: one actor or task owns it and makes one call at a
/// time.
///
/// `Documentation/DrivingSync.md` lists what a driver must do and has a complete driver. All sessions of a store
/// must get their times from one monotonic clock.
///
/// The two directions are independent: the `Puller` pulls what this peer subscribes to, and the `Pusher` serves
/// the other peer.
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
  }

  /// Identifies the session in the origin of the commits that it applies.
  public let id: UInt64
  let context: SessionContext
  let puller: Puller
  let pusher: Pusher
  let statements: RemoteStatements
  let presence: PresenceExchange
  var state = State.idle
  var input = FrameBuffer()
  var backlog = InputBacklog()
  /// The offset of the next frame in the peer's stream.
  var inputOffset = 0
  /// The offset of the payload of the last parsed frame; errors in a queued interest refer to it.
  var draftOffset = 0
  var sending = StallWatch()
  var pulling = StallWatch()
  var lastReceived: Duration = .zero
  /// When this session started.
  var startedAt: Duration = .zero
  /// The highest HLC timestamp that this peer sent in its hello.
  var highestTold: ClockReading?
  private var queries: [SubscriptionQuery] = []
  /// When the pending wake-up is due.
  private var wakeAt: Duration?
  private var answeredPings = 0
  /// Whether the peer has ended the session with a reason, so that it needs no `bye`.
  var isEndedByPeer = false
  var admission = Admission()
  /// The presence that this peer publishes, and whether it requests the other's, once the session is open.
  var ownPresence: SignedPresence?
  var observesPresence = false

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
    let pusher = pusher
    puller.announcements.followedLog = { [unowned pusher] in pusher.feed.followedLog(of: $0) }
    puller.pull.seen = { [unowned pusher] in pusher.queue.window.acknowledged.groups }
  }

  deinit { _ = context.shared.leave(id) }

  /// What the session has transferred so far.
  public var statistics: SyncStatistics { context.statistics }

  /// Reserves the answer to one ping.
  ///
  /// Answers are limited by received bytes and elapsed time, since a peer that sends pings may read nothing.
  func mayAnswerPing() -> Bool {
    let earned =
      SyncLimits.pingsAtOnce + Int(context.statistics.bytesReceived) / SyncLimits.bytesPerPing
      + Int((context.now - startedAt) / SyncLimits.timePerPing)
    guard answeredPings < earned else { return false }
    answeredPings += 1
    return true
  }

  /// The progress of both directions.
  public var progress: SyncProgress {
    var progress = SyncProgress()
    progress.confirmedSequence = pusher.confirmedSequence
    progress.isCaughtUp = puller.isCaughtUp
    progress.lastUpdate = puller.updatedAt
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
      lastReceived = now
      startedAt = now
      state = .awaitingHello(deadline: now + context.configuration.helloDeadline)
      if !context.configuration.isIncoming { try sendHello() }
    }
  }

  /// Processes the next bytes of the peer's stream, split anywhere.
  public func receive(_ bytes: [UInt8], now: Duration) -> [Action] { receive(bytes.span.bytes, now: now) }

  /// Processes the next bytes of the peer's stream in place, split anywhere.
  public func receive(_ bytes: RawSpan, now: Duration) -> [Action] {
    guard begin(now) else { return [] }
    lastReceived = now
    context.statistics.bytesReceived += UInt64(bytes.byteCount)
    do throws(SyncError) {
      try take(bytes)
      noteSignOfLife()
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
  /// A driver that cannot keep up drops the waiting commits, and calls this before it passes the next commit. Memory
  /// stays bounded, and no change is lost.
  ///
  /// - Parameters:
  ///   - sequence: The sequence of the last dropped commit; a commit that the session has already received has no
  ///     effect.
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
      try pusher.sender.noteMerged(owed)
      pusher.owe(owed.map { DocumentRequest($0, seen: seen) }, isGroup: true)
    }
  }

  /// Processes a packed chunk.
  public func packed(_ piece: PackedPiece, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      try pusher.queue.take(piece)
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
      try takeBacklog()
      if case .open = state { try work() }
      arm()
    } catch {
      fail(error)
    }
    return context.takeActions()
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
      pusher.feed.noteTold()
    }
    puller.noteFollowed()
    try puller.applyNext()
    try puller.pull.queue.checkHold()
    puller.pull.queue.noteHeld()
    try pusher.checkAsked(beside: statements.waitingBytes + puller.telling.heldBytes)
    puller.saveCursor()
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
    if let place = pusher.feed.takeFellBehind() { puller.tellAgain(after: place) }
    context.tellWithheld()
    // The puller may have been waiting for what the pusher has just done.
    puller.tellCaughtUp()
    puller.announcements.tellSettled()
    statements.work(pieceBytes: pusher.queue.window.pieceBytes(LinkTurns.pieceSpan))
    context.shared.memory.noteAnswers(statements.waitingBytes, of: id)
    puller.pull.queue.sendAcknowledgement()
    noteProgress()
  }

  private func noteUpdatedPolicy() throws(SyncError) {
    guard !context.isPolicyCurrent else { return }
    context.notePolicy()
    guard !SyncDefect.policyChangeIgnored.isPlanted else { return }
    guard case .open = state else { return }
    pusher.revoke()
    pusher.renew()
    puller.telling.reset()
    puller.renew()
  }

  /// Requests the next wake-up: at once while there is work, else at the earliest deadline.
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
          lastReceived + context.configuration.silence, context.lastSent + context.pingInterval,
          sending.deadline(context.configuration.stall), pulling.deadline(context.configuration.stall),
          puller.announcements.time, puller.bulk.time, puller.cursorTime, pusher.markTime,
          pusher.server.waitsUntil, statements.deadline, presence.asksAt, admission.lifeDeadline,
        ].compactMap { $0 }.min() ?? context.now
    }
    if let wakeAt, wakeAt <= next { return }
    wakeAt = next
    context.ask(.wake(after: max(next - context.now, .milliseconds(1))))
  }

  /// Ends the session, and sends the peer the reason unless the peer ended it.
  private func fail(_ error: SyncError) {
    if case .open = state { puller.saveLastCursor() }
    statements.cancel()
    if !isEndedByPeer {
      let site = siteForRefusal
      context.send(.bye) { out in
        out.writeString(error.code.rawValue)
        out.writeString(error.code == .storage ? "The store failed" : error.message)
        if let site { out.write(site) }
      }
    }
    state = .closed(error)
    leaveMesh()
    context.ask(.close(error))
  }

  /// Opens the session, now that both hellos have been exchanged.
  func open(with peer: PeerInfo) throws(SyncError) {
    context.peer = peer
    state = .open
    context.shared.pulls.join(id, now: context.now)
    context.shared.encoding.join(id)
    context.shared.leaves.join(id)
    context.tell(.connected(peer))
    beginPresence()
    // Send this first, so that the sender knows the staged data before it sends anything.
    try puller.pull.queue.assembly.tellStaged()
    try puller.begin(Interest(queries))
  }
}
