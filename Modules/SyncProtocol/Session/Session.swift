import CRDTCore
public import DocStore
import Failpoints
public import QueryEngine

/// The sync conversation of two peers, as a pure state machine: bytes and events in, actions out.
///
/// It reads the store it is handed, and nothing else: no clock, no socket, no task. Each call returns what is
/// to be done outside, in order. One caller at a time; it is not `Sendable`, so that an actor or a task owns it.
///
/// What a driver must do is in `Documentation/DrivingSync.md`, with a whole driver. The times that it hands to the sessions
/// of one store are of one clock, which never goes back.
///
/// The two directions are independent: the `Puller` pulls what this peer subscribes to, the `Pusher` answers
/// the other peer.
public final class Session {
  /// Where the conversation stands.
  enum State {
    case idle
    case awaitingHello(deadline: Duration)
    /// The peer has said hello, and the driver has not decided yet whether the session goes on.
    case met(Hello, PeerInfo)
    /// The peer has this store's site: whether it is a twin or this very process is being asked.
    case doubtingSite(deadline: Duration)
    case open
    case closed(SyncError)
  }

  /// Names the session in the origin of the commits that it has applied.
  public let id: UInt64
  let context: SessionContext
  let puller: Puller
  let pusher: Pusher
  let statements: RemoteStatements
  let presence: PresenceExchange
  var state = State.idle
  var input = FrameBuffer()
  var backlog = InputBacklog()
  /// Where in the peer's stream the next frame begins.
  var inputOffset = 0
  /// Where in it the payload of the frame began that was looked at last: that of the interest which is taken apart.
  var draftOffset = 0
  var sending = StallWatch()
  var pulling = StallWatch()
  var lastReceived: Duration = .zero
  /// When this peer said hello.
  var startedAt: Duration = .zero
  /// The highest reading that this peer knew when it said hello, as it said there.
  var highestTold: ClockReading?
  private var queries: [SubscriptionQuery] = []
  /// When the driver will call, whatever happens.
  private var wakeAt: Duration?
  private var answeredPings = 0
  /// Whether the peer has said why it ends the session, and so need not be told.
  var isEndedByPeer = false
  var admission = Admission()
  /// What the peer is told of this one and whether it is asked about itself, once the peers have met.
  var ownPresence: SignedPresence?
  var observesPresence = false

