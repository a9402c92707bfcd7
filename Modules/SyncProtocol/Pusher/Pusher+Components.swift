import CRDTCore
import DocStore
import Failpoints

/// The progress of a reconciliation through the components, each of which is sent as a whole.
struct ComponentPass {
  /// The next component to look at.
  var next = 0
  /// Whether the peer has sent its last question and request.
  ///
  /// Until then, only components are sent that no request can concern any more.
  var isLast = false
  /// Requested documents that are sent with their recent transactions once all requests are looked at.
  ///
  /// Many of them may be sent together.
  var due = WorkQueue<StoredPlace>()
}

extension Pusher {
  /// Reads the transactions that were committed up to the snapshot.
  func refreshRecent(_ transaction: borrowing ReadTransaction, _ concerned: Set<UInt32>) throws {
    try graph.refresh(
      transaction, concerns: { concerned.contains($0) }, damaged: context.tellUnreadable)
  }

  /// Whether components can be sent before the peer has sent its last question.
  var hasReadyComponents: Bool {
    graph.isReady && reconciliation.pass.next < graph.componentCount && !reconciliation.streams.isEmpty
  }

  /// Sends the next components.
  ///
  /// - Returns: `false` when there are none now.
  func addComponents(budget: inout Int) throws(SyncError) -> Bool {
    guard graph.isReady, reconciliation.pass.next < graph.componentCount else { return false }
    if reconciliation.streams.isEmpty {
      guard reconciliation.pass.isLast else { return false }
      // Requested documents are sent individually, by the steps that follow.
      reconciliation.pass.next = graph.componentCount
      return false
    }
    let concerned = try concernedCollections()
    try context.read { transaction in
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      while budget > 0, hasRoomToAdd, reconciliation.pass.next < graph.componentCount {
        let component = reconciliation.pass.next
        reconciliation.pass.next += 1
        budget -= 1
        guard !graph.isSent(component), try isDue(component, &sources, transaction) else { continue }
        let bundle = graph.bundle(of: component)
        guard try isReady(bundle, &sources, transaction) else { continue }
        try send(bundle, &sources, transaction, budget: &budget)
      }
    }
    return true
  }

  /// Sends requested documents that recent transactions bind, unless they were sent along with another one.
  func addDue(budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    try context.read { transaction in
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      while budget > 0, hasRoomToAdd, let place = reconciliation.pass.due.removeFirst() {
        budget -= 1
        guard deferred[place] != nil else { continue }
        try sendBundle(around: place, &sources, transaction, budget: &budget)
      }
    }
  }

  /// Sends the requested documents that waited for the peer's last question.
  ///
  /// - Returns: `false` when there is nothing left.
  func addDeferred(budget: inout Int) throws(SyncError) -> Bool {
    guard !deferred.isEmpty else { return false }
    let concerned = try concernedCollections()
    try context.read { transaction in
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      for place in deferred.keys.sorted() where deferred[place] != nil {
        guard budget > 0, hasRoomToAdd else { return }
        budget -= 1
        try sendBundle(around: place, &sources, transaction, budget: &budget)
        // Drop the request: the document was evicted.
        deferred[place] = nil
      }
    }
    return true
  }

  /// Sends a requested or due document with its closure, once no more requests can concern that.
  func sendBundle(
    around place: StoredPlace, _ sources: inout Sources, _ transaction: borrowing ReadTransaction
  ) throws {
    var budget = Int.max
    try sendBundle(around: place, &sources, transaction, budget: &budget)
  }

  private func sendBundle(
    around place: StoredPlace, _ sources: inout Sources, _ transaction: borrowing ReadTransaction,
    budget: inout Int
  ) throws {
    let bundle = graph.bundle(around: [place])
    guard try isReady(bundle, &sources, transaction) else { return }
    try send(bundle, &sources, transaction, budget: &budget)
  }

  /// Whether the peer may lack a part of a component.
  private func isDue(
    _ component: Int, _ sources: inout Sources, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    for run in graph.runs(of: component) {
      if let source = try sources.source(run.collection, transaction) {
        if case .nothing = source.streamed { continue }
        return true
      }
    }
    return false
  }

  /// Whether no more requests of the peer can concern the closure.
  private func isReady(
    _ bundle: Bundle, _ sources: inout Sources, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard !reconciliation.pass.isLast else { return true }
    for component in bundle.components {
      for run in graph.runs(of: component) {
        if let source = try sources.source(run.collection, transaction) {
          guard case .all = source.streamed else { return false }
        }
      }
    }
    return true
  }

  // MARK: - Sending it

  /// Sends the documents of a closure that the peer lacks, as one group, in ascending order of their
  /// numbers.
  private func send(
    _ bundle: Bundle, _ sources: inout Sources, _ transaction: borrowing ReadTransaction, budget: inout Int
  ) throws {
    batch.begin()
    let places = try include(bundle, &sources, transaction, budget: &budget)
    bind(places)
    batch.finish()
  }

