import CRDTCore
import DocStore
import Failpoints

/// The sender's half of the telling rule: it decides which stored documents without a match are offered to
/// the peer.
extension Pusher {
  /// Whether an offer that the peer must receive waits.
  var isTelling: Bool { telling.isWaiting || !tellingTasks.isEmpty }

  /// Decides whether to offer a document that is new here and does not match.
  func tells(event id: DocumentID, of collection: String) throws(SyncError) -> Bool {
    let verdict = telling[collection].receive(event: id)
    try perform(verdict.steps, collection)
    return verdict.tells
  }

  /// Performs the steps that one half of the rule asks for.
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

  /// Approximate number of documents and compacted tombstones that are stored here without a match.
  private func heldCount(of collection: String) throws(SyncError) -> UInt64 {
    try context.recordCount(of: collection).adding(context.certificateCount(of: collection))
  }

  /// Receives the peer's request for a filter of the documents that are stored here and not sent.
  ///
  /// After sending it, this peer offers each of them, and the peer only tells of those in the filter.
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

  /// Receives a part of the peer's filter, or its refusal to send one.
  ///
  /// With the filter, the peer tells of everything that it holds, and this peer only of what the filter
  /// contains.
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

  /// Restarts the rule in some collections; reconciliation covers what was told before.
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

  /// The id hashes of documents that are too large to be sent: a peer with a copy must say so, whether they
  /// match or not.
  private func oversizeHashes(of collection: String) throws(SyncError) -> [UInt64] {
    try context.read { transaction in
      try transaction.oversizeDocuments().filter { $0.collection.isSame(as: collection) }.map {
        IDFilter.hash($0.id)
      }
    }
  }

  /// Offers documents that waited, in their current state.
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
