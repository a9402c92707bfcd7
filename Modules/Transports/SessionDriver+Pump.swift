import DocStore
import NIOConcurrencyHelpers
import SyncProtocol

extension SessionDriver {
  /// Feeds the session until it or the link ends.
  func pump() async -> SessionEnd {
    let clock = setup.clock
    let session = Session(
      id: id, store: setup.store, gate: setup.gate, configuration: setup.configuration)
    let timer = SessionTimer(clock: clock) { [inbox] in inbox.arrival.signal() }
    defer { timer.cancel() }
    var end = perform(session.start(now: clock.now), timer)
    while end == nil {
      await inbox.arrival.wait()
      if Task.isCancelled { return .link(.cancelled) }
      let input = inbox.take()
      end = feed(input, to: session, timer)
      if end == nil, timer.takeDue() {
        end = perform(session.tick(now: clock.now), timer)
        // A session that has work for long would keep a thread from the tasks that send what it made.
        await Task.yield()
      }
      let statistics = session.statistics
      figures.withLockedValue { $0 = statistics }
    }
    return end ?? .link(.cancelled)
  }

  /// Tells the session everything in `input`; what the link received before it broke still counts.
  private func feed(
    _ input: SessionInbox.Input, to session: Session, _ timer: SessionTimer
  ) -> SessionEnd? {
    let clock = setup.clock
    for commit in input.commits {
      if let end = perform(session.committed(commit, now: clock.now), timer) { return end }
    }
    for batch in input.applied {
      let actions = session.applied(batch.ticket, batch.result, now: clock.now)
      if let end = perform(actions, timer) { return end }
    }
    if let queries = input.subscriptions {
      if let end = perform(session.subscriptionsChanged(queries, now: clock.now), timer) { return end }
    }
    if input.policyChanged, let end = perform(session.policyChanged(now: clock.now), timer) { return end }
    for chunk in input.chunks {
      if let end = perform(session.receive(chunk, now: clock.now), timer) { return end }
    }
    if input.writable, let end = perform(session.writable(now: clock.now), timer) { return end }
    if input.closing, let end = perform(session.close(now: clock.now), timer) { return end }
    return input.linkEnd.map { .link($0) }
  }

  /// Carries out `actions` in their order.
  ///
  /// - Returns: The session's end, when it is over.
  private func perform(_ actions: [Action], _ timer: SessionTimer) -> SessionEnd? {
    var pieces: [[UInt8]] = []
    defer { outbox.append(pieces) }
    for action in actions {
      switch action {
      case .send(let bytes): pieces.append(bytes)
      case .apply(let batch): applying.append(batch)
      case .close(let error): return .session(error)
      case .event(let event): tell(event)
      case .wake(let delay): timer.wake(after: delay)
      }
    }
    return nil
  }

  /// Applies batches in their order, each durable before the session hears of it.
  func applyAll() async {
    while true {
      let batches = await applying.next()
      guard !batches.isEmpty else { return }
      let results: [Result<ApplyOutcome, any Error>]
      do {
        let (outcomes, _) = try await setup.store.write(origin: .session(id)) { transaction in
          try batches.map { try $0.apply(in: transaction) }
        }
        results = outcomes.map { .success($0) }
      } catch {
        results = batches.map { _ in .failure(error) }
      }
      inbox.post { $0.applied += zip(batches, results).map { AppliedBatch(ticket: $0.ticket, result: $1) } }
    }
  }
}
