import CRDTCore
import Failpoints

/// One end's half of the rule that decides which side sends notices of held documents.
///
/// There is one half per direction and collection, and both ends run the same one. The receiver's half
/// decides about `have` notices of documents that it newly holds under its interest. The sender's half
/// decides about offers of documents that it newly holds and does not send.
///
/// The side with fewer documents leads: it reports all of them. The other side requests a Bloom filter of
/// them, and from then on reports only documents that the leader has reported too. The type takes events and
/// returns steps; it does not know the session. `Tools/models/live_model.md` explains the rule, and
/// `live_model.py` checks it.
struct NoticeHalf {
  enum State {
    /// A notice is sent for each event; both halves begin in this state.
    case reports
    /// A notice is sent for each event, and the other side relies on that.
    case leads
    /// The other side's filter was requested; events wait for it.
    case asked(Asked)
    /// The other side leads: a notice is sent only for documents that it has reported.
    case checks(Checks)

    /// The name of the state, without what it holds.
    var name: String {
      switch self {
      case .reports: "tells"
      case .leads: "leads"
      case .asked: "asked"
      case .checks: "checks"
      }
    }

    /// Whether a state may follow this one; each side may get to lead in each state.
    func mayLead(to next: State) -> Bool {
      switch (self, next) {
      case (_, .leads): true
      case (.reports, .asked), (.leads, .asked), (.checks, .asked): true
      case (.asked, .checks), (.asked, .reports): true
      case (.reports, _), (.leads, _), (.asked, _), (.checks, _): false
      }
    }
  }

  struct Asked {
    /// Whether the other side relies on this one.
    let hasLed: Bool
    var waiting: Set<DocumentID> = []
    /// Approximate memory of the waiting ids.
    var waitingBytes = 0
    var looksAtAll: Bool
    var reported: ReportedDocuments
    /// The bytes of the filter received so far.
    var bytes: [UInt8] = []
    var totalBytes = 0
  }

  struct Checks {
    var reported: ReportedDocuments
    var lookups: UInt64 = 0
    /// How many lookups the filter is good for.
    let room: UInt64
    /// Whether all held documents are being looked up.
    var isLooking: Bool
  }

  /// A filter that the other side has requested.
  private struct Making {
    let number: UInt64
    /// How many documents the other side holds in its role.
    let others: UInt64
    /// The bytes of notices that the other side has sent, or would send.
    let spent: UInt64
    var size: FilterSize?
  }

  private let role: Role
  private let tuning: SyncTuning
  private var state = State.reports
  /// The number of the last request or scan; numbers are never reused.
  private var number: UInt64
  /// Bytes of notices sent since the last change of sides, or that would have been sent.
  private var spent: UInt64 = 0
  /// The value of `spent` at which the other side is asked for its filter.
  private var due: UInt64
  private var making: Making?
  /// A request that arrived while a filter was being built for an earlier one, which has become obsolete.
  private var nextAsk: FilterAsk?

  /// Makes a half whose request numbers are above `number`.
  init(_ role: Role, above number: UInt64, _ tuning: SyncTuning) {
    self.role = role
    self.tuning = tuning
    self.number = number
    due = tuning.notices.freeNotices * role.noticeBytes
  }

  // MARK: - Its state

  /// The last number that was used.
  var lastNumber: UInt64 { number }

  /// Whether the other side may rely on notices from this one.
  var isLeading: Bool {
    switch state {
    case .leads: true
    case .asked(let asked): asked.hasLed
    case .reports, .checks: false
    }
  }

  /// Whether anything waits for the other side's answer.
  var isWaiting: Bool {
    if case .asked(let asked) = state { asked.looksAtAll || !asked.waiting.isEmpty } else { false }
  }

  /// Whether all held documents wait for the other side's answer.
  var awaitsAll: Bool { if case .asked(let asked) = state { asked.looksAtAll } else { false } }

  /// Whether all held documents are looked up in the other side's filter, now or when it arrives.
  var looksAtAll: Bool {
    switch state {
    case .reports, .leads: false
    case .asked(let asked): asked.looksAtAll
    case .checks(let checks): checks.isLooking
    }
  }

