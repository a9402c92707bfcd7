import CRDTCore
import DocStore
import Failpoints

/// Offers: what the peer hears of what is held here and not sent, as the sender's half decides.
extension Pusher {
  /// Whether something that the peer is to hear of waits.
  var isTelling: Bool { telling.isWaiting || !tellingTasks.isEmpty }

  /// Decides on a document that is new here without a match.
  func tells(event id: DocumentID, of collection: String) throws(SyncError) -> Bool {
    let verdict = telling[collection].receive(event: id)
    try perform(verdict.steps, collection)
    return verdict.tells
  }

  /// Does what a half asks for.
  func perform(_ steps: [Telling.Step], _ collection: String) throws(SyncError) {
    for step in steps {
      switch step {
      case .tell(let ids): tellingTasks.append(.tell(collection, ids[...]))
      case .tellAll: tellingTasks.append(.tellHeld(HeldScan(.offers, collection), number: nil))
      case .lookAtAll(let number):
        SyncPoint.lookedAtAll.reached()
        tellingTasks.append(.tellHeld(HeldScan(.offers, collection), number: number))
      case .count(let number):
        tellingTasks.append(.count(HeldScan(.offers, collection), 0, number: number))
      case .fill(let number, let size):
        tellingTasks.append(
          .fill(HeldScan(.offers, collection), IDFilter(byteCount: size.byteCount), number: number))
      case .ask(let number, let spent):
        let count = try heldCount(of: collection)
        guard let cleared = gatekeeper?.clear(collection) else { continue }
        let ask = FilterAsk(cleared, role: .offers, number: number, count: count, spent: spent)
        context.send(.filterWanted) { ask.encode(to: &$0) }
      case .answerNothing(let number): send([.nothing(role: .haves, number: number, collection)])
      case .refuse(let number, let price):
        send([.refused(role: .haves, number: number, collection, price: price)])
      }
    }
  }

  private func send(_ frames: [FilterFrame]) {
    for frame in frames { context.send(.filter) { frame.encode(to: &$0) } }
  }

  /// About how many documents, and certificates, are held here without a match.
  private func heldCount(of collection: String) throws(SyncError) -> UInt64 {
    try context.recordCount(of: collection).adding(context.certificateCount(of: collection))
  }

  /// The peer would rather have this one tell what it holds and does not send.
  func take(_ ask: FilterAsk) throws(SyncError) {
    let isOpen = concerns(ask.collection)
    guard isOpen else {
      return send([.nothing(role: .haves, number: ask.number, ask.collection)])
    }
    guard telling.mayMakeFilter(ofAtMost: try heldCount(of: ask.collection), now: context.now) else {
      return send([.refused(role: .haves, number: ask.number, ask.collection, price: 0)])
    }
    try perform(telling[ask.collection].receive(ask: ask, isOpen: isOpen), ask.collection)
  }

  /// The peer tells what it holds, from now on.
  func take(_ frame: FilterFrame) throws(SyncError) {
    guard concerns(frame.collection) else { return }
    let held = try heldCount(of: frame.collection)
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

  /// Begins anew in some collections: what was told before is compared.
  func resetTelling(where isChanged: (TextKey) -> Bool = { _ in true }) {
    for (collection, number) in telling.reset(where: isChanged) {
      send([.refused(role: .haves, number: number, collection, price: 0)])
    }
  }

  func run(_ task: TellingTask, budget: inout Int) throws(SyncError) {
    switch task {
    case .count(var scan, var count, let number):
      guard telling[scan.collection].makes(number) else { return }
      try context.step(&scan, interest, budget: &budget) { _, _, _, _ in
        count += 1
      } certificate: { _ in
        count += 1
      }
      guard scan.isDone else { return tellingTasks.prepend(.count(scan, count, number: number)) }
      let all = count.adding(UInt64(try oversizeHashes(of: scan.collection).count))
      let room = context.filterRoom(telling)
      try perform(
        telling[scan.collection].receive(count: all, number: number, room: room), scan.collection)
    case .fill(var scan, var filter, let number):
      guard telling[scan.collection].makes(number) else { return }
      try context.step(&scan, interest, budget: &budget) { id, _, _, _ in
        filter.insert(IDFilter.hash(id))
      } certificate: {
        filter.insert($0)
      }
      guard scan.isDone else { return tellingTasks.prepend(.fill(scan, filter, number: number)) }
      for hash in try oversizeHashes(of: scan.collection) { filter.insert(hash) }
      if let cleared = gatekeeper?.clear(scan.collection) {
        send(FilterFrame.frames(cleared, role: .haves, number: number, filter))
      } else {
        send([.nothing(role: .haves, number: number, scan.collection)])
      }
      try perform(telling[scan.collection].finishFilter(number), scan.collection)
    case .tell(let collection, let ids): try tell(collection, ids, budget: &budget)
    case .tellHeld(var scan, let number):
      let half = telling[scan.collection]
      if let number, !half.looks(under: number) { return }
      let gatekeeper = gatekeeper
      let collection = scan.collection
      var offers: [DocumentOffer] = []
      try context.step(&scan, interest, budget: &budget) { id, summary, _, _ in
        guard number == nil || half.tells(IDFilter.hash(id)), let cleared = gatekeeper?.clear(collection)
        else { return }
        let hash = Fingerprint.hash(id: id, summary: summary)
        offers.append(
          DocumentOffer(cleared, item: DocumentHash(id: DocumentID(trusted: id.copied), hash: hash)))
      }
      send(offers)
      guard scan.isDone else { return tellingTasks.prepend(.tellHeld(scan, number: number)) }
      if let number { telling[collection].finishLook(under: number) }
    }
  }

  /// What stands for the documents of a collection that are too large to be sent: whether they match or not, who holds a
  /// copy has to say so.
  private func oversizeHashes(of collection: String) throws(SyncError) -> [UInt64] {
    try context.read { transaction in
      try transaction.oversizeDocuments().filter { $0.collection.isSame(as: collection) }.map {
        IDFilter.hash($0.id)
      }
    }
  }

  /// Offers documents that waited, as they are by now.
  private func tell(
    _ collection: String, _ ids: ArraySlice<DocumentID>, budget: inout Int
  ) throws(SyncError) {
    let now = ids.prefix(max(budget / 8, 1))
    budget -= now.count * 8
    guard concerns(collection) else { return }
    let interest = interest
    let gatekeeper = gatekeeper
    let offers: [DocumentOffer] = try context.read { transaction in
      var offers: [DocumentOffer] = []
      guard let known = try transaction.collection(collection), let matcher = interest.matcher(for: known)
      else { return offers }
      for id in now {
        try transaction.visitIntactRecord(known, id, damaged: context.tellDamaged) { _, record, summary in
          let bytes = id.bytes.span.bytes
          guard !matcher.matches(bytes, record), let cleared = gatekeeper?.clear(collection) else { return }
          offers.append(
            DocumentOffer(
              cleared,
              item: DocumentHash(id: id, hash: Fingerprint.hash(id: bytes, summary: summary))))
        }
      }
      return offers
    }
    send(offers)
    let rest = ids.dropFirst(now.count)
    if !rest.isEmpty { tellingTasks.prepend(.tell(collection, rest)) }
  }
}
