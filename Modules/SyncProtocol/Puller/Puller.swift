import CRDTCore
import DocStore
import QueryLanguage

/// The receiving half of a session.
///
/// It owns this peer's interest, finds what is missing, and applies what arrives.
///
/// After a disconnect, the next session resumes from the stored checkpoint. Without a valid one, it
/// reconciles everything.
final class Puller {
  let context: SessionContext
  let pull: PullState
  let announcements: AnnouncementPuller
  let evicted: EvictedDocuments
  let bulk: BulkPulls
  /// Decides, for each collection, which side sends notices of the documents that it holds.
  private(set) lazy var noticeExchange = NoticeExchange(.haves, HaveNotices(self), context)
  var reconciler = RangeReconciler()
  var early = EarlyReconciliation()
  /// Whether the current reconciliation compares every collection.
  var isFullReconciliation = false
  /// Whether the application is still to be notified that this peer has caught up.
  var isCaughtUpDue = false
  /// When documents from the sender were last applied.
  var updatedAt: Duration?
  /// Scans of this peer's own log that take several calls.
  var ownLogScans = WorkQueue<PendingLogScan>()
  var following = Following()
  /// How far the pull has come.
  private(set) var meter = PullMeter()
  /// How many frames the sender has sent.
  private(set) var answers: UInt64 = 0

  init(_ context: SessionContext) {
    self.context = context
    pull = PullState(context)
    announcements = AnnouncementPuller(pull)
    evicted = EvictedDocuments(pull)
    bulk = BulkPulls(pull)
  }

  /// Counts a frame of the sender.
  func countAnswer() { answers += 1 }

  var hasWork: Bool {
    hasTasks && canAsk || pull.due != .nothing && isReconciliationAllowed || bulk.isDue
  }

  private var canAsk: Bool { reconciler.openCount < context.tuning.rangesInFlight }

  /// Whether there is work that does not depend on an answer from the sender.
  var hasTasks: Bool { reconciler.hasTasks || noticeExchange.hasTasks || !ownLogScans.isEmpty }

  var isReconciliationAllowed: Bool {
    switch pull.phase {
    case .idle, .done: true
    case .asking, .resuming, .following, .settling: false
    }
  }

  /// Returns the digest that this peer computed when it began to compare a range.
  ///
  /// - Returns: `nil` if the interests differ in the collection, or if the digest is older than the commit
  ///   `sequence`.
  func digest(of range: KeyRange, under other: Interest, from sequence: UInt64) -> RangeDigest? {
    guard pull.interest.isSame(as: other, in: range.collection), let digest = reconciler.digest(of: range),
      digest.sequence ?? 0 >= sequence
    else { return nil }
    return digest
  }

  /// Whether this peer has everything that the sender has for the current interest.
  var isCaughtUp: Bool {
    pull.generation > 0 && !isCaughtUpDue && pull.due == .nothing && !context.unreadable.isAnywhere
      && !context.withheld.isAnywhere
  }

  /// Whether this peer has everything that the sender has for the current interest.
  ///
  /// Documents that this peer withholds do not matter.
  var hasAll: Bool {
    pull.generation > 0 && pull.due == .nothing && (pull.phase == .done || !isCaughtUpDue)
      && !context.unreadable.isAnywhere && context.withheld.byPeer == 0
  }

  /// Whether the sender was asked to resume from a checkpoint and has not answered.
  var isResuming: Bool { if case .resuming = pull.phase { true } else { false } }

  /// Whether answers are expected or waiting to be processed.
  var isAsking: Bool { pull.phase == .asking && (reconciler.isWaiting || hasTasks) }

  /// Whether the puller can do nothing before the sender sends something.
  var isWaitingForPeer: Bool {
    guard !pull.queue.hasUnapplied else { return false }
    switch pull.phase {
    case .asking: return reconciler.isWaiting || noticeExchange.awaitsAll
    case .settling, .resuming: return true
    case .following: return !hasTasks
    case .idle, .done: return false
    }
  }

  // MARK: - Progress

  /// Records what has arrived, and what is found to be missing.
  func measure() {
    // A peer without subscriptions pulls nothing.
    let isDone = pull.isDone || pull.generation == 0 || pull.interest.isEmpty
    meter.note(
      PullMeter.Reading(
        documents: context.statistics.documentsReceived, bytes: context.statistics.plainBytesReceived,
        found: reconciler.missing, isOpenEnded: reconciler.isOpenEnded,
        isSettling: pull.phase == .settling, isDone: isDone))
  }