  /// Whether the other side's filter is requested.
  var isAsking: Bool { if case .asked = state { true } else { false } }

  /// Whether notices are sent only for documents that the other side has reported.
  var isChecking: Bool { if case .checks = state { true } else { false } }

  /// How many documents wait for an answer.
  var waitingCount: Int { if case .asked(let asked) = state { asked.waiting.count } else { 0 } }

  /// Bytes of the filters in memory, including those in flight.
  var filterBytes: Int {
    let made = making?.size?.byteCount ?? 0
    return switch state {
    case .reports, .leads: made
    case .asked(let asked): made + asked.reported.byteCount + asked.totalBytes
    case .checks(let checks): made + checks.reported.byteCount
    }
  }

  /// Approximate memory of its filters, waiting ids and reported ids.
  var heldBytes: Int {
    let ids =
      switch state {
      case .reports, .leads: 0
      case .asked(let asked): asked.waitingBytes + asked.reported.idBytes
      case .checks(let checks): checks.reported.idBytes
      }
    return filterBytes + ids
  }

  // MARK: - Documents

  /// Decides about a document that is new in the role.
  mutating func receive(event id: DocumentID) -> Verdict {
    switch state {
    case .reports, .leads:
      spent += role.noticeBytes
      // Do not change sides while building a filter: the other side waits for it.
      guard making == nil, spent >= due else { return Verdict(reports: true) }
      return Verdict(reports: true, steps: [ask()])
    case .asked(var asked):
      // Move the payload out of the state while it changes, so that it is not copied.
      state = .reports
      if !asked.looksAtAll, asked.waiting.insert(id).inserted {
        asked.waitingBytes += id.bytes.count + SyncLimits.waitingIDBytes
      }
      // Above the bound, stop keeping ids: look up all held documents when the filter arrives.
      if asked.waiting.count > tuning.notices.exactNotices {
        SyncPoint.noticesOverflowed.reached()
        asked.waiting = []
        asked.waitingBytes = 0
        asked.looksAtAll = !SyncDefect.noticesForgotten.isPlanted
      }
      state = .asked(asked)
      return Verdict()
    case .checks(var checks):
      state = .reports
      checks.lookups += 1
      let isReported = checks.reported.contains(IDFilter.hash(id))
      let isWorn = checks.lookups >= checks.room || checks.reported.isFull
      let lookups = checks.lookups
      state = .checks(checks)
      var verdict = Verdict(reports: isReported && !SyncDefect.noticesNotChecked.isPlanted)
      // The filter was sized for fewer lookups: false positives would grow from here.
      if isWorn, making == nil {
        spent = lookups * role.noticeBytes
        verdict.steps = [ask()]
      }
      return verdict
    }
  }

  /// Records a notice of the other side.
  mutating func receive(reported hash: UInt64) {
    switch state {
    case .reports, .leads: return
    case .asked(var asked):
      state = .reports
      asked.reported.insert(hash)
      state = .asked(asked)
    case .checks(var checks):
      state = .reports
      checks.reported.insert(hash)
      state = .checks(checks)
    }
  }

  /// Returns whether to send a notice of a document that is looked up.
  func reports(_ hash: UInt64) -> Bool {
    switch state {
    case .reports, .leads: true
    case .asked: false
    case .checks(let checks): checks.reported.contains(hash)
    }
  }

  /// Returns whether the scan with this number is still current.
  func looks(under number: UInt64) -> Bool {
    if case .checks(let checks) = state { checks.isLooking && self.number == number } else { false }
  }

  /// Records that all held documents have been looked up.
  mutating func finishLook(under number: UInt64) {
    guard looks(under: number), case .checks(var checks) = state else { return }
    checks.isLooking = false
    state = .checks(checks)
  }

  // MARK: - Reconciliation

