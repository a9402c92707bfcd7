import CRDTCore
import Failpoints

/// One end's half of the rule who tells whom what it holds, for one direction and collection; both ends run the same one.
///
/// The receiver's half decides on haves of what it newly holds under its interest, the sender's half on offers of what it
/// newly holds and does not send. The side with less to tell tells: the other one asks it for a filter of what it holds,
/// and from then on tells only what that side has told of, too. Events go in, steps come out; it knows no session.
/// `Tools/models/live_model.md` has the rule and its reasons, `live_model.py` beside it proves it.
struct Telling {
  private enum State {
    /// Each event is told. Both halves begin so.
    case tells
    /// Each event is told, and the other side relies on that.
    case leads
    /// The other side was asked for its filter; events wait.
    case asked(Asked)
    /// The other side leads: what it has told of is told.
    case checks(Checks)
  }

  private struct Asked {
    /// Whether the other side relies on this one.
    let hasLed: Bool
    var waiting: Set<DocumentID> = []
    /// What these take in memory, about.
    var waitingBytes = 0
    var looksAtAll: Bool
    var told: ToldDocuments
    /// What has come of the filter.
    var bytes: [UInt8] = []
    var totalBytes = 0
  }

  private struct Checks {
    var told: ToldDocuments
    var lookups: UInt64 = 0
    /// How many lookups the filter is good for.
    let room: UInt64
    /// Whether all that is held is being looked at.
    var isLooking: Bool
  }

  /// A filter that the other side has asked for.
  private struct Making {
    let number: UInt64
    /// How many documents the other side holds in its role.
    let others: UInt64
    /// What the other side has told, or would tell.
    let spent: UInt64
    var size: FilterSize?
  }

  private let role: Role
  private let tuning: SyncTuning
  private var state = State.tells
  /// Of the last ask, and of what is looked at; never used again.
  private var number: UInt64
  /// Bytes that were told since sides were changed, or would be.
  private var spent: UInt64 = 0
  /// The bytes after which the other side is asked.
  private var due: UInt64
  private var making: Making?
  /// An ask that came while a filter was being made for an earlier one, which its side does not wait for any more.
  private var nextAsk: FilterAsk?

  /// Makes a half whose asks have numbers above one.
  init(_ role: Role, above number: UInt64, _ tuning: SyncTuning) {
    self.role = role
    self.tuning = tuning
    self.number = number
    due = tuning.freeNotices * role.noticeBytes
  }

  // MARK: - What it says of itself

  /// The last number that it has used.
  var lastNumber: UInt64 { number }

  /// Whether the other side may rely on being told.
  var isLeading: Bool {
    switch state {
    case .leads: true
    case .asked(let asked): asked.hasLed
    case .tells, .checks: false
    }
  }

  /// Whether something waits for the other side's answer.
  var isWaiting: Bool {
    if case .asked(let asked) = state { asked.looksAtAll || !asked.waiting.isEmpty } else { false }
  }

  /// Whether all that is held waits for the other side's answer.
  var awaitsAll: Bool { if case .asked(let asked) = state { asked.looksAtAll } else { false } }

  /// Whether all that is held is looked up in the other side's filter, now or when it comes.
  var looksAtAll: Bool {
    switch state {
    case .tells, .leads: false
    case .asked(let asked): asked.looksAtAll
    case .checks(let checks): checks.isLooking
    }
  }

  /// Whether the other side is asked for its filter.
  var isAsking: Bool { if case .asked = state { true } else { false } }

  /// Whether only that is told which the other side has told of.
  var isChecking: Bool { if case .checks = state { true } else { false } }

  /// How many documents wait for an answer.
  var waitingCount: Int { if case .asked(let asked) = state { asked.waiting.count } else { 0 } }

  /// Bytes of filters in memory, those on their way included.
  var filterBytes: Int {
    let made = making?.size?.byteCount ?? 0
    return switch state {
    case .tells, .leads: made
    case .asked(let asked): made + asked.told.byteCount + asked.totalBytes
    case .checks(let checks): made + checks.told.byteCount
    }
  }

  /// Bytes in memory of its filters, and of what waits and was told by name, about.
  var heldBytes: Int {
    let ids =
      switch state {
      case .tells, .leads: 0
      case .asked(let asked): asked.waitingBytes + asked.told.idBytes
      case .checks(let checks): checks.told.idBytes
      }
    return filterBytes + ids
  }

  // MARK: - Documents

