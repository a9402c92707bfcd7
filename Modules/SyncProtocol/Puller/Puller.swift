import CRDTCore
import DocStore
import QueryEngine

/// The receiving half of a session: owns this peer's interest, finds out what is missing, and applies
/// what comes in.
///
/// After a cut the next session goes on from the cursor that is in the store, or compares anew what is here.
final class Puller {
  /// Where the current reconciliation stands.
  enum Phase: Equatable {
    /// None has begun, or there is nothing to reconcile.
    case idle
    /// Questions are open or waiting.
    case asking
    /// The sender was asked to go on from a cursor; perhaps once more, with the interest before it.
    case resuming(SyncCheckpoint, isRepeated: Bool)
    /// It goes on, through this sequence of its own.
    case following(through: UInt64)
    /// All is asked and wanted; the sender is to say when all of it has gone out.
    case settling
    /// The sender has said so; done when this many groups are applied.
    case applying(untilGroup: UInt64)
    case done
  }

  /// How much a reconciliation is to compare.
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
  /// What is to be reconciled next.
  var due = Due.nothing
  /// How many groups are to be applied before that begins.
  var dueAfterGroup: UInt64 = 0
  var early = EarlyComparison()
  /// The current reconciliation compares everything.
  var isFullRound = false
  /// The application is to be told when all is in.
  var isCaughtUpDue = false
  /// When documents of the sender's were last applied.
  var updatedAt: Duration?
  var tasks = WorkQueue<PullTask>()
  var reconciler = RangeReconciler()

  /// Who tells whom of what is held here.
  var telling: Tellings
  /// Offers that came before the groups sent earlier were applied, through the number of one.
  var earlyOffers = Waiting<DocumentOffer, UInt64>()
  var evicted = EvictedDocuments()

  /// What has come of documents and is not applied.
  let queue: ReceiveQueue
  var following = Following()
  /// How many frames of the sender have come.
  var answers: UInt64 = 0

  // What is announced.
  var announced = AnnouncedGroups()
  /// What is asked for of it in this call.
  var pulls: [[DocumentWant]] = []
  var bulk = PostponedBulk()
  /// Groups in a row that the sender wrote and this peer knew.
  var knownOwnGroups = 0

  /// What this peer's other half tells the sender of a collection by announcing it.
  var followedLog: (Collection) -> FollowedLog? = { _ in nil }

  init(_ context: SessionContext) {
    self.context = context
    telling = Tellings(.haves, context.tuning)
    queue = ReceiveQueue(context)
  }

  var hasWork: Bool {
    hasTasks && canAsk || due != .nothing && isRoundAllowed || isBulkDue
  }

  private var canAsk: Bool { reconciler.openCount < context.tuning.rangesInFlight }

  /// Whether there is something to do that does not wait for the sender.
  var hasTasks: Bool { reconciler.hasTasks || !tasks.isEmpty }

  var isRoundAllowed: Bool {
    switch phase {
    case .idle, .done: queue.appliedGroups >= dueAfterGroup
    case .asking, .resuming, .following, .settling, .applying: false
    }
  }

  /// Has a collection compared of which documents may be on their way, as they were before what there is no room to note:
  /// when those are here.
  func compareWhenApplied(_ collection: String) {
    due.add(collection)
    dueAfterGroup = queue.receivedGroups
  }

  /// What this peer saw of a collection when it began to compare it, under the same interest as another; `nil` where
  /// that was before a commit.
  func digest(of range: KeyRange, under other: Interest, from sequence: UInt64) -> RangeDigest? {
    guard interest.isSame(as: other, in: range.collection), let digest = reconciler.digest(of: range),
      digest.sequence ?? 0 >= sequence
    else { return nil }
    return digest
  }

  /// Whether the sender may know what is held here of a collection: ids, vectors, fingerprints.
  func mayTell(_ collection: String) -> Bool { context.gatekeeper?.maySend(collection) ?? false }

