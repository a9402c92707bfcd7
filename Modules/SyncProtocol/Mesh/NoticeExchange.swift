import CRDTCore
import DocStore
import Failpoints

/// What the two roles of the telling rule (``NoticeHalf``) do differently in a session.
///
/// A receiver sends `have` for documents that it holds. A sender sends `offer` for documents that it stores
/// and that do not match.
protocol NoticeRole {
  associatedtype Notice

  /// What the receiver subscribes to.
  var interest: Interest { get }
  /// Whether the exchange concerns a collection.
  func covers(_ collection: String) -> Bool
  /// Whether the policy lets this side report a collection's documents.
  func isOpen(_ collection: String) -> Bool
  /// Returns about how many documents this side holds.
  func heldCount(of collection: String) throws(SyncError) -> UInt64
  /// Returns the hashes of ids that count as held beside those that a ``HeldScan`` finds.
  func extraHashes(of collection: String) throws(SyncError) -> [UInt64]
  /// Makes a notice of a held document.
  ///
  /// It costs `noticeVisits` visits of records, in addition to the visit that found the document.
  func notice(
    _ cleared: consuming Cleared, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ sites: SiteTable
  ) throws -> Notice
  var noticeVisits: Int { get }
  /// Returns notices of documents in their current state.
  func notices(of ids: ArraySlice<DocumentID>, in collection: String) throws(SyncError) -> [Notice]
  /// Sends notices.
  func send(_ notices: [Notice])
}

/// One role's half of the telling rule in a session: it performs the steps that the rule asks for.
final class NoticeExchange<Role: NoticeRole> {
  private let context: SessionContext
  private let own: NoticeHalf.Role
  private let role: Role
  private var halves: NoticeHalves
  private var tasks = WorkQueue<NoticeTask>()

  init(_ own: NoticeHalf.Role, _ role: Role, _ context: SessionContext) {
    (self.context, self.own, self.role) = (context, own, role)
    halves = NoticeHalves(own, context.tuning)
  }

  /// Whether a notice that the other side must get waits for that side's filter.
  var isWaiting: Bool { halves.isWaiting }
  /// Whether all held documents of a collection wait for the other side.
  var awaitsAll: Bool { halves.awaitsAll }
  var hasTasks: Bool { !tasks.isEmpty }
  var taskCount: Int { tasks.count }
  var waitingCount: Int { halves.waitingCount }
  /// Bytes of all filters in memory.
  var filterBytes: Int { halves.filterBytes }
  /// Approximate memory of all filters and ids.
  var heldBytes: Int { halves.heldBytes }

  /// Whether this side reports everything that it holds, since the other side relies on it.
  func isLeading(_ collection: String) -> Bool { halves[collection].isLeading }

  // MARK: - Events

  /// Decides whether to report a document that is new here.
  func reports(event id: DocumentID, of collection: String) throws(SyncError) -> Bool {
    let verdict = halves[collection].receive(event: id)
    try perform(verdict.steps, collection)
    return verdict.reports
  }

  /// Records that the other side has reported a document.
  func receive(reported id: DocumentID, of collection: String) {
    halves[collection].receive(reported: IDFilter.hash(id))
  }

  /// Decides whether to report individually the documents that a reconciliation left over.
  func reportsOneByOne(
    _ leftovers: UInt64, of collection: String, facing others: UInt64
  ) throws(SyncError) -> Bool {
    switch halves[collection].receive(leftovers: leftovers, facing: others) {
    case .report: return true
    case .all(let steps):
      try perform(steps, collection)
      return false
    }
  }

  /// Receives the other side's request for a filter of what this side holds.
  func receive(_ ask: FilterAsk) throws(SyncError) {
    if own == .offers, context.access.partialRule(of: ask.collection) != nil {
      // A filter could have no compacted tombstones. So the other side goes on reporting what it holds.
      return send(.refused(role: own.other, number: ask.number, ask.collection, price: ReadRule.statedCount))
    }
    let isOpen = role.isOpen(ask.collection)
    let held = try heldCount(of: ask.collection, orIfPartial: ReadRule.statedCount)
    if isOpen, !halves.mayMakeFilter(ofAtMost: held, now: context.now) {
      return send(.refused(role: own.other, number: ask.number, ask.collection, price: 0))
    }
    try perform(halves[ask.collection].receive(ask: ask, isOpen: isOpen), ask.collection)
  }