  /// Decides on a document that is new in the role.
  mutating func receive(event id: DocumentID) -> Verdict {
    switch state {
    case .tells, .leads:
      spent += role.noticeBytes
      // Not while it makes a filter: the other side waits for that.
      guard making == nil, spent >= due else { return Verdict(tells: true) }
      return Verdict(tells: true, steps: [ask()])
    case .asked(var asked):
      // Taken out while it changes, so that it is not copied.
      state = .tells
      if !asked.looksAtAll, asked.waiting.insert(id).inserted {
        asked.waitingBytes += id.bytes.count + SyncLimits.waitingIDBytes
      }
      // Beyond the bound nothing waits by name: all is looked at when the filter comes.
      if asked.waiting.count > tuning.exactNotices {
        SyncPoint.noticesOverflowed.reached()
        asked.waiting = []
        asked.waitingBytes = 0
        asked.looksAtAll = !SyncDefect.noticesForgotten.isPlanted
      }
      state = .asked(asked)
      return Verdict()
    case .checks(var checks):
      state = .tells
      checks.lookups += 1
      let isTold = checks.told.contains(IDFilter.hash(id))
      let isWorn = checks.lookups >= checks.room || checks.told.isFull
      let lookups = checks.lookups
      state = .checks(checks)
      var verdict = Verdict(tells: isTold && !SyncDefect.noticesNotChecked.isPlanted)
      // The filter was sized for fewer lookups than there are by now: chance hits would grow with them.
      if isWorn, making == nil {
        spent = lookups * role.noticeBytes
        verdict.steps = [ask()]
      }
      return verdict
    }
  }

  /// Takes note that the other side told of a document.
  mutating func receive(told hash: UInt64) {
    switch state {
    case .tells, .leads: return
    case .asked(var asked):
      state = .tells
      asked.told.insert(hash)
      state = .asked(asked)
    case .checks(var checks):
      state = .tells
      checks.told.insert(hash)
      state = .checks(checks)
    }
  }

  /// Whether a document that is looked at is to be told.
  func tells(_ hash: UInt64) -> Bool {
    switch state {
    case .tells, .leads: true
    case .asked: false
    case .checks(let checks): checks.told.contains(hash)
    }
  }

  /// Whether what is looked at under a number is still to be.
  func looks(under number: UInt64) -> Bool {
    if case .checks(let checks) = state { checks.isLooking && self.number == number } else { false }
  }

  /// Takes note that all that is held was looked at.
  mutating func finishLook(under number: UInt64) {
    guard looks(under: number), case .checks(var checks) = state else { return }
    checks.isLooking = false
    state = .checks(checks)
  }

  // MARK: - A comparison

