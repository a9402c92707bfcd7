import CRDTCore
import TestKit

@testable import SyncProtocol

/// A world of `Tools/models/live_model.py` around the part that decides which peer notifies which.
///
/// Peers in a graph write, delete, evict, change interests and gates, and lose and regain links, while
/// messages wait in slow channels.
///
/// A document is the set of operations that a peer has of it. Its color is that of the last operation.
struct NoticeWorld {
  typealias Operations = [Int: Int]

  struct Link: Hashable {
    let from: Int
    let to: Int
    var back: Link { Link(from: to, to: from) }
  }

  enum Message {
    case document(Int, Operations, isHeld: Bool)
    case offer(Int, Operations)
    case have(Int, Operations)
    case want(Int, Operations, isHeld: Bool)
    case interest(Set<Int>?)
    case compare(Int, [Int: Operations]?)
    case compared(Int, listed: Set<Int>, others: Int, all: [Int: Operations]?)
    case ask(FilterAsk)
    case filter(FilterFrame)
    case renew
  }

  /// What one end of a link knows.
  struct End {
    var queue: [Message]? = []
    // As the receiver.
    var haves: NoticeHalves
    var comparing: Int?
    var comparesAgain = false
    var evicted: Set<Int> = []
    // As the sender.
    var offers: NoticeHalves
    var interest: Set<Int>?
    var watched: Set<Int> = []
    var isUnnamed = false
  }

  enum Job {
    case count(Link, NoticeHalf.Role, number: UInt64)
    case fill(Link, NoticeHalf.Role, number: UInt64, FilterSize, [Int]?)
    case look(Link, NoticeHalf.Role, number: UInt64)
  }

  static let collection = "things"
  /// A color that matches nothing: a deletion.
  static let gone = 9
  var random: SeededGenerator
  let tuning: SyncTuning
  var interests: [Set<Int>?]
  var documents: [[Int: Operations]]
  var ends: [Link: End] = [:]
  let links: [Link]
  var closed: Set<Link> = []
  var jobs: [Job] = []
  private var clock = 0
  private var comparisons = 0
  /// What left although it may not.
  var leaks = 0

  init(_ random: SeededGenerator, _ tuning: SyncTuning, interests: [Set<Int>?], pairs: [(Int, Int)]) {
    self.random = random
    self.tuning = tuning
    self.interests = interests
    documents = interests.map { _ in [:] }
    links = pairs.flatMap { [Link(from: $0.0, to: $0.1), Link(from: $0.1, to: $0.0)] }
    for pair in pairs { connect(pair.0, pair.1) }
  }

  private var newEnd: End { End(haves: NoticeHalves(.haves, tuning), offers: NoticeHalves(.offers, tuning)) }

  // MARK: - What happens

  mutating func connect(_ a: Int, _ b: Int) {
    let both = [Link(from: a, to: b), Link(from: b, to: a)]
    for link in both { ends[link] = newEnd }
    for link in both {
      send(link, .interest(interests[link.from]))
      compare(link)
    }
  }

  mutating func disconnect(_ a: Int, _ b: Int) {
    let both: Set = [Link(from: a, to: b), Link(from: b, to: a)]
    for link in both { ends[link]?.queue = nil }
    jobs.removeAll { job in
      switch job {
      case .count(let link, _, _), .fill(let link, _, _, _, _), .look(let link, _, _): both.contains(link)
      }
    }
  }

  func isUp(_ link: Link) -> Bool { ends[link]?.queue != nil }

  mutating func write(_ peer: Int, _ document: Int, _ color: Int) {
    clock += 1
    commit(peer, document, [clock: color], from: nil)
  }

  mutating func evict(_ peer: Int, _ document: Int) {
    guard let before = documents[peer].removeValue(forKey: document) else { return }
    for link in links where link.from == peer && isUp(link) {
      if matches(ends[link]?.interest, before) { ends[link]?.watched.insert(document) }
      guard interests[peer] != nil else { continue }
      ends[link]?.evicted.insert(document)
      if closed.contains(link) { compare(link) } else { send(link, .want(document, [:], isHeld: false)) }
    }
  }