  /// Whether all that the sender had for the present interest is here.
  var isCaughtUp: Bool {
    generation > 0 && !isCaughtUpDue && due == .nothing && !context.unreadable.isAnywhere
      && !context.withheld.isAnywhere
  }

  /// Whether all that the sender had for the present interest is here, whatever is kept back in the other direction.
  var hasAll: Bool {
    generation > 0 && due == .nothing && (phase == .done || !isCaughtUpDue)
      && !context.unreadable.isAnywhere && context.withheld.byPeer == 0
  }

  /// Whether all is yet to be compared, or found in this store's log, before anything is told.
  var isBeginning: Bool {
    switch phase {
    case .idle, .resuming: true
    case .asking, .following, .settling, .applying, .done: false
    }
  }

  /// Whether the sender is asked to go on from a place in its log, and has not answered.
  var isResuming: Bool { if case .resuming = phase { true } else { false } }

  /// Whether answers are to come, or to be looked at.
  var isAsking: Bool { phase == .asking && (reconciler.isWaiting || hasTasks) }

  /// Whether nothing can go on here before the sender says something.
  var isWaitingForPeer: Bool {
    guard !queue.hasUnapplied else { return false }
    switch phase {
    case .asking: return reconciler.isWaiting || telling.awaitsAll
    case .settling, .resuming: return true
    case .following: return !hasTasks
    case .idle, .applying, .done: return false
    }
  }

  /// Takes what this peer subscribes to from now on, and tells the sender.
  ///
  /// A collection of which the same is asked for as before goes on as it stands; the others are compared.
  func subscribe(to interest: Interest) {
    let changed = isAllCompared ? interest.names(changedFrom: self.interest) : nil
    if changed == nil, generation > 0 { early.startAnew() }
    early.change(from: self.interest, to: interest)
    self.interest = interest
    generation += 1
    resetTelling { name in changed?.contains(name) ?? true || !interest.covers(name.text) }
    tasks.removeAll()
    reconciler.removeTasks()
    following.interestPrint = interestPrint(interest)
    // Who never asked for anything need not say so.
    if !interest.isEmpty || generation > 1 { sendInterest(isContinued: changed != nil) }
    phase = .idle
    due = changed.map { .collections($0) } ?? .everything
    isCaughtUpDue = true
  }

  /// Whether the sender and this peer have nothing to find out about what is asked for now.
  private var isAllCompared: Bool { phase == .done && due == .nothing && !hasTasks }

  func sendInterest(isContinued: Bool = false) {
    for frame in InterestFrame.frames(
      generation: generation, interest.encodings, isContinued: isContinued)
    {
      context.send(frame)
    }
  }

  /// Whether this peer holds a document under its interest.
  func holds(_ change: Change, _ record: Record?) -> Bool {
    interest.matcher(for: change.collection)?.matches(change.id, record) ?? false
  }

  /// Does what waits, as far as the budget of records goes, then sends what has gathered.
  func work(budget: inout Int) throws(SyncError) {
    if due != .nothing, isRoundAllowed { try beginRound() }
    takeUpBulk()
    try reconciler.work(
      HeldDocuments(self), mostOpen: context.tuning.rangesInFlight, budget: &budget)
    while budget > 0, canAsk, let task = tasks.removeFirst() { try run(task, budget: &budget) }
    flush()
    if phase == .asking, !hasTasks, !reconciler.isWaiting, bulk.collections.isEmpty, !telling.awaitsAll {
      phase = .settling
      reconciler.forgetDigests()
      context.send(.asked) { $0.writeVarint(round) }
    }
  }

  /// Sends what has gathered: questions, wants, haves.
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
        round: round, isGroup: isGroup, isGraft: isGraft, goesOn: isGroup && part.endIndex < wants.endIndex,
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
      context.send(.have) { DocumentHave.encode(Array(part), round: round, to: &$0) }
    }
  }
}

extension Array {
  /// Slices of at most `count` elements.
  func pieces(of count: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
  }

  /// Slices whose sizes sum up to about `limit` each.
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