  /// Binds documents that are sent together until they are acknowledged, if the peer may skip the group.
  ///
  /// The group builds on state that the peer may have evicted. One of its documents might then be sent
  /// alone, with something else.
  private func bind(_ places: [StoredPlace]) {
    guard batch.hasBases, 2...SyncLimits.groupDocuments ~= places.count,
      !SyncDefect.sentBindsNothing.isPlanted
    else { return }
    batch.name(graph.bind(places))
    if reconciliation.isActive { graph.noteBound(places) }
  }

  /// Adds the documents of a closure that the peer lacks to the group.
  ///
  /// - Returns: Those documents, if one of them may build on what the peer has.
  @discardableResult
  private func include(
    _ bundle: Bundle, _ sources: inout Sources, _ transaction: borrowing ReadTransaction, budget: inout Int
  ) throws -> [StoredPlace] {
    var places = bundle.places
    var included: [StoredPlace] = []
    let mayHaveBases = !deferred.isEmpty
    if reconciliation.isActive { graph.noteSent(places) }
    for component in bundle.components.sorted() {
      graph.noteSent(component: component)
      for run in graph.runs(of: component) {
        guard let source = try sources.source(run.collection, transaction) else { continue }
        try transaction.forEachIntactRecord(
          in: source.collection, numbers: run.numbers, damaged: context.tellDamaged
        ) { number, id, summary, record in
          budget -= 1
          let place = StoredPlace(collection: run.collection, number: number)
          let isRecent = !places.isEmpty && places.remove(place) != nil
          if mayHaveBases { included.append(place) }
          if let inclusion = takeDeferred(place) {
            try include(inclusion, id, summary, record, source)
          } else if isRecent || source.streamed.contains(id) {
            try include(.whole, id, summary, record, source)
          } else if mayHaveBases {
            included.removeLast()
          }
          return true
        }
      }
    }
    try sources.forEachIntactRecord(at: places, transaction) { source, place, id, summary, record in
      if mayHaveBases { included.append(place) }
      try include(takeDeferred(place) ?? .whole, id, summary, record, source)
    }
    // Drop the requests: these documents were evicted or are damaged.
    for place in places { _ = takeDeferred(place) }
    return included
  }

  /// Answers requests outside of a reconciliation, with everything that recent transactions bind to the
  /// documents.
  func answer(_ group: RequestGroup) throws(SyncError) {
    let concerned = try concernedCollections()
    forgetConfirmed(answering: group.binding)
    try context.read { transaction in
      try refreshRecent(transaction, concerned)
      var sources = Sources(self)
      if try isAnswered(group, &sources, transaction) { return }
      batch.begin(sequence: group.binding ?? graph.makeName(), mayOvertake: false)
      var places: [StoredPlace] = []
      for request in group.requests {
        guard let source = try sources.source(request.collection, transaction) else { continue }
        let key = DocumentKey(collection: source.collection.id, id: request.id)
        if isMet(request, key, source) { continue }
        let isKnown = try transaction.visitIntactRecord(
          source.collection, request.id, damaged: context.tellDamaged
        ) { found, record, summary in
          let id = request.id.bytes.span.bytes
          guard let found else { return try include(.requested(request), id, summary, record, source) }
          // A document that is not sent must not pull in others: two peers could answer each other with
          // those forever.
          guard goesOut(.requested(request), id, summary, record, source) else { return }
          if !group.isPull { motion.contend(key) }
          let place = StoredPlace(collection: source.collection.id, number: found.number)
          places.append(place)
          deferred[place] = .requested(request)
        }
        if !isKnown, request.isHeld { watch.insert(key) }
      }
      var budget = Int.max
      try include(graph.bundle(around: places), &sources, transaction, budget: &budget)
      batch.finish()
    }
  }

  /// Whether every document of a request is on its way with another answer that the peer had not applied when it
  /// asked.
  private func isAnswered(
    _ group: RequestGroup, _ sources: inout Sources, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard !motion.isEmpty, group.requests.allSatisfy({ !$0.isReply }) else { return false }
    var answers: Set<UInt64> = []
    for request in group.requests {
      guard let source = try sources.source(request.collection, transaction) else { continue }
      let key = DocumentKey(collection: source.collection.id, id: request.id)
      var answer: UInt64?
      if motion.contains(key) {
        try transaction.visitIntactRecord(source.collection, request.id, damaged: context.tellDamaged) {
          _, _, summary in
          let hash = Fingerprint.hash(id: request.id.bytes.span.bytes, summary: summary)
          answer = motion.group(with: key, hash: hash, seen: request.seen)
        }
      }
      guard let answer else { return false }
      answers.insert(answer)
    }
    // They stay bound: the peer may skip the other answer, too.
    if let binding = group.binding { graph.bind(binding, with: answers) }
    return true
  }

  private func takeDeferred(_ place: StoredPlace) -> Inclusion? {
    deferred.isEmpty ? nil : deferred.removeValue(forKey: place)
  }
}