  mutating func setInterest(_ peer: Int, _ interest: Set<Int>?) {
    guard interests[peer] != interest else { return }
    interests[peer] = interest
    for link in links where link.from == peer && isUp(link) {
      answerUnmade(link, .haves, ends[link]?.haves.reset() ?? [])
      ends[link]?.comparing = nil
      ends[link]?.comparesAgain = false
      send(link, .interest(interest))
      compare(link)
    }
  }

  mutating func toggleGate(_ link: Link) {
    closed.formSymmetricDifference([link])
    guard isUp(link) else { return }
    answerUnmade(link, .haves, ends[link]?.haves.reset() ?? [])
    answerUnmade(link, .offers, ends[link]?.offers.reset() ?? [])
    send(link, .renew)
    compare(link)
  }

  private mutating func answerUnmade(_ link: Link, _ role: NoticeHalf.Role, _ unmade: [(String, UInt64)]) {
    for (name, number) in unmade {
      send(link, .filter(.refused(role: role.other, number: number, name, price: 0)))
    }
  }

  // MARK: - Documents

  private func matches(_ interest: Set<Int>?, _ operations: Operations?) -> Bool {
    guard let interest, let last = operations?.max(by: { $0.key < $1.key }) else { return false }
    return interest.contains(last.value)
  }

  private func lacks(_ mine: Operations?, _ theirs: Operations) -> Bool {
    theirs.keys.contains { mine?[$0] == nil }
  }

  private mutating func commit(_ peer: Int, _ document: Int, _ operations: Operations, from other: Int?) {
    let before = documents[peer][document]
    let after = (before ?? [:]).merging(operations) { mine, _ in mine }
    guard before?.count != after.count else { return }
    documents[peer][document] = after
    for link in links where link.from == peer && isUp(link) {
      let isSent = pusher(link, document, before, after, isOwn: link.to == other)
      takeIn(link, document, before, after, isSent: isSent, isOwn: link.to == other)
    }
  }

  /// Sends or offers what concerns the other end of a change.
  private mutating func pusher(
    _ link: Link, _ document: Int, _ before: Operations?, _ after: Operations, isOwn: Bool
  ) -> Bool {
    guard let end = ends[link], end.interest != nil, !closed.contains(link) else { return false }
    let (matched, now) = (matches(end.interest, before), matches(end.interest, after))
    let isWatched = end.watched.contains(document) || end.isUnnamed
    if !now, matched || isOwn { ends[link]?.watched.insert(document) }
    let isSent = !isOwn && (matched || now)
    if isSent { sendDocument(link, document) }
    guard !now else { return isSent }
    let isLeading = end.offers[Self.collection].isLeading
    if isWatched, !isOwn, !isSent {
      tell(link, .offers, document)
    } else if before == nil || (matched && isLeading), !isOwn || isLeading {
      receive(event: document, link, .offers)
    }
    return isSent
  }

  private mutating func takeIn(
    _ link: Link, _ document: Int, _ before: Operations?, _ after: Operations, isSent: Bool, isOwn: Bool
  ) {
    let interest = interests[link.from]
    let isNew = !matches(interest, before) && matches(interest, after)
    if isOwn {
      guard matches(interest, after), ends[link]?.evicted.remove(document) != nil else { return }
      if closed.contains(link) { compare(link) } else { tell(link, .haves, document) }
    } else if isNew, !isSent {
      if closed.contains(link) { compare(link) } else { receive(event: document, link, .haves) }
    }
  }

  private mutating func sendDocument(_ link: Link, _ document: Int) {
    guard let operations = documents[link.from][document] else { return }
    let isHeld = matches(interests[link.from], operations)
    send(link, .document(document, operations, isHeld: isHeld))
  }