  /// Decides how to tell of documents that a comparison leaves over, of which the other side may hold so many.
  ///
  /// What was told counts as spent.
  mutating func receive(leftovers count: UInt64, facing others: UInt64) -> Leftovers {
    let cost = count.multiplied(by: role.noticeBytes)
    switch state {
    case .tells, .leads:
      let would = spent.adding(cost)
      let price = UInt64(FilterSize(count: others, others: count, tuning).byteCount)
      guard making == nil, would > max(price, tuning.freeNotices * role.noticeBytes) else {
        spent = would
        return .tell
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

  private mutating func ask(looksAtAll: Bool = false) -> Step {
    var looksAtAll = looksAtAll
    if case .checks(let checks) = state, checks.isLooking { looksAtAll = true }
    number += 1
    // A half that led leads on if it is refused: the other side still checks.
    state = .asked(Asked(hasLed: isLeading, looksAtAll: looksAtAll, told: ToldDocuments(tuning)))
    return .ask(number: number, spent: spent)
  }

  /// Takes the other side's ask: it would rather have this side tell.
  ///
  /// - Parameters:
  ///   - ask: How much it has told, and holds.
  ///   - isOpen: Whether what is held here may be told.
  /// - Returns: What is to be done.
  mutating func receive(ask: FilterAsk, isOpen: Bool) -> [Step] {
    guard isOpen else {
      // Where the sender may tell nothing the receiver need not tell either; where the receiver may not, the sender goes on.
      return role == .offers ? [.answerNothing(number: ask.number)] : [.refuse(number: ask.number, price: 0)]
    }
    // Both ask at once: who has more to tell may check, in doubt the sender. Both know both figures.
    if isAsking, (spent, role.rawValue) > (ask.spent, role.other.rawValue) {
      return [.refuse(number: ask.number, price: 0)]
    }
    guard making == nil else {
      nextAsk = ask
      return []
    }
    return begin(ask)
  }

  private mutating func begin(_ ask: FilterAsk) -> [Step] {
    making = Making(number: ask.number, others: ask.count, spent: ask.spent)
    return [.count(number: ask.number)]
  }

  /// Goes on with an ask that came meanwhile.
  private mutating func beginNext() -> [Step] {
    guard making == nil, let ask = nextAsk else { return [] }
    nextAsk = nil
    return begin(ask)
  }

  /// Takes how much is held in the role: the filter that the other side asked for costs so much.
  ///
  /// From then on each event is told, also while the filter is being made.
  /// - Parameters:
  ///   - count: How many documents that are.
  ///   - number: Of the ask.
  ///   - room: Bytes that the filter may take.
  /// - Returns: What is to be done.
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
    case .tells, .leads: break
    case .asked(let asked):
      if asked.looksAtAll {
        steps.append(.tellAll)
      } else if !asked.waiting.isEmpty {
        steps.append(.tell(asked.waiting.sorted()))
      }
      spent = 0
    case .checks(let checks):
      if checks.isLooking { steps.append(.tellAll) }
      spent = 0
    }
    self.number += 1
    state = .leads
    // The next change of sides is worth at least what the other side's filter will cost.
    let theirs = FilterSize(count: making.others, others: count, tuning)
    due = max(spent + tuning.freeNotices * role.noticeBytes, UInt64(theirs.byteCount))
    making.size = size
    self.making = making
    (role == .haves ? SyncPoint.receiverLeads : .senderLeads).reached()
    return steps + [.fill(number: number, size)]
  }

  /// Whether a filter that is being made is still wanted.
  func makes(_ number: UInt64) -> Bool { making?.number == number }

  /// Takes note that the filter goes out now.
  mutating func finishFilter(_ number: UInt64) -> [Step] {
    guard makes(number) else { return [] }
    making = nil
    return beginNext()
  }

  /// Takes a piece of the other side's filter.
  ///
  /// - Parameters:
  ///   - part: The piece.
  ///   - number: Of the ask that it answers.
  ///   - held: About how many documents are held in the role.
  ///   - room: Bytes that the filter may take.
  /// - Returns: What is to be done.
  /// - Throws: `malformed` where the pieces are not in order.
  mutating func receive(
    _ part: FilterFrame.Part, number: UInt64, held: UInt64, room: Int
  ) throws(SyncError) -> [Step] {
    guard case .asked(var asked) = state, number == self.number else { return [] }
    guard part.offset == asked.bytes.count, part.offset == 0 || part.totalBytes == asked.totalBytes else {
      throw SyncError(.malformed, "A filter's parts are not in order")
    }
    if part.offset == 0, part.totalBytes > room {
      return receive(refusal: UInt64(part.totalBytes), number: number, held: held)
    }
    state = .tells
    asked.totalBytes = part.totalBytes
    asked.bytes += part.bytes
    guard asked.bytes.count == asked.totalBytes else {
      state = .asked(asked)
      return []
    }
    var told = asked.told
    told.filter = IDFilter(bytes: asked.bytes)
    let looksAtAll = asked.looksAtAll && !SyncDefect.heldNotLookedAt.isPlanted
    state = .checks(
      Checks(told: told, room: 4 * max(held, tuning.leastLookups), isLooking: looksAtAll))
    spent = 0
    if looksAtAll { return [.lookAtAll(number: number)] }
    let hits = asked.waiting.filter { told.contains(IDFilter.hash($0)) }
    return hits.isEmpty ? [] : [.tell(hits.sorted())]
  }

  /// Takes the other side's refusal to tell: its filter would cost more than this side has told.
  mutating func receive(refusal price: UInt64, number: UInt64, held: UInt64) -> [Step] {
    guard case .asked(let asked) = state, number == self.number else { return [] }
    state = asked.hasLed ? .leads : .tells
    let would = held.multiplied(by: role.noticeBytes)
    if asked.looksAtAll, spent < would, price <= would {
      // What waited has become all that there is, and is worth more.
      spent = would
      return [ask(looksAtAll: true)]
    }
    due = max(spent.multiplied(by: 2), price, tuning.freeNotices * role.noticeBytes)
    if asked.looksAtAll { return [.tellAll] }
    return asked.waiting.isEmpty ? [] : [.tell(asked.waiting.sorted())]
  }

  /// Begins anew: what was told before counts for nothing, and is found by comparing.
  ///
  /// - Returns: The asks that the other side waits for in vain.
  mutating func reset() -> [UInt64] {
    let unmade = [making?.number, nextAsk?.number].compactMap(\.self)
    self = Telling(role, above: number + 1, tuning)
    return unmade
  }
}
