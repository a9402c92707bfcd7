import CRDTCore
import DocStore

/// A range whose documents go out unasked, and how far that is.
struct StreamWalk {
  let range: KeyRange
  var cursor: [UInt8]

  init(range: KeyRange) {
    self.range = range
    cursor = range.from
  }
}

/// The end of a reconciliation: what belongs together goes out component by component.
struct GroupPass {
  let ranges: RangeSet
  var cursor: UInt64 = 0
  /// Components of several records, until all of them are read.
  var partial: [UInt32: (keys: Set<DocumentKey>, records: Int)] = [:]
  /// Components that were sent.
  var complete: Set<UInt32> = []
}

/// What group records bound together when a reconciliation began, and do not any more at its end.
///
/// The store forgets old records; a document that only they name goes out by itself.
struct UnboundDocuments {
  let components: Set<UInt32>
  /// Those that a record that is left has named.
  let sent: Set<DocumentKey>
}

extension Supply {
  func beginRound(_ number: UInt64) throws(SyncError) {
    endRound()
    round = number
    isRoundActive = true
    isAwaitingRound = false
    let (keys, sequence) = try context.read { (try $0.oversizeKeys(), $0.sequence) }
    oversize = keys
    index = GroupIndex(through: sequence)
    recent = RecentGroups(after: sequence)
  }

  /// Forgets the reconciliation; the peer begins another one if it needs to.
  func endRound() {
    isRoundActive = false
    isAsked = false
    questions.removeAll()
    answers = []
    streams = []
    streamWalks.removeAll()
    wanted.removeAll()
    deferred = [:]
    roundCost = 0
    index = GroupIndex(through: 0)
    recentSent = []
    pass = nil
    unbound = nil
    settledAfter = nil
  }

  /// Takes the peer's wants; those outside of a reconciliation wait for its end.
  func take(_ list: WantList) throws(SyncError) {
    try take(list.wants.map { DocumentRequest($0) }, round: list.round, isGroup: list.isGroup)
  }

  func take(_ haves: [DocumentHave], round: UInt64) throws(SyncError) {
    try take(haves.map { DocumentRequest($0) }, round: round, isGroup: false)
  }

  private func take(_ asked: [DocumentRequest], round: UInt64, isGroup: Bool) throws(SyncError) {
    guard generation != nil else { throw SyncError(.outOfOrder, "Wants before an interest") }
    let relevant = asked.filter { concerns($0.collection) }
    let cost = relevant.reduce(0) { $0 + $1.cost }
    guard (round == 0 ? requestCost : roundCost) + cost <= SyncLimits.wantedCost else {
      throw SyncError(.limit, "The peer asks for too many documents at once")
    }
    if round != 0 {
      guard round == self.round, isRoundActive else { return }
      guard !isAsked else { throw SyncError(.outOfOrder, "Wants after the last one") }
      roundCost += cost
      for request in relevant { wanted.append(request) }
    } else {
      enqueue(relevant, isGroup: isGroup)
    }
  }

  func enqueue(_ asked: [DocumentRequest], isGroup: Bool) {
    guard !asked.isEmpty else { return }
    requestCost += asked.reduce(0) { $0 + $1.cost }
    if isGroup {
      requests.append(RequestGroup(requests: asked))
    } else {
      for request in asked { requests.append(RequestGroup(requests: [request])) }
    }
  }

  /// The peer has asked and wanted all it will in this reconciliation.
  func asked(round: UInt64) throws(SyncError) {
    guard round == self.round, isRoundActive else { return }
    guard !isAsked else { throw SyncError(.outOfOrder, "The last question came before") }
    isAsked = true
  }

  /// Adds what the reconciliation has next.
  ///
  /// - Returns: `false` when it has nothing now.
  func addOfRound(budget: inout Int) throws(SyncError) -> Bool {
    guard isRoundActive, budget > 0, hasRoomToAdd else { return false }
    if !index.isReady, needsIndex {
      try buildIndex(budget: &budget)
      return index.isReady
    }
    if !wanted.isEmpty {
      try addWanted(budget: &budget)
      return true
    }
    if let walk = streamWalks.removeFirst() {
      try addStream(walk, budget: &budget)
      return true
    }
    guard isAsked, questions.isEmpty else { return false }
    if unbound == nil {
      if pass == nil { pass = GroupPass(ranges: RangeSet(streams)) }
      if try addComponents(budget: &budget) || !streamWalks.isEmpty { return true }
    }
    isRoundActive = false
    settledAfter = outgoing.taken
    return false
  }