  private mutating func send(_ link: Link, _ message: Message) {
    switch message {
    case .document, .have, .offer: if closed.contains(link) { leaks += 1 }
    case .want, .interest, .compare, .compared, .ask, .filter, .renew: break
    }
    ends[link]?.queue?.append(message)
  }

  // MARK: - The part

  private func id(_ document: Int) -> DocumentID { DocumentID(trusted: [3, UInt8(document)]) }

  private func hash(_ document: Int) -> UInt64 { IDFilter.hash(id(document)) }

  /// What an end holds in a role.
  private func held(_ link: Link, _ role: NoticeHalf.Role) -> [Int] {
    guard !closed.contains(link) else { return [] }
    let interest = role == .haves ? interests[link.from] : ends[link]?.interest
    return documents[link.from].filter { matches(interest, $1) == (role == .haves) }.keys.sorted()
  }

  private mutating func withHalf<R>(
    _ link: Link, _ role: NoticeHalf.Role, _ body: (inout NoticeHalf) -> R
  ) -> R? {
    guard var end = ends.removeValue(forKey: link) else { return nil }
    defer { ends[link] = end }
    return switch role {
    case .haves: body(&end.haves[Self.collection])
    case .offers: body(&end.offers[Self.collection])
    }
  }

  private mutating func receive(event document: Int, _ link: Link, _ role: NoticeHalf.Role) {
    let id = id(document)
    guard let verdict = withHalf(link, role, { $0.receive(event: id) }) else { return }
    if verdict.reports { tell(link, role, document) }
    perform(verdict.steps, link, role)
  }

  private mutating func tell(_ link: Link, _ role: NoticeHalf.Role, _ document: Int) {
    guard let operations = documents[link.from][document], !closed.contains(link) else { return }
    send(link, role == .haves ? .have(document, operations) : .offer(document, operations))
  }

  private mutating func perform(_ steps: [NoticeHalf.Step], _ link: Link, _ role: NoticeHalf.Role) {
    for step in steps {
      switch step {
      case .report(let ids): for id in ids { tell(link, role, Int(id.bytes[1])) }
      case .reportAll: for document in held(link, role) { tell(link, role, document) }
      case .lookAtAll(let number): jobs.append(.look(link, role, number: number))
      case .count(let number): jobs.append(.count(link, role, number: number))
      case .fill(let number, let size): jobs.append(.fill(link, role, number: number, size, nil))
      case .ask(let number, let spent):
        guard
          let cleared = Gatekeeper(gate: EverythingGate(), peer: .small, access: .everything).clear(
            gathered: Self.collection)
        else {
          continue
        }
        let count = UInt64(held(link, role).count)
        send(link, .ask(FilterAsk(cleared, role: role, number: number, count: count, spent: spent)))
      case .answerNothing(let number):
        send(link, .filter(.nothing(role: role.other, number: number, Self.collection)))
      case .refuse(let number, let price):
        send(link, .filter(.refused(role: role.other, number: number, Self.collection, price: price)))
      }
    }
  }

  private mutating func run(_ job: Job) {
    switch job {
    case .count(let link, let role, let number):
      let count = UInt64(held(link, role).count)
      let steps = withHalf(link, role) { $0.receive(count: count, number: number, room: 4 << 20) } ?? []
      perform(steps, link, role)
    case .fill(let link, let role, let number, let size, let found):
      guard withHalf(link, role, { $0.makes(number) }) == true else { return }
      let now = held(link, role)
      guard let found else {
        return jobs.append(.fill(link, role, number: number, size, now.filter { $0 < 3 }))
      }
      var filter = IDFilter(byteCount: size.byteCount)
      for document in found + now.filter({ $0 >= 3 }) { filter.insert(hash(document)) }
      guard
        let cleared = Gatekeeper(gate: EverythingGate(), peer: .small, access: .everything).clear(
          gathered: Self.collection)
      else {
        return
      }
      for frame in FilterFrame.frames(cleared, role: role.other, number: number, filter) {
        send(link, .filter(frame))
      }
      perform(withHalf(link, role) { $0.finishFilter(number) } ?? [], link, role)
    case .look(let link, let role, let number):
      guard withHalf(link, role, { $0.looks(under: number) }) == true else { return }
      for document in held(link, role) {
        let hash = hash(document)
        if withHalf(link, role, { $0.reports(hash) }) == true { tell(link, role, document) }
      }
      _ = withHalf(link, role) { $0.finishLook(under: number) }
    }
  }