  /// Decides how to report documents that a reconciliation leaves over; the other side may hold `others`.
  ///
  /// Notices that are sent count as spent.
  mutating func receive(leftovers count: UInt64, facing others: UInt64) -> Leftovers {
    let cost = count.multiplied(by: role.noticeBytes)
    switch state {
    case .reports, .leads:
      let would = spent.adding(cost)
      let price = UInt64(FilterSize(count: others, others: count, tuning).byteCount)
      guard making == nil, would > max(price, tuning.notices.freeNotices * role.noticeBytes) else {
        spent = would
        return .report
      }
      spent = would
      return .all([ask(looksAtAll: true)])
    case .asked(var asked):
      asked.waiting = []
      asked.waitingBytes = 0
      asked.looksAtAll = true
      state = .asked(asked)
      return .all([])
    case .checks(var checks):
      guard !checks.isLooking else { return .all([]) }
      checks.isLooking = true
      number += 1
      state = .checks(checks)
      return .all([.lookAtAll(number: number)])
    }
  }

  // MARK: - Changes of sides

  /// Goes on to the next state.
  private mutating func enter(_ next: State) {
    check(.transition, state.mayLead(to: next), phase: "notices \(state.name)", "it leads to \(next.name)")
    state = next
  }

  private mutating func ask(looksAtAll: Bool = false) -> Step {
    var looksAtAll = looksAtAll
    if case .checks(let checks) = state, checks.isLooking { looksAtAll = true }
    number += 1
    // A half that led goes on leading if the request is refused: the other side still checks.
    enter(.asked(Asked(hasLed: isLeading, looksAtAll: looksAtAll, reported: ReportedDocuments(tuning))))
    return .ask(number: number, spent: spent)
  }

  /// Processes a filter request: the other side wants this side to report.
  ///
  /// - Parameters:
  ///   - ask: How much the other side has reported, and how much it holds.
  ///   - isOpen: Whether the policy lets this side report what it holds.
  /// - Returns: The steps to perform.
  mutating func receive(ask: FilterAsk, isOpen: Bool) -> [Step] {
    guard isOpen else { return [closed(number: ask.number)] }
    // Both sides ask at once. The side with more to report becomes the checking side; on a tie, the sender
    // does. Both sides know both figures.
    if isAsking, (spent, role.rawValue) > (ask.spent, role.other.rawValue) {
      return [.refuse(number: ask.number, price: 0)]
    }
    guard making == nil else {
      nextAsk = ask
      return []
    }
    return begin(ask)
  }

  /// Returns the answer to a request where the policy does not let this side report what it holds.
  ///
  /// A sender answers with nothing, and the receiver need not report either. A receiver refuses, and the
  /// sender goes on reporting.
  func closed(number: UInt64) -> Step {
    role == .offers ? .answerNothing(number: number) : .refuse(number: number, price: 0)
  }

  private mutating func begin(_ ask: FilterAsk) -> [Step] {
    making = Making(number: ask.number, others: ask.count, spent: ask.spent)
    return [.count(number: ask.number)]
  }

  /// Starts on a request that arrived meanwhile.
  private mutating func beginNext() -> [Step] {
    guard making == nil, let ask = nextAsk else { return [] }
    nextAsk = nil
    return begin(ask)
  }

  /// Processes the count of held documents, which determines the size of the requested filter.
  ///
  /// From then on a notice is sent for each event, even while the filter is being built.
  /// - Parameters:
  ///   - count: The number of held documents.
  ///   - number: The number of the request.
  ///   - room: Bytes that the filter may take.
  /// - Returns: The steps to perform.
  mutating func receive(count: UInt64, number: UInt64, room: Int) -> [Step] {
    guard var making, making.number == number else { return [] }
    let size = FilterSize(count: count, others: making.others, tuning)
    guard UInt64(size.byteCount) <= making.spent, size.byteCount <= room else {
      self.making = nil
      SyncPoint.filterRefused.reached()
      return [.refuse(number: number, price: UInt64(size.byteCount))] + beginNext()
    }
    var steps: [Step] = []
    switch state {
    case .reports, .leads: break
    case .asked(let asked):
      if asked.looksAtAll {
        steps.append(.reportAll)
      } else if !asked.waiting.isEmpty {
        steps.append(.report(asked.waiting.sorted()))
      }
      spent = 0
    case .checks(let checks):
      if checks.isLooking { steps.append(.reportAll) }
      spent = 0
    }
    self.number += 1
    enter(.leads)
    // Changing sides again must be worth at least the cost of the other side's filter.
    let theirs = FilterSize(count: making.others, others: count, tuning)
    due = max(spent + tuning.notices.freeNotices * role.noticeBytes, UInt64(theirs.byteCount))
    making.size = size
    self.making = making
    (role == .haves ? SyncPoint.receiverLeads : .senderLeads).reached()
    return steps + [.fill(number: number, size)]
  }

