import DocStore
import Links
import NIOConcurrencyHelpers
import SyncProtocol

/// A session and the state that belongs to its turns.
// SAFETY: only the caller that holds the inbox's turn uses it. The turn passes from thread to thread through
// locks.
final class SessionTurn: @unchecked Sendable {
  let session: Session
  /// Whether the session has work beyond the step that it was called for.
  var wantsMore = false
  /// The time that its steps on worker threads have used.
  var spent = SpentTime()
  /// The number of the subscriptions that the session knows.
  var subscriptionsNumber: UInt64 = 0

  init(_ session: Session) { self.session = session }
}

/// The thread on which a turn runs.
enum TurnPlace {
  /// On the link's executor, where a step must be short.
  case loop
  case worker
}

extension SessionDriver {
  /// Runs the turn on the link's executor; for the caller that holds the turn, on any thread.
  func callTurn() { link.executor.execute { [weak self] in self?.takeTurn(.loop) } }

  /// Runs the first turn, on the link's executor.
  func start() {
    // Bytes that arrive at once wait in the inbox, whose turn is held since the driver was made.
    link.attach(self)
    turn.session.stepLength = .prompt
    if perform(turn.session.start(now: setup.clock.now)) { takeTurn(.loop) }
  }

  /// Passes all input to the session, until nothing is left or it ends.
  func takeTurn(_ place: TurnPlace) {
    let session = turn.session
    let clock = setup.clock
    var hasStepped = false
    while true {
      // Commits that take long to match are processed on a worker, where no other link waits for the thread.
      if place == .loop, session.isDear, inbox.hasCommits { return continueOnWorker() }
      session.stepLength = place == .loop ? .prompt : SessionWorkers.isBusy ? .shared : .long
      switch inbox.take(keepingTurn: turn.wantsMore, holdingChunks: session.isHolding) {
      case .input(let input):
        let start = clock.now
        guard feed(input) else { return note(session) }
        if place == .worker { turn.spent.add(clock.now - start, at: start) }
        if !input.chunks.isEmpty, inbox.hasRoom { link.resumeReading() }
      case .nothing: break
      case .turnGiven: return
      }
      guard turn.wantsMore || timer.takeDue() else {
        note(session)
        continue
      }
      if turn.wantsMore, place == .loop || hasStepped {
        note(session)
        // More than a step is left. Other links of this loop, and other sessions, should not wait for it.
        return continueOnWorker()
      }
      turn.wantsMore = false
      hasStepped = true
      let start = clock.now
      guard perform(session.tick(now: start)) else { break }
      if place == .worker { turn.spent.add(clock.now - start, at: start) }
      note(session)
    }
    note(session)
  }

  private func continueOnWorker() {
    SessionWorkers.execute(after: turn.spent.spent) { [weak self] in self?.takeTurn(.worker) }
  }

  private func note(_ session: Session) {
    let (statistics, progress, delivery) = (session.statistics, session.progress, session.delivery)
    let hasAll = session.hasAllOfPeer
    let isNews = figures.withLockedValue { figures in
      figures.statistics = statistics
      return figures.take(progress, delivery, turn.subscriptionsNumber, hasAll: hasAll)
    }
    if isNews { setup.bell.ring() }
  }

