import CRDTCore

/// Statements between peers, presence, and state that tests and the network layer read.
extension Session {
  /// Asks the other peer to run a statement.
  ///
  /// The answer arrives as ``Action/query(_:)``, in any number of pieces. Before the session is open, the
  /// answer is the error `closed`. A closed session returns no actions and ends no question: after
  /// ``Action/close(_:)`` the driver itself has to end the open ones.
  ///
  /// - Parameters:
  ///   - number: Identifies the question; higher than all earlier numbers of this session.
  ///   - question: The statement.
  ///   - now: The time.
  /// - Returns: Actions.
  public func ask(_ number: UInt64, _ question: QueryQuestion, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      guard case .open = state else { return statements.refuse(asked: number) }
      statements.ask(number, question)
    }
  }

  /// Stops a question whose answer is no longer wanted: nothing more arrives for it, not even its end.
  public func stopAsking(_ number: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.stop(number) }
  }

  /// Reports how much of an answer was processed, which lets the other peer send more.
  ///
  /// - Parameters:
  ///   - number: Identifies the question.
  ///   - consumed: The total bytes of its rows that were processed, at most those received; it never
  ///     decreases.
  ///   - now: The time.
  /// - Returns: Actions.
  public func consumedRows(of number: UInt64, through consumed: UInt64, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.grant(number, through: consumed) }
  }

  /// Reports how much of an answer was processed, under the former name of this call.
  ///
  /// - Parameters:
  ///   - number: Identifies the question.
  ///   - consumed: The total bytes of its rows that were processed.
  ///   - now: The time.
  /// - Returns: Actions.
  @available(*, deprecated, renamed: "consumedRows(of:through:now:)")
  public func tookRows(of number: UInt64, through consumed: UInt64, now: Duration) -> [Action] {
    consumedRows(of: number, through: consumed, now: now)
  }

  /// Processes the pieces of a job, in the job's order.
  public func queried(_ piece: QueryJob.Piece, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in statements.receive(piece) }
  }

  /// Cancels all statements that run for the other peer; call it when the link is gone.
  ///
  /// A session that ends does so itself.
  package func cancelQueries() { statements.cancel() }

  // MARK: - Presence

  /// Sets the presence that this peer publishes from now on; the other peer gets it on request.
  package func publishPresence(_ own: SignedPresence, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      presence.publish(own)
    }
  }

  /// Starts or stops observing the other peer's presence, which arrives as ``Action/presence(_:)``.
  package func observePresence(_ observes: Bool, now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in
      presence.observe(observes)
    }
  }

  // MARK: - Revocations

  /// Sends a message about revocations, before all else once the session is open.
  ///
  /// A peer of an earlier release skips it.
  package func sendRevocations(_ message: [UInt8], now: Duration) -> [Action] {
    step(now) { () throws(SyncError) in revocations.send(message) }
  }

  /// The peer's messages about revocations since the last call; take them after each call of the session.
  package func removeRevocations() -> [[UInt8]] { revocations.removeReceived() }

  // MARK: - What the session delivers and holds

  /// Whether this peer has everything that the other peer has for the current subscriptions.
  ///
  /// Documents that this peer withholds do not matter.
  package var hasAllOfPeer: Bool { puller.hasAll }

  /// What is delivered to the peer.
  package var delivery: PeerDelivery {
    var delivery = PeerDelivery()
    delivery.access = context.access
    delivery.servedSequence = pusher.peer.holding.confirmed
    if pusher.peer.generation != nil || pusher.peer.subscribed.isNothing {
      delivery.interest = pusher.peer.interest.encodings
    }
    delivery.withheld = context.withheld
    return delivery
  }

  /// Bytes of the Bloom filters of what the peer holds, including those being built for it.
  package var filterBytes: Int {
    puller.noticeExchange.filterBytes + pusher.offers.noticeExchange.filterBytes
  }

  /// Whether a frame has arrived in part.
  package var isWithinFrame: Bool { !input.isEmpty }

  #if DEBUG || SIMULATION
    /// Calls `watch` with what this session does, for a simulator that sees both ends.
    package func watch(_ watch: @escaping (SessionFact) -> Void) {
      context.watch = watch
      let queue = pusher.queue
      context.counts = { [unowned queue] in (queue.added.count, queue.gone.count) }
    }

    /// Whether this side has lost track of what the peer lacks, and has not reported it.
    package var isLossUnsaid: Bool { pusher.peer.isLossUnsaid }

    /// The states of the session and of its two halves, for the message of a check that fires.
    package var phase: String {
      "\(state.name), pull \(puller.pull.phase), holding \(pusher.peer.holding.state), "
        + "serving \(pusher.peer.reconciliation.phase)"
    }
  #endif

  /// The memory that grows with what peers do.
  package var footprint: SessionFootprint {
    var footprint = SessionFootprint()
    footprint.liveBytes = pusher.feed.live.byteCount
    footprint.waitingBytes = pusher.queue.streamBytes + pusher.queue.waitingTransferBytes
    footprint.unappliedBytes = puller.pull.queue.pendingBytes
    footprint.heldBytes = puller.pull.queue.heldBytes
    footprint.unreadBytes = backlog.byteCount + (input.isWhole ? input.bytes.count : 0)
    footprint.requests = pusher.pendingRequests
    footprint.announcements =
      puller.announcements.documentCount + pusher.feed.announcing.openDocuments
      + puller.pull.queue.noticedDocuments
      + pusher.queue.noticedDocuments + pusher.sender.motion.convergedCount
      + puller.noticeExchange.waitingCount
      + pusher.offers.noticeExchange.waitingCount
    footprint.compared = puller.reconciler.heldCount + pusher.peer.reconciliation.responder.heldCount
    footprint.tasks = puller.pendingTasks + pusher.pendingTasks
    return footprint
  }
}