  /// Returns whether a filter that is being built is still wanted.
  func makes(_ number: UInt64) -> Bool { making?.number == number }

  /// Records that the filter is being sent.
  mutating func finishFilter(_ number: UInt64) -> [Step] {
    guard makes(number) else { return [] }
    making = nil
    return beginNext()
  }

  /// Processes a chunk of the other side's filter.
  ///
  /// - Parameters:
  ///   - chunk: The chunk.
  ///   - number: The number of the request that it answers.
  ///   - held: About how many documents are held in the role.
  ///   - room: Bytes that the filter may take.
  /// - Returns: The steps to perform.
  /// - Throws: `malformed` when the chunks are out of order.
  mutating func receive(
    _ chunk: FilterFrame.Chunk, number: UInt64, held: UInt64, room: Int
  ) throws(SyncError) -> [Step] {
    guard case .asked(var asked) = state, number == self.number else { return [] }
    guard chunk.offset == asked.bytes.count, chunk.offset == 0 || chunk.totalBytes == asked.totalBytes else {
      throw SyncError(.malformed, "A filter's parts are not in order")
    }
    if chunk.offset == 0, chunk.totalBytes > room {
      return receive(refusal: UInt64(chunk.totalBytes), number: number, held: held)
    }
    state = .reports
    asked.totalBytes = chunk.totalBytes
    asked.bytes += chunk.bytes
    state = .asked(asked)
    guard asked.bytes.count == asked.totalBytes else { return [] }
    var reported = asked.reported
    reported.filter = IDFilter(bytes: asked.bytes)
    let looksAtAll = asked.looksAtAll && !SyncDefect.heldNotLookedAt.isPlanted
    enter(
      .checks(
        Checks(reported: reported, room: 4 * max(held, tuning.notices.leastLookups), isLooking: looksAtAll)))
    spent = 0
    if looksAtAll { return [.lookAtAll(number: number)] }
    let hits = asked.waiting.filter { reported.contains(IDFilter.hash($0)) }
    return hits.isEmpty ? [] : [.report(hits.sorted())]
  }

  /// Processes a refusal: the other side's filter would cost more than the notices of this side.
  mutating func receive(refusal price: UInt64, number: UInt64, held: UInt64) -> [Step] {
    guard case .asked(let asked) = state, number == self.number else { return [] }
    enter(asked.hasLed ? .leads : .reports)
    let would = held.multiplied(by: role.noticeBytes)
    if asked.looksAtAll, spent < would, price <= would {
      // The waiting set has grown to all held documents, which justifies a higher price.
      spent = would
      return [ask(looksAtAll: true)]
    }
    due = max(spent.multiplied(by: 2), price, tuning.notices.freeNotices * role.noticeBytes)
    if asked.looksAtAll { return [.reportAll] }
    return asked.waiting.isEmpty ? [] : [.report(asked.waiting.sorted())]
  }

  /// Starts over: earlier notices no longer count, and reconciliation finds the differences.
  ///
  /// - Returns: The numbers of requests that the other side waits for in vain.
  mutating func reset() -> [UInt64] {
    let unmade = [making?.number, nextAsk?.number].compactMap(\.self)
    self = NoticeHalf(role, above: number + 1, tuning)
    return unmade
  }
}
