import CRDTCore
import DocStore

/// A range whose documents are sent without requests, and the progress of the walk.
struct StreamWalk {
  let range: KeyRange
  /// The next id; a walk through a whole collection uses numbers instead, which is faster.
  var position: [UInt8]
  var number = DocumentNumber(1)

  init(range: KeyRange) {
    self.range = range
    position = range.from
  }
}

/// Sending ranges in which the peer has nothing.
extension ReconciliationServer {
  /// Queues a range in which the receiver has nothing.
  func stream(_ range: KeyRange) throws(SyncError) {
    // A peer that asks twice costs one look.
    if range.isWhole, case .nothing = reconciliation.streams.coverage(of: range.collection) {
      try addForecast(of: range.collection)
    }
    reconciliation.streams.insert(range)
    reconciliation.streamWalks.append(StreamWalk(range: range))
    // Closures may be complete now.
    if range.isWhole { reconciliation.pass.next = 0 }
  }

  /// Sends the documents of a range, except those of a closure.
  func addStream(_ walk: StreamWalk, budget: inout Int) throws(SyncError) {
    var walk = walk
    let isDone = try sender.readSources { snapshot, sources in
      guard let source = try sources.source(walk.range.collection, snapshot) else { return true }
      return walk.range.isWhole
        ? try step(&walk, byNumberIn: source, &sources, snapshot, budget: &budget)
        : try step(&walk, byIDIn: source, &sources, snapshot, budget: &budget)
    }
    if !isDone { reconciliation.streamWalks.prepend(walk) }
  }

  /// Sends the documents whose numbers lie between the runs of closures.
  ///
  /// - Returns: Whether it reached the end.
  private func step(
    _ walk: inout StreamWalk, byNumberIn source: Source, _ sources: inout Sources,
    _ snapshot: borrowing ReadTransaction, budget: inout Int
  ) throws -> Bool {
    let collection = source.collection
    var (visited, matched) = (UInt64(0), UInt64(0))
    defer { correctForecast(of: walk.range.collection, visited: visited, matched: matched) }
    // Documents that are new since the first question are sent as live changes.
    while let gap = sender.graph.gap(
      from: StoredPlace(collection: collection.id, number: walk.number), through: reconciliation.lastDocument)
    {
      guard budget > 0, sender.hasRoomToAdd else { return false }
      walk.number = gap.lowerBound
      let before = budget
      var isPaused = false
      try snapshot.forEachIntactRecord(in: collection, numbers: gap, damaged: context.reportDamaged) {
        number, id, summary, record in
        guard budget > 0, sender.hasRoomToAdd else {
          walk.number = number
          isPaused = true
          return false
        }
        budget -= 1
        visited += 1
        guard source.matcher.matches(id, record) else { return true }
        matched += 1
        let place = StoredPlace(collection: collection.id, number: number)
        try addLoose(place, id, summary, record, source, &sources, snapshot)
        return true
      }
      if isPaused { return false }
      walk.number = gap.upperBound.next
      // An empty gap costs one unit, too; a gap with documents has paid already.
      if budget == before { budget -= 1 }
    }
    return true
  }

  private func step(
    _ walk: inout StreamWalk, byIDIn source: Source, _ sources: inout Sources,
    _ snapshot: borrowing ReadTransaction, budget: inout Int
  ) throws -> Bool {
    let collection = source.collection
    var isDone = true
    try snapshot.forEachIntactRecord(
      in: collection, from: walk.position, to: walk.range.to.isEmpty ? nil : walk.range.to,
      damaged: context.reportDamaged
    ) { number, id, summary, record in
      guard budget > 0, sender.hasRoomToAdd else {
        walk.position = id.copied
        isDone = false
        return false
      }
      budget -= 1
      let place = StoredPlace(collection: collection.id, number: number)
      guard source.matcher.matches(id, record), !sender.graph.isInClosure(place) else { return true }
      try addLoose(place, id, summary, record, source, &sources, snapshot)
      return true
    }
    return isDone
  }

  /// Sends a matching document of no closure, with the documents that recent transactions bind to it.
  private func addLoose(
    _ place: StoredPlace, _ id: RawSpan, _ summary: Summary, _ record: borrowing RecordView,
    _ source: Source, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction
  ) throws {
    guard sender.graph.isRecent(place) else {
      sender.batch.begin()
      try sender.include(.whole, id, summary, record, source)
      sender.batch.finish()
      return
    }
    guard !sender.graph.isSent(place) else { return }
    sender.deferred[place] = sender.deferred[place] ?? .whole
    try sendBoundDocuments(around: place, &sources, snapshot)
  }
}