  // MARK: - Comparisons

  /// The receiver, at the end `from`, compares.
  private mutating func compare(_ link: Link) {
    guard interests[link.from] != nil else { return }
    guard ends[link]?.comparing == nil else {
      ends[link]?.comparesAgain = true
      return
    }
    comparisons += 1
    ends[link]?.comparing = comparisons
    let mine = closed.contains(link) ? nil : documents[link.from].filter { matches(interests[link.from], $1) }
    send(link, .compare(comparisons, mine))
  }

  private mutating func answer(_ number: Int, _ theirs: [Int: Operations]?, _ link: Link) {
    let interest = ends[link]?.interest
    let mine = closed.contains(link) || interest == nil ? [:] : documents[link.from]
    let listed = mine.filter { matches(interest, $1) }
    ends[link]?.isUnnamed = theirs == nil
    if let theirs {
      for (document, operations) in listed.sorted(by: { $0.key < $1.key })
      where lacks(theirs[document], operations) {
        sendDocument(link, document)
      }
    }
    let others = mine.count - listed.count
    send(
      link, .compared(number, listed: Set(listed.keys), others: others, all: theirs == nil ? mine : nil))
  }

  private mutating func take(
    _ link: Link, _ number: Int, _ listed: Set<Int>, _ others: Int, _ all: [Int: Operations]?
  ) {
    guard ends[link]?.comparing == number else { return }
    ends[link]?.comparing = nil
    if ends[link]?.comparesAgain == true {
      ends[link]?.comparesAgain = false
      compare(link)
    }
    guard interests[link.from] != nil else { return }
    if let all {
      for (document, operations) in all.sorted(by: { $0.key < $1.key }) {
        let mine = documents[link.from][document]
        guard listed.contains(document) || matches(interests[link.from], mine), lacks(mine, operations) else {
          continue
        }
        send(link, .want(document, [:], isHeld: true))
      }
      return
    }
    let left = held(link, .haves).filter { !listed.contains($0) }
    guard others > 0 else { return }
    let decision = withHalf(link, .haves) {
      $0.receive(leftovers: UInt64(left.count), facing: UInt64(others))
    }
    switch decision {
    case .report: for document in left { tell(link, .haves, document) }
    case .all(let steps): perform(steps, link, .haves)
    case nil: break
    }
  }

  // MARK: - Messages