  /// Receives a chunk of the other side's filter, or its refusal to send one.
  ///
  /// With the filter, the other side reports everything that it holds. This side reports only documents that
  /// the filter contains.
  func receive(_ frame: FilterFrame) throws(SyncError) {
    let collection = frame.collection
    guard role.covers(collection) else { return }
    switch frame.body {
    case .chunk(let chunk):
      let held = try heldCount(of: collection, orIfPartial: ReadRule.statedCount)
      let room = context.filterRoom(halves)
      try perform(
        halves[collection].receive(chunk, number: frame.number, held: held, room: room), collection)
    case .refused(let price):
      let held = try heldCount(of: collection, orIfPartial: 0)
      try perform(halves[collection].receive(refusal: price, number: frame.number, held: held), collection)
    }
  }

  /// Starts over in some collections; reconciliation covers what was reported before.
  func reset(where isChanged: (TextKey) -> Bool = { _ in true }) {
    for (collection, number) in halves.reset(where: isChanged) {
      send(.refused(role: own.other, number: number, collection, price: 0))
    }
  }

  /// Drops the tasks that wait.
  func removeTasks() { tasks.removeAll() }

  /// Returns about how many documents this side holds, or another number if the other side may read only some
  /// of them.
  ///
  /// What this side asks for and refuses depends on it, and so must not depend on the others.
  private func heldCount(of collection: String, orIfPartial count: UInt64) throws(SyncError) -> UInt64 {
    context.access.partialRule(of: collection) == nil ? try role.heldCount(of: collection) : count
  }

  private func send(_ frame: FilterFrame) { context.send(.filter) { frame.encode(to: &$0) } }

  // MARK: - Steps

  private func perform(_ steps: [NoticeHalf.Step], _ collection: String) throws(SyncError) {
    for step in steps {
      switch step {
      case .report(let ids): tasks.append(.report(collection, ids[...]))
      case .reportAll: tasks.append(.reportHeld(HeldScan(own, collection), number: nil, found: []))
      case .lookAtAll(let number):
        SyncPoint.lookedAtAll.reached()
        tasks.append(.reportHeld(HeldScan(own, collection), number: number, found: []))
      case .count(let number): tasks.append(.count(HeldScan(own, collection), 0, number: number))
      case .fill(let number, let size):
        tasks.append(.fill(HeldScan(own, collection), IDFilter(byteCount: size.byteCount), number: number))
      case .ask(let number, let spent):
        let count = try heldCount(of: collection, orIfPartial: ReadRule.statedCount)
        guard let cleared = context.gatekeeper?.clear(gathered: collection) else { continue }
        let ask = FilterAsk(cleared, role: own, number: number, count: count, spent: spent)
        context.send(.filterWanted) { ask.encode(to: &$0) }
      case .answerNothing(let number): send(.nothing(role: own.other, number: number, collection))
      case .refuse(let number, let price):
        send(.refused(role: own.other, number: number, collection, price: price))
      }
    }
  }

  /// Performs the next steps that take long, within the budget of records.
  func work(budget: inout Int) throws(SyncError) {
    while budget > 0, let task = tasks.removeFirst() { try run(task, budget: &budget) }
  }

  private func run(_ task: NoticeTask, budget: inout Int) throws(SyncError) {
    switch task {
    case .count(let scan, let count, let number):
      try self.count(scan, from: count, number: number, budget: &budget)
    case .fill(let scan, let filter, let number): try fill(scan, filter, number: number, budget: &budget)
    case .report(let collection, let ids):
      let now = ids.prefix(max(budget / 8, 1))
      budget -= now.count * 8
      if role.covers(collection) { role.send(try role.notices(of: now, in: collection)) }
      let rest = ids.dropFirst(now.count)
      if !rest.isEmpty { tasks.prepend(.report(collection, rest)) }
    case .reportHeld(let scan, let number, let found):
      try context.access.partialRule(of: scan.collection) == nil
        ? reportHeld(scan, number: number, budget: &budget)
        : reportReadable(scan, number: number, after: found, budget: &budget)
    }
  }