  /// Passes everything in `input` to the session, including bytes that the link received before it broke.
  ///
  /// - Returns: Whether the session goes on.
  private func feed(_ input: SessionInbox.Input) -> Bool {
    let (session, clock) = (turn.session, setup.clock)
    if input.cancelled {
      end(.link(.cancelled))
      return false
    }
    if let lost = input.lostThrough {
      guard perform(session.lostCommits(through: lost, now: clock.now)) else { return false }
    }
    // These come before the admission, so that they are what the session sends first.
    for message in input.revocations {
      guard perform(session.sendRevocations(message, now: clock.now)) else { return false }
    }
    if let access = input.admitted {
      guard perform(session.admit(access, now: clock.now)) else { return false }
    }
    var told = 0
    for (count, queries) in input.subscriptions {
      guard tell(input.commits[told..<count]), perform(session.subscriptionsChanged(queries, now: clock.now))
      else { return false }
      told = count
      turn.subscriptionsNumber = input.subscriptionsNumber
    }
    guard tell(input.commits[told...]) else { return false }
    for batch in input.applied {
      let actions = session.applied(batch.ticket, batch.result, now: clock.now)
      guard perform(actions) else { return false }
    }
    for piece in input.packed {
      guard perform(session.packed(piece, now: clock.now)) else { return false }
    }
    if input.policyChanged {
      guard perform(session.policyChanged(now: clock.now)) else { return false }
    }
    if input.nudged {
      guard perform(session.nudged(now: clock.now)) else { return false }
    }
    guard feed(input.chunks) else { return false }
    for question in input.questions {
      guard perform(tell(question)) else { return false }
    }
    for piece in input.queried {
      guard perform(session.queried(piece, now: clock.now)) else { return false }
    }
    if let own = input.ownPresence {
      guard perform(session.publishPresence(own, now: clock.now)) else { return false }
    }
    if let observes = input.observesPresence {
      guard perform(session.observePresence(observes, now: clock.now)) else { return false }
    }
    if let patience = input.signOfLife {
      guard perform(session.askForSignOfLife(within: patience, now: clock.now)) else { return false }
    }
    if let reason = input.closing, !perform(session.close(reason, now: clock.now)) { return false }
    if let error = input.linkEnd {
      end(.link(error))
      return false
    }
    return true
  }

  /// Passes received bytes to the session, as far as it accepts them now.
  ///
  /// - Returns: Whether the session goes on.
  private func feed(_ chunks: [[UInt8]]) -> Bool {
    guard !chunks.isEmpty else { return true }
    let session = turn.session
    var rest = chunks[...]
    while !session.isHolding, let chunk = rest.popFirst() {
      guard perform(session.receive(chunk, now: setup.clock.now)) else { return false }
    }
    inbox.sawChunks(allBut: rest)
    return true
  }

  /// Passes commits to the session.
  ///
  /// - Returns: Whether the session goes on.
  private func tell(_ commits: ArraySlice<Commit>) -> Bool {
    let (session, clock) = (turn.session, setup.clock)
    guard session.isDear else {
      return commits.batches.allSatisfy { perform(session.committed($0, now: clock.now)) }
    }
    for commit in commits {
      // Matching takes long. A session whose peer is gone would end only after all commits that wait.
      if let reason = inbox.ending {
        end(.link(reason))
        return false
      }
      guard perform(session.committed([commit], now: clock.now)) else { return false }
    }
    return true
  }

  /// Carries out `actions` in their order.
  ///
  /// - Returns: Whether the session goes on.
  private func perform(_ actions: [Action]) -> Bool {
    var pieces: [[UInt8]] = []
    var end: SyncError?
    for action in actions {
      switch action {
      case .send(let bytes): pieces.append(bytes)
      case .apply(let batch): apply(batch)
      case .pack(let job): PackPool.run(job) { [weak self] piece in self?.post { $0.packed.append(piece) } }
      case .close(let error): end = error
      case .event(let event): tell(event)
      case .query(let action): perform(action)
      case .wake(let delay):
        if delay > .zero { timer.wake(after: delay) } else { turn.wantsMore = true }
      case .nudge(let sessions): setup.nudges.nudge(sessions)
      case .admission(let action): tell(action)
      case .presence(let signed): host?.told(signed, in: id)
      }
    }
    if !pieces.isEmpty { link.write(pieces) }
    for message in turn.session.removeRevocations() { host?.heard(revocations: message, in: id) }
    guard let end else { return true }
    self.end(.session(end))
    return false
  }
}

extension Sequence<Commit> {
  /// Batches of small commits.
  ///
  /// The answer to a large commit is sent before the next commit is processed.
  var batches: [[Commit]] {
    var batches: [[Commit]] = []
    var changes = Int.max
    for commit in self {
      if changes >= DriverLimits.batchedChanges {
        batches.append([])
        changes = 0
      }
      batches[batches.count - 1].append(commit)
      changes += commit.changes.count
    }
    return batches
  }
}
