import CRDTCore
import DocStore
import Failpoints

/// How far a reconciliation is with what belongs together, which goes out component by component.
struct ComponentPass {
  /// The next component to look at.
  var next = 0
  /// Whether the peer has asked and wanted all: until then only those go that nothing can be asked of any more.
  var isLast = false
  /// Documents that were wanted, and go out with what recent transactions bind to them once all wants are looked at:
  /// many may go out together.
  var due = WorkQueue<StoredPlace>()
}

extension Pusher {
  /// Takes note of what was committed up to the snapshot.
  func refreshRecent(_ transaction: borrowing ReadTransaction, _ concerned: Set<UInt32>) throws {
    try graph.refresh(
      transaction, concerns: { concerned.contains($0) }, damaged: context.tellUnreadable)
  }

  /// Whether there are components that can go out before all is asked.
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
      // What was wanted goes out by itself.
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

  /// Sends what was wanted and is bound by recent transactions, unless it went out with another such document.
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

  /// Sends what was asked for and waited for all to be asked.
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
        // What is here no more is owed no more.
        deferred[place] = nil
      }
    }
    return true
  }

  /// Sends a document that was asked for, or is due, with all that belongs with it, once nothing of that can be
  /// asked for any more.
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

  /// Whether something of a component may be lacking at the peer.
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

  /// Whether the peer can ask for nothing more of what goes out together.
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

  /// Sends those of a bundle that the peer lacks, as one group, by ascending numbers.
  private func send(
    _ bundle: Bundle, _ sources: inout Sources, _ transaction: borrowing ReadTransaction, budget: inout Int
  ) throws {
    batch.begin()
    let places = try include(bundle, &sources, transaction, budget: &budget)
    bind(places)
    batch.finish()
  }

  /// Binds what goes out together as long as it is under way, if the peer may leave it out, since it builds on what the
  /// peer may have let go of: a part of it may yet be sent beside something else.
  private func bind(_ places: [StoredPlace]) {
    guard batch.hasBases, 2...SyncLimits.groupDocuments ~= places.count,
      !SyncDefect.sentBindsNothing.isPlanted
    else { return }
    batch.name(graph.bind(places))
    if reconciliation.isActive { graph.noteBound(places) }
  }

  /// Adds those of a bundle that the peer lacks to the group.
  ///
  /// - Returns: Them, where one may build on what the peer has.
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
    // What is here no more, or damaged, is owed no more.
    for place in places { _ = takeDeferred(place) }
    return included
  }

  /// Answers requests outside of a reconciliation, with what recent transactions bind to them.
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
          // What does not go out calls for nothing else: two peers could answer each other with the rest for ever.
          guard goesOut(.requested(request), id, summary, record, source) else { return }
          if !group.isPull { contention.insert(key) }
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

  /// Whether all that a group asks for went out whole since it came, beside what another asked for.
  private func isAnswered(
    _ group: RequestGroup, _ sources: inout Sources, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard requests.hasAnswered else { return false }
    var answers: Set<UInt64> = []
    for request in group.requests {
      guard let source = try sources.source(request.collection, transaction) else { continue }
      let key = DocumentKey(collection: source.collection.id, id: request.id)
      guard let answer = requests.answer(to: key, of: group) else { return false }
      answers.insert(answer)
    }
    // They stay bound: the peer may leave out the other answer, too.
    if let binding = group.binding { graph.bind(binding, with: answers) }
    return true
  }

  private func takeDeferred(_ place: StoredPlace) -> Inclusion? {
    deferred.isEmpty ? nil : deferred.removeValue(forKey: place)
  }
}