  private func count(
    _ scan: HeldScan, from count: UInt64, number: UInt64, budget: inout Int
  ) throws(SyncError) {
    guard halves[scan.collection].makes(number) else { return }
    var (scan, count) = (scan, count)
    try context.step(&scan, role.interest, budget: &budget) { _, _, _, _ in
      count += 1
    } certificate: { _ in
      count += 1
    }
    guard scan.isDone else { return tasks.prepend(.count(scan, count, number: number)) }
    let all = count.adding(UInt64(try role.extraHashes(of: scan.collection).count))
    let room = context.filterRoom(halves)
    try perform(halves[scan.collection].receive(count: all, number: number, room: room), scan.collection)
  }

  private func fill(
    _ scan: HeldScan, _ filter: IDFilter, number: UInt64, budget: inout Int
  ) throws(SyncError) {
    guard halves[scan.collection].makes(number) else { return }
    var (scan, filter) = (scan, filter)
    let deniesSome = own == .haves && SyncDefect.filterDenies.isPlanted
    try context.step(&scan, role.interest, budget: &budget) { id, _, _, _ in
      let hash = IDFilter.hash(id)
      if !deniesSome || hash & 1 != 0 { filter.insert(hash) }
    } certificate: {
      filter.insert($0)
    }
    guard scan.isDone else { return tasks.prepend(.fill(scan, filter, number: number)) }
    for hash in try role.extraHashes(of: scan.collection) { filter.insert(hash) }
    if let cleared = context.gatekeeper?.clear(gathered: scan.collection) {
      for frame in FilterFrame.frames(cleared, role: own.other, number: number, filter) { send(frame) }
    } else {
      try perform([halves[scan.collection].closed(number: number)], scan.collection)
    }
    try perform(halves[scan.collection].finishFilter(number), scan.collection)
  }

  private func reportHeld(_ scan: HeldScan, number: UInt64?, budget: inout Int) throws(SyncError) {
    var scan = scan
    let (collection, gatekeeper, role) = (scan.collection, context.gatekeeper, role)
    let half = halves[collection]
    if let number, !half.looks(under: number) { return }
    let known = try context.read { try $0.collection(collection) }
    var notices: [Role.Notice] = []
    var left = budget
    try context.step(&scan, role.interest, budget: &budget) { id, summary, record, sites in
      guard number == nil || half.reports(IDFilter.hash(id)), let known,
        let cleared = gatekeeper?.clear(known, id, record)
      else { return }
      notices.append(try role.notice(cleared, id, summary, record, sites))
      left -= role.noticeVisits
    }
    budget = min(budget, left)
    role.send(notices)
    guard scan.isDone else { return tasks.prepend(.reportHeld(scan, number: number, found: [])) }
    if let number { halves[collection].finishLook(under: number) }
  }

  /// Reports held documents to another side that may not read all of them.
  ///
  /// Notices are sent once they fill a frame, and not at the end of each call: where a call ends depends on
  /// the other documents. Their states are looked up then, since a call can be long after the one before.
  private func reportReadable(
    _ scan: HeldScan, number: UInt64?, after found: [DocumentID], budget: inout Int
  ) throws(SyncError) {
    var (scan, found) = (scan, found)
    let (collection, gatekeeper, visits) = (scan.collection, context.gatekeeper, role.noticeVisits)
    let half = halves[collection]
    if let number, !half.looks(under: number) { return }
    guard let known = try context.read({ try $0.collection(collection) }) else { return }
    var left = budget
    try context.step(&scan, role.interest, budget: &budget) { id, _, record, _ in
      guard number == nil || half.reports(IDFilter.hash(id)), gatekeeper?.mayRead(known, id, record) ?? false
      else { return }
      found.append(DocumentID(trusted: id.copied))
      left -= 1 + visits
    }
    budget = min(budget, left)
    while found.count >= SyncLimits.cutNotices || scan.isDone && !found.isEmpty {
      let now = found.prefix(SyncLimits.cutNotices)
      role.send(try role.notices(of: now, in: collection))
      found.removeFirst(now.count)
    }
    guard scan.isDone else { return tasks.prepend(.reportHeld(scan, number: number, found: found)) }
    if let number { halves[collection].finishLook(under: number) }
  }
}
