import CRDTCore
import DocStore

/// A piece of the receiver's work, which may take several calls.
enum IntakeTask {
  /// Compute what is held in ranges that follow each other, then ask about those that may differ.
  case fingerprint(RangeScan, theirs: [Fingerprint]?)
  /// Compare a listing with what is held.
  case items(collection: String, ArraySlice<DocumentHash>)
  /// Tell of what is held in a range and was not listed, to a sender that holds so many others.
  case leftovers(KeyRange, listed: Set<DocumentID>, others: UInt64, cursor: [UInt8])
  /// Ask for what the sender has of documents held here in another state.
  case rest(collection: String, ArraySlice<DocumentHash>)
  /// What telling of what is held comes to.
  case telling(TellingTask)
  /// Tell what happened here since a sequence, of which so many documents were told already.
  case ownLog(after: UInt64, told: Int)

  /// Whether it goes on when a reconciliation begins.
  var outlastsRounds: Bool {
    switch self {
    case .telling, .ownLog: true
    case .fingerprint, .items, .leftovers, .rest: false
    }
  }
}

extension Intake {
  func run(_ task: IntakeTask, budget: inout Int) throws(SyncError) {
    switch task {
    case .fingerprint(let scan, let theirs): try runFingerprint(scan, theirs, budget: &budget)
    case .items(let collection, let items): try runItems(collection, items, budget: &budget)
    case .leftovers(let range, let listed, let others, let cursor):
      try runLeftovers(range, listed, others, from: cursor, budget: &budget)
    case .rest(let collection, let items): try runRest(collection, items, budget: &budget)
    case .telling(let task): try run(task, budget: &budget)
    case .ownLog(let sequence, let told): try runOwnLog(after: sequence, told: told, budget: &budget)
    }
  }

  private func runFingerprint(
    _ scan: RangeScan, _ theirs: [Fingerprint]?, budget: inout Int
  ) throws(SyncError) {
    let range = scan.range
    let mine: [Fingerprint]
    if theirs != nil, let digest = digests.covering(range) {
      budget -= 1
      mine = digest.fingerprints(of: range, cutAt: scan.bounds)
    } else {
      var scan = scan
      try context.advance(&scan, &interest, budget: &budget)
      guard scan.isDone else { return tasks.prepend(.fingerprint(scan, theirs: theirs)) }
      mine = scan.fingerprints
      digests.keep(scan.digest)
    }
    for (index, part) in range.parts(cutAt: scan.bounds).enumerated() where theirs?[index] != mine[index] {
      compare(part, mine[index])
    }
  }

  /// Asks about a range of which this is held here, telling as much of it as may be told.
  private func compare(_ range: KeyRange, _ mine: Fingerprint) {
    if mine.count == 0 {
      guard range.isWhole else { return ask(range, holding: mine, .everything(nextRequest, range)) }
      if asksBeforeMuch { return ask(range, holding: mine, .tell(nextRequest, range, isSecret: false)) }
      guard mayAskForMuch(of: range.collection, count: nil) else { return }
      return ask(range, holding: mine, .everything(nextRequest, range))
    }
    if let cleared = context.gatekeeper?.clear(range.collection) {
      return ask(
        range, holding: mine, RangeQuestion(cleared, request: nextRequest, range: range, holding: mine))
    }
    ask(range, holding: mine, .tell(nextRequest, range, isSecret: true))
  }

  func askForRest(_ range: KeyRange) { ask(range, holding: nil, .rest(nextRequest, range)) }

  private func ask(_ range: KeyRange, holding mine: Fingerprint?, _ question: RangeQuestion) {
    open[question.request] = OpenQuestion(range: range, fingerprint: mine)
    nextRequest = question.request + 1
    questions.append(question)
  }

