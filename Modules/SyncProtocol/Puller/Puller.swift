import CRDTCore
import DocStore
import QueryEngine

/// The receiving half of a session: owns this peer's interest, finds what is missing, and applies what
/// arrives.
///
/// After a disconnect, the next session resumes from the stored checkpoint. Without a valid one, it
/// reconciles everything.
final class Puller {
  /// The phases of a pull.
  enum Phase: Equatable {
    /// No reconciliation has begun, or there is nothing to reconcile.
    case idle
    /// Range questions are unanswered or waiting to be sent.
    case asking
    /// The sender was asked to resume from a checkpoint; `isRepeated` if the interest was sent before this
    /// request.
    case resuming(SyncCheckpoint, isRepeated: Bool)
    /// The sender resumes from the checkpoint and sends its log through this sequence number.
    case following(through: UInt64)
    /// All questions and requests are sent; the sender has yet to confirm that every answer is sent, and all of them
    /// are applied.
    case settling
    case done
  }

  /// Which collections the next reconciliation compares.
  enum Due: Equatable {
    case nothing
    case collections(Set<TextKey>)
    case everything

    mutating func add(_ collection: String) {
      switch self {
      case .nothing: self = .collections([TextKey(collection)])
      case .collections(let names): self = .collections(names.union([TextKey(collection)]))
      case .everything: break
      }
    }

    mutating func add(_ other: Due) {
      switch other {
      case .nothing: break
      case .collections(let names): for name in names { add(name.text) }
      case .everything: self = .everything
      }
    }
  }

  let context: SessionContext
  var interest = Interest()
  var generation: UInt64 = 0
  var phase = Phase.idle
  var round: UInt64 = 0
  /// What the next reconciliation compares.
  var due = Due.nothing
  var early = EarlyComparison()
  /// Whether the current reconciliation compares every collection.
  var isFullRound = false
  /// Whether the application is still to be notified that this peer has caught up.
  var isCaughtUpDue = false
  /// When documents from the sender were last applied.
  var updatedAt: Duration?
  var tasks = WorkQueue<PullTask>()
  var reconciler = RangeReconciler()

  /// Decides, for each collection, which side sends notices of the documents that it holds.
  private(set) lazy var telling = NoticeExchange(.haves, HaveNotices(self), context)
  var evicted = EvictedDocuments()

  /// Received transactions that are not applied yet.
  let queue: ReceiveQueue
  var following = Following()
  /// How many frames the sender has sent.
  var answers: UInt64 = 0
  /// Returns how many of this peer's transactions the sender has applied, as far as it has said so.
  var seen: () -> UInt64 = { 0 }

  // Lazy push.
  var announced = AnnouncedGroups()
  /// Requests (GRAFT) that the current call has decided to send, one array for each transaction.
  var pulls: [[DocumentWant]] = []
  var bulk = PostponedBulk()
  /// How many transactions in a row were written by the sender and already known to this peer.
  var knownOwnGroups = 0

  /// Returns what the pusher announces to the sender by following this peer's own log.
  var followedLog: (Collection) -> FollowedLog? = { _ in nil }

  init(_ context: SessionContext) {
    self.context = context
    queue = ReceiveQueue(context)
  }

  var hasWork: Bool {
    hasTasks && canAsk || due != .nothing && isRoundAllowed || isBulkDue
  }

  private var canAsk: Bool { reconciler.openCount < context.tuning.rangesInFlight }

  /// Whether there is work that does not depend on an answer from the sender.
  var hasTasks: Bool { reconciler.hasTasks || telling.hasTasks || !tasks.isEmpty }

  var isRoundAllowed: Bool {
    switch phase {
    case .idle, .done: true
    case .asking, .resuming, .following, .settling: false
    }
  }

  /// Returns the digest that this peer computed when it began to compare a range.
  ///
  /// - Returns: `nil` if the interests differ in the collection, or if the digest is older than the commit
  ///   `sequence`.
  func digest(of range: KeyRange, under other: Interest, from sequence: UInt64) -> RangeDigest? {
    guard interest.isSame(as: other, in: range.collection), let digest = reconciler.digest(of: range),
      digest.sequence ?? 0 >= sequence
    else { return nil }
    return digest
  }

  /// Returns whether the sender may learn what this peer holds of a collection: ids, versions, fingerprints.
  func mayTell(_ collection: String) -> Bool { context.gatekeeper?.maySend(collection) ?? false }

  /// Whether everything that the sender has for the current interest is here.
  var isCaughtUp: Bool {
    generation > 0 && !isCaughtUpDue && due == .nothing && !context.unreadable.isAnywhere
      && !context.withheld.isAnywhere
  }

  /// Whether everything that the sender has for the current interest is here, regardless of what this peer
  /// withholds.
  var hasAll: Bool {
    generation > 0 && due == .nothing && (phase == .done || !isCaughtUpDue)
      && !context.unreadable.isAnywhere && context.withheld.byPeer == 0
  }

  /// Whether the puller has yet to begin a reconciliation or to scan its own log, and so sends no notices.
  var isBeginning: Bool {
    switch phase {
    case .idle, .resuming: true
    case .asking, .following, .settling, .done: false
    }
  }