  private mutating func deliver(_ link: Link) {
    guard let message = ends[link]?.queue?.removeFirst() else { return }
    let here = link.back
    let peer = link.to
    switch message {
    case .document(let document, let operations, let isHeld):
      guard interests[peer] != nil else { return }
      let lacked = documents[peer][document]?.keys.contains { operations[$0] == nil } ?? false
      commit(peer, document, operations, from: link.from)
      let isMatch = matches(ends[here]?.interest, documents[peer][document])
      if lacked, !closed.contains(here), ends[here]?.interest != nil, isMatch || isHeld {
        sendDocument(here, document)
      }
      if isHeld, !isMatch { ends[here]?.watched.insert(document) }
    case .offer(let document, let operations):
      let hash = hash(document)
      _ = withHalf(here, .haves) { $0.receive(reported: hash) }
      let mine = documents[peer][document]
      guard matches(interests[peer], mine), lacks(mine, operations) else { return }
      send(here, .want(document, closed.contains(here) ? [:] : mine ?? [:], isHeld: true))
    case .have(let document, let theirs): answer(document, theirs, isHave: true, isHeld: true, here)
    case .want(let document, let theirs, let isHeld):
      answer(document, theirs, isHave: false, isHeld: isHeld, here)
    case .interest(let interest):
      let former = ends[here]?.interest
      ends[here]?.interest = interest
      guard former != interest else { return }
      answerUnmade(here, .offers, ends[here]?.offers.reset() ?? [])
      if former != nil, interest == nil { compare(here) }
    case .compare(let number, let theirs): answer(number, theirs, here)
    case .compared(let number, let listed, let others, let all): take(here, number, listed, others, all)
    case .ask(let ask): take(ask, here)
    case .filter(let frame): take(frame, here)
    case .renew:
      answerUnmade(here, .haves, ends[here]?.haves.reset() ?? [])
      compare(here)
    }
  }

  private mutating func answer(
    _ document: Int, _ theirs: Operations, isHave: Bool, isHeld: Bool, _ link: Link
  ) {
    guard ends[link]?.interest != nil, !closed.contains(link) else { return }
    let hash = hash(document)
    if isHave { _ = withHalf(link, .offers) { $0.receive(reported: hash) } }
    let mine = documents[link.from][document]
    let isMatch = matches(ends[link]?.interest, mine)
    if !isMatch, isHeld { ends[link]?.watched.insert(document) }
    if let mine, isMatch || isHeld, lacks(theirs, mine) { sendDocument(link, document) }
  }

  private mutating func take(_ ask: FilterAsk, _ link: Link) {
    let role = ask.role.other
    guard role == .offers || interests[link.from] != nil else {
      return send(link, .filter(.refused(role: ask.role, number: ask.number, Self.collection, price: 0)))
    }
    let isOpen = !closed.contains(link)
    perform(withHalf(link, role) { $0.receive(ask: ask, isOpen: isOpen) } ?? [], link, role)
  }

  private mutating func take(_ frame: FilterFrame, _ link: Link) {
    let held = UInt64(held(link, frame.role).count)
    let steps = withHalf(link, frame.role) { half in
      switch frame.body {
      case .chunk(let chunk):
        (try? half.receive(chunk, number: frame.number, held: held, room: 4 << 20)) ?? []
      case .refused(let price): half.receive(refusal: price, number: frame.number, held: held)
      }
    }
    perform(steps ?? [], link, frame.role)
  }

  /// Delivers one message, or goes on with one filter; `false` when there is nothing to do.
  mutating func step() -> Bool {
    let busy = links.filter { ends[$0]?.queue?.isEmpty == false }
    guard !busy.isEmpty || !jobs.isEmpty else { return false }
    let place = random.int(below: busy.count + jobs.count)
    if place < busy.count { deliver(busy[place]) } else { run(jobs.remove(at: place - busy.count)) }
    return true
  }

  /// Lets everything happen; `false` when it does not end.
  mutating func settle(limit: Int = 5_000) -> Bool {
    for _ in 0..<limit where !step() { return true }
    return false
  }

  /// A document of which somebody lacks something that concerns it.
  var owed: String? {
    for link in links {
      let interest = interests[link.to]
      guard interest != nil, !closed.contains(link) else { continue }
      for (document, operations) in documents[link.from] {
        let theirs = documents[link.to][document]
        guard matches(interest, operations) || matches(interest, theirs), lacks(theirs, operations) else {
          continue
        }
        return "\(link.from) owes \(link.to) document \(document): \(operations), it has \(theirs ?? [:])"
      }
    }
    return nil
  }

  /// Whether some half still waits.
  var isWaiting: Bool { ends.values.contains { $0.haves.isWaiting || $0.offers.isWaiting } }
}