  /// Prepares a session; nothing happens before ``start(now:)``.
  ///
  /// - Parameters:
  ///   - id: A number that no other session of the store has had since it was opened.
  ///   - store: Read by the session; written only through ``Action/apply(_:)``.
  ///   - gate: Asked for everything that leaves or enters.
  ///   - shared: The same for all sessions of the store.
  ///   - configuration: What this peer is.
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
      context, ownInterest: { puller.interest.matcher(for: $0) },
      ownDigest: { puller.digest(of: $0, under: $1, from: $2) })
    statements = RemoteStatements(context)
    presence = PresenceExchange(context)
    let pusher = pusher
    puller.followedLog = { [unowned pusher] in pusher.followedLog(of: $0) }
  }

  deinit { _ = context.shared.leave(id) }

  /// What the session has moved so far.
  public var statistics: SyncStatistics { context.statistics }

  /// Takes leave to answer a ping: as many go out as bytes and time call for, since who sends pings may read nothing.
  func mayAnswerPing() -> Bool {
    let earned =
      SyncLimits.pingsAtOnce + Int(context.statistics.bytesReceived) / SyncLimits.bytesPerPing
      + Int((context.now - startedAt) / SyncLimits.timePerPing)
    guard answeredPings < earned else { return false }
    answeredPings += 1
    return true
  }

  /// How far both directions have come.
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

  /// Who the other peer is, once it has said so.
  public var peer: PeerInfo? { context.peer }

  /// Whether the session is over.
  public var isClosed: Bool {
    if case .closed = state { true } else { false }
  }

  /// Evaluation of a document that costs more records than this takes too long for a thread that others share.
  private static let dearVisits = 16

  /// Whether telling the session of a commit takes long, as the peer's conditions are many or dear.
  package var isDear: Bool { pusher.interest.visitCost > Self.dearVisits }

  /// How long each call may take.
  package var stepLength: StepLength {
    get { context.stepLength }
    set { context.stepLength = newValue }
  }

  /// Says hello, unless the peer has to say it first.
  public func start(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .idle = state else { return }
      lastReceived = now
      startedAt = now
      state = .awaitingHello(deadline: now + context.configuration.helloDeadline)
      if !context.configuration.isIncoming { try sendHello() }
    }
  }

  /// Takes the next bytes of the peer's stream, cut anywhere.
  public func receive(_ bytes: [UInt8], now: Duration) -> [Action] { receive(bytes.span.bytes, now: now) }

  /// Takes the next bytes of the peer's stream, cut anywhere, in place.
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

  /// Takes note of commits of the store, whatever their origin: each once, in order.
  ///
  /// Commits from before ``start(now:)`` need not be told, if the session is told of all later ones.
  public func committed(_ commits: [Commit], now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      for commit in commits {
        let sent = try pusher.committed(commit) { puller.holds($0, $0.after) }
        try puller.committed(commit) { $0 < sent.count && sent[$0] }
      }
    }
  }

  /// Records that commits were not told: their changes are found in the store's log, or by reconciliation.
  ///
  /// A driver that cannot keep up drops the commits that wait. It calls this before it tells the next commit, so that memory
  /// stays bounded and nothing is lost.
  ///
  /// - Parameters:
  ///   - sequence: The sequence of the last commit that was dropped. A commit that was told before has no effect here.
  ///   - now: The time.
  /// - Returns: Actions.
  public func lostCommits(through sequence: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      try pusher.lostCommits(through: sequence)
    }
  }

  /// Takes what applying a batch came to.
  public func applied(_ ticket: UInt64, _ result: Result<ApplyOutcome, any Error>, now: Duration) -> [Action]
  {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      let (owed, begun) = try puller.applied(ticket, result)
      try pusher.noteMerged(owed)
      pusher.owe(owed.map { DocumentRequest($0, begunWith: begun) }, isGroup: true)
    }
  }

  /// Takes what packing a piece came to.
  public func packed(_ piece: PackedPiece, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return }
      try pusher.queue.take(piece)
    }
  }

  /// Takes note that the gate's answers have changed: what was withheld may flow now.
  public func policyChanged(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in try noteUpdatedPolicy() }
  }

  /// Lets time pass: call it after each ``Action/wake(after:)``, and whenever it suits.
  public func tick(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in try checkTime(now) }
  }

  /// Looks again at what waits for other sessions of the store, one of which has come to something.
  public func nudged(now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      puller.announced.hurry(now: now)
      puller.hurryBulk()
    }
  }

  /// Takes note that the link has room again.
  public func writable(now: Duration) -> [Action] { step(now) { () throws(SyncError) in } }

  /// Ends the session with a word to the peer.
  public func close(_ reason: SyncError = .closedHere, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in throw reason }
  }

  /// Runs one input, then whatever work it made possible.
  func step(_ now: Duration, _ body: () throws(SyncError) -> Void) -> [Action] {
    guard begin(now) else { return [] }
    do throws(SyncError) {
      try body()
    } catch {
      return finish(error)
    }
    return finish(nil)
  }

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
    if pusher.isDrained { try puller.askAgain() }
    let wasAsking = puller.isAsking
    try puller.work(budget: &budget)
    if pusher.isDrained {
      puller.noteDrained()
      pusher.noteTold()
    }
    puller.noteFollowed()
    try puller.applyNext()
    try puller.queue.checkHold()
    puller.queue.noteHeld()
    try pusher.checkAsked(beside: statements.waitingBytes + puller.telling.heldBytes)
    puller.saveCursor()
    pusher.isApplying = puller.queue.isApplying
    // What was asked just now leaves when this call is over.
    pusher.isAsking = wasAsking || puller.isAsking
    if puller.queue.isQuiet { pusher.noteQuiet() }
    // At least so many that what a step costs by itself does not count.
    var visits = max(budget / pusher.interest.visitCost, min(budget, 16))
    try pusher.work(budget: &visits)
    pusher.isAsking = puller.isAsking
    pusher.noteConfirmed()
    puller.letGo()
    if let place = pusher.log.fellBehindAt {
      pusher.log.fellBehindAt = nil
      puller.tellAgain(after: place)
    }
    context.tellWithheld()
    // What kept this peer from being caught up may have been kept back here.
    puller.tellCaughtUp()
    puller.tellSettled()
    statements.work(pieceBytes: pusher.queue.window.pieceBytes(LinkTurns.pieceSpan))
    context.shared.memory.noteAnswers(statements.waitingBytes, of: id)
    puller.queue.sendAcknowledgement()
    noteProgress()
  }

  private func noteUpdatedPolicy() throws(SyncError) {
    guard !context.isPolicyCurrent else { return }
    context.notePolicy()
    guard !SyncDefect.policyChangeIgnored.isPlanted else { return }
    guard case .open = state else { return }
    pusher.revoke()
    // A change that waits may have been followed by one that was withheld: what is here now is compared.
    pusher.dropLive()
    pusher.renew()
    puller.resetTelling()
    puller.renew()
  }

  /// Asks to be called again: at once while there is work, else when time matters next.
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
          puller.queue.waitsForMemory(isFull) ? context.now + SyncLimits.memoryInterval : nil,
          lastReceived + context.configuration.silence, context.lastSent + context.pingInterval,
          sending.deadline(context.configuration.stall), pulling.deadline(context.configuration.stall),
          puller.announcementsTime, puller.bulkTime, puller.cursorTime, pusher.markTime,
          pusher.waitsUntil, statements.deadline, presence.asksAt, admission.lifeDeadline,
        ].compactMap { $0 }.min() ?? context.now
    }
    if let wakeAt, wakeAt <= next { return }
    wakeAt = next
    context.ask(.wake(after: max(next - context.now, .milliseconds(1))))
  }

  /// Ends the session, telling the peer why unless the peer ended it.
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

  /// Begins the conversation proper, now that both sides are known.
  func open(with peer: PeerInfo) throws(SyncError) {
    context.peer = peer
    state = .open
    context.shared.pulls.join(id, now: context.now)
    context.shared.encoding.join(id)
    context.shared.leaves.join(id)
    context.tell(.connected(peer))
    beginPresence()
    // First, so that the sender knows of it whatever it begins with.
    try puller.queue.assembly.tellStaged()
    try puller.begin(Interest(queries))
  }
}