  /// Whether the sender was asked to resume from a checkpoint and has not answered.
  var isResuming: Bool { if case .resuming = phase { true } else { false } }

  /// Whether answers are expected or waiting to be processed.
  var isAsking: Bool { phase == .asking && (reconciler.isWaiting || hasTasks) }

  /// Whether the puller can do nothing before the sender sends something.
  var isWaitingForPeer: Bool {
    guard !queue.hasUnapplied else { return false }
    switch phase {
    case .asking: return reconciler.isWaiting || telling.awaitsAll
    case .settling, .resuming: return true
    case .following: return !hasTasks
    case .idle, .done: return false
    }
  }

  /// Replaces this peer's interest and sends it to the sender.
  ///
  /// Collections with unchanged queries keep their state; the others are compared.
  func subscribe(to interest: Interest) {
    let changed = isAllCompared ? interest.names(changedFrom: self.interest) : nil
    if changed == nil, generation > 0 { early.startAnew() }
    early.change(from: self.interest, to: interest)
    self.interest = interest
    generation += 1
    telling.reset { name in changed?.contains(name) ?? true || !interest.covers(name.text) }
    tasks.removeAll()
    telling.removeTasks()
    reconciler.removeTasks()
    following.interestPrint = interestPrint(interest)
    // A peer that never had an interest does not send an empty one.
    if !interest.isEmpty || generation > 1 { sendInterest(isContinued: changed != nil) }
    phase = .idle
    due = changed.map { .collections($0) } ?? .everything
    isCaughtUpDue = true
  }

  /// Whether the current interest is fully reconciled.
  private var isAllCompared: Bool { phase == .done && due == .nothing && !hasTasks }

  func sendInterest(isContinued: Bool = false) {
    for frame in InterestFrame.frames(
      generation: generation, interest.encodings, isContinued: isContinued)
    {
      context.send(frame)
    }
  }

  /// Returns whether this peer holds a document under its interest.
  func holds(_ change: Change, _ record: Record?) -> Bool {
    interest.matcher(for: change.collection)?.matches(change.id, record) ?? false
  }

  /// Runs pending work until the budget of records is spent, then sends the collected output.
  func work(budget: inout Int) throws(SyncError) {
    if due != .nothing, isRoundAllowed { try beginRound() }
    takeUpBulk()
    try reconciler.work(
      HeldDocuments(self), mostOpen: context.tuning.rangesInFlight, budget: &budget)
    if canAsk { try telling.work(budget: &budget) }
    while budget > 0, canAsk, let task = tasks.removeFirst() { try run(task, budget: &budget) }
    flush()
    if phase == .asking, !hasTasks, !reconciler.isWaiting, bulk.collections.isEmpty, !telling.awaitsAll {
      phase = .settling
      reconciler.forgetDigests()
      context.send(.asked) { $0.writeVarint(round) }
    }
  }

  /// Sends the collected questions, requests (wants) and notices (haves).
  func flush() {
    let output = reconciler.takeOutput()
    if !output.questions.isEmpty {
      context.statistics.roundTrips += 1
      for part in output.questions.pieces(of: 100) { sendQuestions(part) }
    }
    sendWants(output.wants, round: round, isGroup: false)
    sendHaves(output.haves, round: round)
  }

  func sendQuestions(_ questions: ArraySlice<RangeQuestion>) {
    context.send(.compare) { out in
      out.writeVarint(round)
      out.writeVarint(questions.count)
      for question in questions { question.encode(to: &out) }
    }
  }

  func sendWants(_ wants: [DocumentWant], round: UInt64, isGroup: Bool, isGraft: Bool = false) {
    for part in wants.parts(
      of: 48 << 10,
      size: { $0.vector.elements.count * 34 + 64 + $0.id.bytes.count + $0.collection.utf8.count })
    {
      following.asksSent += 1
      let list = WantList(
        round: round, seen: queue.appliedGroups, isGroup: isGroup, isGraft: isGraft, goesOn: isGroup && part.endIndex < wants.endIndex,
        wants: Array(part))
      context.send(.want) { list.encode(to: &$0) }
    }
  }

  func sendHaves(_ haves: [DocumentHave], round: UInt64) {
    for part in haves.parts(
      of: 48 << 10,
      size: { $0.vector.elements.count * 34 + 80 + $0.id.bytes.count + $0.collection.utf8.count })
    {
      following.asksSent += 1
      context.send(.have) {
        DocumentHave.encode(Array(part), round: round, seen: queue.appliedGroups, to: &$0)
      }
    }
  }
}

extension Array {
  /// Returns slices of at most `count` elements.
  func pieces(of count: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
  }

  /// Returns slices whose sizes sum up to about `limit` each.
  func parts(of limit: Int, size: (Element) -> Int) -> [ArraySlice<Element>] {
    var parts: [ArraySlice<Element>] = []
    var start = 0
    var sum = 0
    for (index, element) in enumerated() {
      let bytes = size(element)
      if sum + bytes > limit, index > start {
        parts.append(self[start..<index])
        (start, sum) = (index, 0)
      }
      sum += bytes
    }
    if start < count { parts.append(self[start...]) }
    return parts
  }
}