  /// Wants what differs from the listing, quoting what is here.
  private func runItems(
    _ collection: String, _ items: ArraySlice<DocumentHash>, budget: inout Int
  ) throws(SyncError) {
    let now = items.prefix(max(budget, 1))
    budget -= now.count
    let gatekeeper = context.gatekeeper
    let leaves = context.shared.leaves
    wants += try context.read { transaction in
      let known = try transaction.collection(collection)
      let hasLeft = try transaction.hasLeavingNotes()
      let sites = transaction.sites
      var wants: [DocumentWant] = []
      for item in now {
        var version = DocumentVersion(collection: collection, id: item.id)
        var isSame = false
        if let known {
          // What is damaged here cannot be merged with.
          try transaction.visitIntactRecord(
            known, item.id,
            damaged: {
              isSame = true
              context.tellDamaged($0)
            }
          ) { _, record, summary in
            isSame = Fingerprint.hash(id: item.id.bytes.span.bytes, summary: summary) == item.hash
            if !isSame { version.vector = try record.vector(sites: sites) }
          }
          if hasLeft, !isSame, version.vector.isEmpty,
            let left = leaves.vectorLeft(
              try transaction.leavingNote(for: item.id, in: known), in: collection)
          {
            version.vector = left
          }
        }
        if !isSame { wants.append(DocumentWant(version, gatekeeper)) }
      }
      return wants
    }
    let rest = items.dropFirst(now.count)
    if !rest.isEmpty { tasks.prepend(.items(collection: collection, rest)) }
  }

  private func runLeftovers(
    _ range: KeyRange, _ listed: Set<DocumentID>, _ others: UInt64, from cursor: [UInt8], budget: inout Int
  ) throws(SyncError) {
    // It is all looked at when the sender's filter is here.
    guard !lookedAt.contains(TextKey(range.collection)) else { return }
    var interest = interest
    var left = budget
    var next: [UInt8]?
    let gatekeeper = context.gatekeeper
    let found: [DocumentHave] = try context.read { transaction in
      var found: [DocumentHave] = []
      guard let collection = try transaction.collection(range.collection),
        let matcher = interest.matcher(for: collection)
      else { return found }
      let sites = transaction.sites
      try transaction.forEachIntactRecord(
        in: collection, from: cursor, to: range.to.isEmpty ? nil : range.to, damaged: context.tellDamaged
      ) { _, id, summary, record in
        guard left > 0 else {
          next = id.copied
          return false
        }
        left -= 1
        guard matcher.matches(id, record) else { return true }
        let key = DocumentID(trusted: id.copied)
        guard !listed.contains(key) else { return true }
        guard let cleared = gatekeeper?.clear(range.collection) else { return false }
        found.append(
          DocumentHave(
            cleared, id: key, hash: Fingerprint.hash(id: id, summary: summary),
            vector: try record.vector(sites: sites)))
        // What is told costs more than what is passed over.
        left -= 7
        return true
      }
      return found
    }
    budget = left
    self.interest = interest
    if !found.isEmpty {
      switch telling[range.collection].receive(leftovers: UInt64(found.count), facing: others) {
      case .tell: haves += found
      case .all(let steps):
        lookedAt.insert(TextKey(range.collection))
        return try perform(steps, range.collection)
      }
    }
    if let next { tasks.prepend(.leftovers(range, listed: listed, others: others, cursor: next)) }
  }

  /// Wants what the sender has, in another state, of what is held here under the interest.
  private func runRest(
    _ collection: String, _ items: ArraySlice<DocumentHash>, budget: inout Int
  ) throws(SyncError) {
    let now = items.prefix(max(budget, 1))
    budget -= now.count
    wants += try differing(now.map { (collection, $0) })
    let rest = items.dropFirst(now.count)
    if !rest.isEmpty { tasks.prepend(.rest(collection: collection, rest)) }
  }

  /// Those of the sender's documents that are held here under the interest in another state.
  func differing(_ items: [(collection: String, item: DocumentHash)]) throws(SyncError) -> [DocumentWant] {
    var interest = interest
    defer { self.interest = interest }
    let gatekeeper = context.gatekeeper
    return try context.read { transaction in
      let sites = transaction.sites
      var wants: [DocumentWant] = []
      for (name, item) in items {
        guard let collection = try transaction.collection(name),
          let matcher = interest.matcher(for: collection)
        else { continue }
        try transaction.visitIntactRecord(collection, item.id, damaged: context.tellDamaged) {
          _, record, summary in
          let id = item.id.bytes.span.bytes
          guard matcher.matches(id, record), Fingerprint.hash(id: id, summary: summary) != item.hash else {
            return
          }
          let version = DocumentVersion(
            collection: name, id: item.id, vector: try record.vector(sites: sites))
          wants.append(DocumentWant(version, isHeld: true, gatekeeper))
        }
      }
      return wants
    }
  }
}
