import CRDTCore
import DocStore
import Failpoints

/// Notices (haves): the receiver's half decides which documents that are new here it discloses to the sender.
extension Puller {
  /// Sends notices of documents that are new under the interest, as far as the rule requires them.
  func tell(_ events: [DocumentHave]) throws(SyncError) {
    var haves: [DocumentHave] = []
    for have in events {
      let verdict = telling[have.collection].receive(event: have.id)
      if verdict.tells { haves.append(have) }
      try perform(verdict.steps, have.collection)
    }
    sendHaves(haves, round: 0)
  }

  /// Performs the steps that a half of the rule has returned.
  func perform(_ steps: [Telling.Step], _ collection: String) throws(SyncError) {
    for step in steps {
      switch step {
      case .tell(let ids): tasks.append(.telling(.tell(collection, ids[...])))
      case .tellAll: tasks.append(.telling(.tellHeld(HeldScan(.haves, collection), number: nil)))
      case .lookAtAll(let number):
        SyncPoint.lookedAtAll.reached()
        tasks.append(.telling(.tellHeld(HeldScan(.haves, collection), number: number)))
      case .count(let number):
        tasks.append(.telling(.count(HeldScan(.haves, collection), 0, number: number)))
      case .fill(let number, let size):
        tasks.append(
          .telling(
            .fill(HeldScan(.haves, collection), IDFilter(byteCount: size.byteCount), number: number)))
      case .ask(let number, let spent):
        let count = try context.recordCount(of: collection)
        guard let cleared = context.gatekeeper?.clear(collection) else { continue }
        let ask = FilterAsk(cleared, role: .haves, number: number, count: count, spent: spent)
        context.send(.filterWanted) { ask.encode(to: &$0) }
      case .answerNothing(let number):
        send([.nothing(role: .offers, number: number, collection)])
      case .refuse(let number, let price):
        send([.refused(role: .offers, number: number, collection, price: price)])
      }
    }
  }

  private func send(_ frames: [FilterFrame]) {
    for frame in frames { context.send(.filter) { frame.encode(to: &$0) } }
  }

  /// Receives the sender's request for a filter of what this peer holds.
  func take(_ ask: FilterAsk) throws(SyncError) {
    let isOpen = interest.covers(ask.collection) && mayTell(ask.collection)
    let held = try context.recordCount(of: ask.collection)
    guard interest.covers(ask.collection), telling.mayMakeFilter(ofAtMost: held, now: context.now) else {
      return send([.refused(role: .offers, number: ask.number, ask.collection, price: 0)])
    }
    try perform(telling[ask.collection].receive(ask: ask, isOpen: isOpen), ask.collection)
  }

  /// Receives a chunk of the sender's filter of what it holds and does not send, or its refusal to send
  /// one.
  func take(_ frame: FilterFrame) throws(SyncError) {
    guard interest.covers(frame.collection) else { return }
    let held = try context.recordCount(of: frame.collection)
    let room = context.filterRoom(telling)
    switch frame.body {
    case .part(let part):
      try perform(
        telling[frame.collection].receive(part, number: frame.number, held: held, room: room),
        frame.collection)
    case .refused(let price):
      try perform(
        telling[frame.collection].receive(refusal: price, number: frame.number, held: held),
        frame.collection)
    }
  }

  /// Restarts the exchange of notices in some collections; reconciliation covers what was sent before.
  func resetTelling(where isChanged: (TextKey) -> Bool = { _ in true }) {
    for (collection, number) in telling.reset(where: isChanged) {
      send([.refused(role: .offers, number: number, collection, price: 0)])
    }
  }

  func run(_ task: TellingTask, budget: inout Int) throws(SyncError) {
    switch task {
    case .count(var scan, var count, let number):
      guard telling[scan.collection].makes(number) else { return }
      try context.step(&scan, interest, budget: &budget) { _, _, _, _ in count += 1 }
      guard scan.isDone else { return tasks.prepend(.telling(.count(scan, count, number: number))) }
      let room = context.filterRoom(telling)
      try perform(
        telling[scan.collection].receive(count: count, number: number, room: room), scan.collection)
    case .fill(var scan, var filter, let number):
      guard telling[scan.collection].makes(number) else { return }
      try context.step(&scan, interest, budget: &budget) { id, _, _, _ in
        filter.insertUnlessDenied(IDFilter.hash(id))
      }
      guard scan.isDone else { return tasks.prepend(.telling(.fill(scan, filter, number: number))) }
      if let cleared = context.gatekeeper?.clear(scan.collection) {
        send(FilterFrame.frames(cleared, role: .offers, number: number, filter))
      } else {
        send([.refused(role: .offers, number: number, scan.collection, price: 0)])
      }
      try perform(telling[scan.collection].finishFilter(number), scan.collection)
    case .tell(let collection, let ids):
      let now = ids.prefix(max(budget / 8, 1))
      budget -= now.count * 8
      let names = now.map { DocumentName(collection: collection, id: $0) }
      tellNow(try haves(of: names))
      let rest = ids.dropFirst(now.count)
      if !rest.isEmpty { tasks.prepend(.telling(.tell(collection, rest))) }
    case .tellHeld(var scan, let number):
      let half = telling[scan.collection]
      if let number, !half.looks(under: number) { return }
      let gatekeeper = context.gatekeeper
      let collection = scan.collection
      var haves: [DocumentHave] = []
      var left = budget
      try context.step(&scan, interest, budget: &budget) { id, summary, record, sites in
        guard number == nil || half.tells(IDFilter.hash(id)), let cleared = gatekeeper?.clear(collection)
        else { return }
        haves.append(
          DocumentHave(
            cleared, id: DocumentID(trusted: id.copied), hash: Fingerprint.hash(id: id, summary: summary),
            vector: try record.vector(sites: sites)))
        left -= 7
      }
      budget = min(budget, left)
      tellNow(haves)
      guard scan.isDone else { return tasks.prepend(.telling(.tellHeld(scan, number: number))) }
      if let number { telling[collection].finishLook(under: number) }
    }
  }

  /// Sends notices, as part of the reconciliation if one is comparing, which then waits for the answers.
  private func tellNow(_ found: [DocumentHave]) {
    if phase == .asking { reconciler.tell(found) } else { sendHaves(found, round: 0) }
  }
}

extension IDFilter {
  fileprivate mutating func insertUnlessDenied(_ hash: UInt64) {
    if hash & 1 == 0, SyncDefect.filterDenies.isPlanted { return }
    insert(hash)
  }
}