  /// Two peers that agree have no use for it.
  var needsIndex: Bool { !wanted.isEmpty || !streams.isEmpty }

  private func buildIndex(budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    var index = index
    self.index = GroupIndex(through: 0)
    try context.read { try index.step($0, concerns: { concerned.contains($0) }, budget: &budget) }
    self.index = index
  }

  /// The numbers of the collections that this session has to do with.
  func concernedCollections() throws(SyncError) -> Set<UInt32> {
    let names = interest.names.filter(concerns)
    return try context.read { transaction in Set(try names.compactMap { try transaction.collection($0)?.id })
    }
  }

  /// Answers wants, those of documents that belong to no group at once.
  private func addWanted(budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    var left = budget
    try context.read { transaction in
      try recent.refresh(transaction) { concerned.contains($0) }
      while left > 0, hasRoomToAdd, let request = wanted.removeFirst() {
        left -= 1
        guard let collection = try transaction.collection(request.collection) else { continue }
        let key = DocumentKey(collection: collection.id, id: request.id)
        if index.contains(key) {
          deferred[key] = request
        } else {
          try addWithRecent(key, .requested(request), transaction)
        }
      }
    }
    budget = left
  }

  var hasRoomToAdd: Bool {
    outgoing.streamBytes < outgoing.window.pieceBytes
      && outgoing.waitingTransferBytes < context.tuning.bytesPerCall
  }

  /// Sends the documents of a range, except those that belong to a group.
  private func addStream(_ walk: StreamWalk, budget: inout Int) throws(SyncError) {
    let concerned = try concernedCollections()
    var interest = interest
    var left = budget
    var walk = walk
    var paused = false
    try context.read { transaction in
      try recent.refresh(transaction) { concerned.contains($0) }
      guard let collection = try transaction.collection(walk.range.collection),
        let matcher = interest.matcher(for: collection)
      else { return }
      let encoding = makeEncoding(collection, transaction)
      try transaction.forEachRecord(
        in: collection, from: walk.cursor, to: walk.range.to.isEmpty ? nil : walk.range.to
      ) { id, _, record in
        guard left > 0, hasRoomToAdd else {
          walk.cursor = id.copied
          paused = true
          return false
        }
        left -= 1
        guard matcher.matches(id, record) else { return true }
        if index.isEmpty, recent.isEmpty, oversize.isEmpty, unbound == nil {
          try addAlone(id, record, encoding)
          return true
        }
        let key = DocumentKey(collection: collection.id, id: DocumentID(trusted: id.copied))
        guard isDue(key) else { return true }
        try addWithRecent(key, .whole, transaction)
        return true
      }
    }
    self.interest = interest
    budget = left
    if paused { streamWalks.prepend(walk) }
  }

  /// Whether a walk sends a document, rather than what goes by group records.
  private func isDue(_ key: DocumentKey) -> Bool {
    guard let unbound else { return !index.contains(key) }
    guard let component = index.component(of: key) else { return false }
    return unbound.components.contains(component) && !unbound.sent.contains(key)
  }

  /// Sends a document together with those that a recent transaction bound to it.
  private func addWithRecent(
    _ key: DocumentKey, _ inclusion: Inclusion, _ transaction: borrowing ReadTransaction
  ) throws {
    guard recent.contains(key) else { return try add([(key, inclusion)], transaction) }
    guard !recentSent.contains(key) else { return }
    let closure = recent.closure(of: CollectionOfOne(key))
    recentSent.formUnion(closure)
    try add(
      closure.inOrder().map {
        ($0, $0 == key ? inclusion : deferred.removeValue(forKey: $0).map(Inclusion.requested) ?? .whole)
      }, transaction)
  }

  // MARK: - Components