  /// Receives the sender's forecast of the current reconciliation.
  func receive(_ forecast: ForecastFrame) {
    guard forecast.reconciliation == pull.reconciliation else { return }
    switch pull.phase {
    case .asking, .settling: meter.receive(forecast)
    case .idle, .resuming, .following, .done: break
    }
  }

  /// Records for the progress that a reconciliation begins.
  func noteReconciliation() { meter.beginReconciliation() }

  /// Replaces this peer's interest and sends it to the sender.
  ///
  /// Collections with unchanged queries keep their state; the others are compared.
  func subscribe(to interest: Interest) {
    let changed = isAllCompared ? interest.names(changedFrom: pull.interest) : nil
    if changed == nil, pull.generation > 0 { early.startAnew() }
    early.change(from: pull.interest, to: interest)
    pull.interest = interest
    pull.generation += 1
    noticeExchange.reset { name in changed?.contains(name) ?? true || !interest.covers(name.text) }
    ownLogScans.removeAll()
    noticeExchange.removeTasks()
    reconciler.removeTasks()
    following.interestHash = interestHash(interest)
    // A peer that never had an interest does not send an empty one.
    if !interest.isEmpty || pull.generation > 1 { sendInterest(isContinued: changed != nil) }
    pull.enter(.idle)
    pull.due = changed.map { .collections($0) } ?? .everything
    isCaughtUpDue = true
  }

  /// Whether the current interest is fully reconciled.
  private var isAllCompared: Bool { pull.phase == .done && pull.due == .nothing && !hasTasks }

  func sendInterest(isContinued: Bool = false) {
    for frame in InterestFrame.frames(
      generation: pull.generation, pull.interest.encodings, isContinued: isContinued)
    {
      context.send(frame)
    }
  }

  /// Returns whether this peer holds a document under its interest.
  func holds(_ change: Change, _ record: Record?) -> Bool {
    pull.interest.matcher(for: change.collection)?.matches(change.id, record) ?? false
  }

  /// Runs pending work until the budget of records is spent, then sends the collected output.
  func work(budget: inout Int) throws(SyncError) {
    if pull.due != .nothing, isReconciliationAllowed { try beginReconciliation() }
    for collection in bulk.removePermitted() { reconciler.compare(collection) }
    try reconciler.work(
      HeldDocuments(self), mostOpen: context.tuning.rangesInFlight, budget: &budget)
    if canAsk { try noticeExchange.work(budget: &budget) }
    while budget > 0, canAsk, let scan = ownLogScans.removeFirst() { try run(scan, budget: &budget) }
    flush()
    if pull.phase == .asking, !hasTasks, !reconciler.isWaiting, bulk.isEmpty, !noticeExchange.awaitsAll {
      pull.enter(.settling)
      reconciler.forgetDigests()
      context.send(.asked) { $0.writeVarint(pull.reconciliation) }
    }
  }

  /// Sends the collected questions, requests (wants) and notices (haves).
  func flush() {
    for output in reconciler.removeOutput(mostOpen: context.tuning.rangesInFlight) {
      if !output.questions.isEmpty {
        context.statistics.roundTrips += 1
        for chunk in output.questions.pieces(of: SyncLimits.cutQuestions) { sendQuestions(chunk) }
      }
      pull.sendWants(output.wants, reconciliation: pull.reconciliation, isTransaction: false)
      pull.sendHaves(output.haves, reconciliation: pull.reconciliation)
    }
  }

  func sendQuestions(_ questions: ArraySlice<RangeQuestion>) {
    context.send(.compare) { out in
      out.writeVarint(pull.reconciliation)
      out.writeVarint(questions.count)
      for question in questions { question.encode(to: &out) }
    }
  }

  /// The number of tasks and requests that wait.
  var pendingTasks: Int {
    ownLogScans.count + noticeExchange.taskCount + reconciler.pendingCount + evicted.count
      + pull.queue.unsettledCount + announcements.pullCount
  }
}

extension Array {
  /// Returns slices of at most `count` elements.
  func pieces(of count: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
  }

  /// Returns slices whose sizes sum up to about `limit` each.
  func chunks(of limit: Int, size: (Element) -> Int) -> [ArraySlice<Element>] {
    var chunks: [ArraySlice<Element>] = []
    var start = 0
    var sum = 0
    for (index, element) in enumerated() {
      let bytes = size(element)
      if sum + bytes > limit, index > start {
        chunks.append(self[start..<index])
        (start, sum) = (index, 0)
      }
      sum += bytes
    }
    if start < count { chunks.append(self[start...]) }
    return chunks
  }
}