  /// Sends the next components of group records.
  ///
  /// - Returns: `false` when all are done.
  private func addComponents(budget: inout Int) throws(SyncError) -> Bool {
    guard var pass else { return false }
    self.pass = nil
    let concerned = try concernedCollections()
    var left = budget
    var isDone = true
    try context.read { transaction in
      try recent.refresh(transaction) { concerned.contains($0) }
      let end = index.through
      try transaction.groups(after: pass.cursor) { sequence, members in
        guard sequence <= end else { return false }
        guard left > 0, hasRoomToAdd else {
          isDone = false
          return false
        }
        left -= members.count
        pass.cursor = sequence
        try take(GroupIndex.relevant(members) { concerned.contains($0) }, &pass, transaction)
        return true
      }
      guard isDone else { return }
      // A record that was trimmed in the meantime leaves its component incomplete, documents that no record
      // names, and wants that nobody claims.
      var sent: Set<DocumentKey> = []
      for (_, component) in pass.partial.sorted(by: { $0.key < $1.key }) {
        try send(component.keys.inOrder(), pass.ranges, transaction)
        sent.formUnion(component.keys)
      }
      pass.partial = [:]
      let incomplete = index.components(except: pass.complete)
      if !incomplete.isEmpty, !streams.isEmpty {
        unbound = UnboundDocuments(components: incomplete, sent: sent)
        for range in streams { streamWalks.append(StreamWalk(range: range)) }
      }
      for (key, request) in deferred { try add([(key, .requested(request))], transaction) }
      deferred = [:]
    }
    budget = left
    if isDone { return false }
    self.pass = pass
    return true
  }

  private func take(
    _ members: [DocumentKey], _ pass: inout GroupPass, _ transaction: borrowing ReadTransaction
  ) throws {
    guard let first = members.first, let component = index.component(of: first) else { return }
    guard members.count >= 2 else {
      // The others may have been evicted since the index was made; or it never was a group for this session,
      // and the document is in another.
      if !pass.complete.contains(component) {
        pass.partial[component, default: (keys: [], records: 0)].keys.insert(first)
      }
      return
    }
    let count = index.recordCount(of: component)
    if count == 1, pass.partial[component] == nil {
      pass.complete.insert(component)
      return try send(members.inOrder(), pass.ranges, transaction)
    }
    var known = pass.partial.removeValue(forKey: component) ?? (keys: [], records: 0)
    known.keys.formUnion(members)
    known.records += 1
    guard known.records >= count else {
      pass.partial[component] = known
      return
    }
    pass.complete.insert(component)
    try send(known.keys.inOrder(), pass.ranges, transaction)
  }

  /// Sends those of a component that the peer lacks, with what recent transactions bound to them.
  private func send(
    _ keys: [DocumentKey], _ ranges: RangeSet, _ transaction: borrowing ReadTransaction
  ) throws {
    var included: [(DocumentKey, Inclusion)] = []
    included.reserveCapacity(keys.count)
    for key in keys {
      if let request = takeDeferred(key) {
        included.append((key, .requested(request)))
      } else if let name = try transaction.collection(number: key.collection)?.name,
        ranges.contains(name, key.id.bytes)
      {
        included.append((key, .whole))
      }
    }
    if !recent.isEmpty, !included.isEmpty {
      let known = Set(included.map(\.0))
      for key in recent.closure(of: known).subtracting(known).inOrder() {
        included.append((key, takeDeferred(key).map(Inclusion.requested) ?? .whole))
      }
    }
    if !included.isEmpty { try add(included, transaction) }
  }

  private func takeDeferred(_ key: DocumentKey) -> DocumentRequest? {
    deferred.isEmpty ? nil : deferred.removeValue(forKey: key)
  }
}

/// Ranges that do not overlap, for looking up ids.
struct RangeSet {
  private var ranges: [String: [KeyRange]]

  init(_ ranges: [KeyRange]) {
    self.ranges = Dictionary(grouping: ranges, by: \.collection)
      .mapValues { $0.sorted { $0.from.lexicographicallyPrecedes($1.from) } }
  }

  func contains(_ collection: String, _ id: [UInt8]) -> Bool {
    guard let ranges = ranges[collection] else { return false }
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if id.lexicographicallyPrecedes(ranges[middle].from) { high = middle } else { low = middle + 1 }
    }
    return low > 0 && ranges[low - 1].contains(id)
  }
}

extension Sequence<DocumentKey> {
  /// In the order of collections, then of ids.
  func inOrder() -> [DocumentKey] {
    sorted { $0.collection != $1.collection ? $0.collection < $1.collection : $0.id < $1.id }
  }
}
