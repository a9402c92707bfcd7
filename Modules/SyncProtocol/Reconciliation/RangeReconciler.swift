import CRDTCore

/// What the receiver of a reconciliation has: the store under its own interest, or a model of it.
protocol ReconcilingSet {
  /// Goes on with a walk, on what there is now.
  func advance(_ scan: inout RangeScan, budget: inout Int) throws(SyncError)
  /// Requests for those of listed documents that are not held in the listed state.
  func lacking(_ items: ArraySlice<DocumentHash>, of collection: String) throws(SyncError) -> [DocumentWant]
  /// Requests for those of listed documents that are held under the interest, in another state.
  func differing(_ items: ArraySlice<DocumentHash>, of collection: String) throws(SyncError) -> [DocumentWant]
  /// Documents that are held in a range and were not listed, from an id on, as far as the budget goes.
  func leftovers(
    of range: KeyRange, without listed: Set<DocumentID>, from cursor: [UInt8], budget: inout Int
  ) throws(SyncError) -> (haves: [DocumentHave], next: [UInt8]?)
  /// Leave to show what is held of a collection; `nil` where the sender may not know it.
  func clear(_ collection: String) -> Cleared?
  /// Whether other peers may have the same, so that the sender's count is to be known before all of a collection is asked for.
  var hasOtherPeers: Bool { get }
  /// Whether all of a collection may be asked for now, of which the sender has so many documents; where not, it is the caller
  /// that begins with the collection again.
  func mayAskForAll(of collection: String, count: UInt64?) -> Bool
  /// Whether so many leftovers are told one by one to a sender that holds so many others; where not, it is the caller that has
  /// all looked at that is held.
  func tellsOneByOne(_ leftovers: UInt64, of collection: String, facing others: UInt64) throws(SyncError)
    -> Bool
}

/// The receiver's half of range-based set reconciliation: answers go in, questions and requests come out.
///
/// Whatever the sender answers, it ends: each answer is about a part of what was asked. It knows no session and no store.
struct RangeReconciler {
  /// A piece of work, which may take several calls.
  private enum Task {
    /// Compute what is held in ranges that follow each other, then ask about those that may differ.
    case fingerprint(RangeScan, theirs: [Fingerprint]?)
    /// Compare a listing with what is held.
    case items(collection: String, ArraySlice<DocumentHash>)
    /// Tell of what is held in a range and was not listed, to a sender that holds so many others.
    case leftovers(KeyRange, listed: Set<DocumentID>, others: UInt64, cursor: [UInt8])
    /// Ask for what the sender has of documents held here in another state.
    case rest(collection: String, ArraySlice<DocumentHash>)
  }

  /// A question that the sender has not answered.
  private struct OpenQuestion {
    var range: KeyRange
    /// What is held here, told to the sender or not; `nil` when it was asked for the rest.
    var fingerprint: Fingerprint?
  }

  private var tasks = WorkQueue<Task>()
  private var open: [UInt64: OpenQuestion] = [:]
  private var nextRequest: UInt64 = 1
  private var digests = RangeDigests()
  /// Bytes of listings that the sender was asked for in place of being told, by collection.
  private var listedBytes: [TextKey: UInt64] = [:]
  /// Collections of which all that is held is looked at in place of telling what is left over.
  private var lookedAt: Set<TextKey> = []
  /// What waits to be sent.
  private var questions: [RangeQuestion] = []
  private(set) var wants: [DocumentWant] = []
  private(set) var haves: [DocumentHave] = []

  /// What has gathered.
  struct Output {
    var questions: [RangeQuestion] = []
    var wants: [DocumentWant] = []
    var haves: [DocumentHave] = []
  }

  // MARK: - Where it stands

  /// Whether there is something to do here.
  var hasTasks: Bool { !tasks.isEmpty }
  /// Whether answers are to come.
  var isWaiting: Bool { !open.isEmpty }
  /// Whether nothing is to do and nothing is to come.
  var isDone: Bool { tasks.isEmpty && open.isEmpty }
  /// Questions without an answer.
  var openCount: Int { open.count + questions.count }
  /// All that waits.
  var pendingCount: Int { tasks.count + openCount + wants.count + haves.count }
  /// Documents that are held of what was walked over.
  var heldCount: Int { digests.heldCount }

  /// What a walk over a whole collection has seen.
  func digest(of range: KeyRange) -> RangeDigest? { digests.digest(of: range) }

  /// Forgets what was walked over.
  mutating func forgetDigests() { digests = RangeDigests() }

  /// Forgets what was walked over of collections that have changed.
  mutating func forgetDigests(where isChanged: (String) -> Bool) { digests.forget(where: isChanged) }

  /// Lets go of what is to do; what was asked stays asked.
  mutating func removeTasks() { tasks.removeAll() }

  // MARK: - Beginning

  /// Forgets what went before, and compares collections.
  mutating func begin(_ collections: [String]) {
    self = RangeReconciler(nextRequest: nextRequest)
    for name in collections { compare(name) }
  }

  init() {}

  private init(nextRequest: UInt64) { self.nextRequest = nextRequest }

  /// Compares all of a collection.
  mutating func compare(_ collection: String) {
    tasks.append(.fingerprint(RangeScan(KeyRange(collection: collection)), theirs: nil))
  }

  // MARK: - Answers

  /// Takes an answer.
  ///
  /// - Throws: `outOfOrder` for one to what was not asked, `malformed` for one that lies outside its question.
  mutating func take(_ answer: RangeAnswer, _ documents: some ReconcilingSet, _ tuning: SyncTuning)
    throws(SyncError)
  {
    guard let question = open[answer.request] else {
      throw SyncError(.outOfOrder, "An answer to what was not asked")
    }
    if case .rest(_, isLast: false) = answer.body {} else { open[answer.request] = nil }
    let range = question.range
    switch (answer.body, question.fingerprint) {
    case (.equal, .some), (.stream, .some): break
    case (.items(let items, let others), .some(let mine)):
      guard items.allSatisfy({ range.contains($0.id.bytes) }) else { throw Self.outside }
      tasks.append(.items(collection: range.collection, items[...]))
      askForOthers(range, mine, items, others, documents, tuning)
    case (.split(let parts), .some):
      let bounds = parts.dropLast().map(\.to)
      guard bounds.allSatisfy({ $0 != range.from && range.contains($0) }) else { throw Self.outside }
      if range.isWhole {
        let count = parts.reduce(0 as UInt64) { $0.adding($1.fingerprint.count) }
        guard documents.mayAskForAll(of: range.collection, count: count) else { break }
      }
      tasks.append(.fingerprint(RangeScan(range, bounds: bounds), theirs: parts.map(\.fingerprint)))
    case (.rest(let items, _), .none):
      guard items.allSatisfy({ range.contains($0.id.bytes) }) else { throw Self.outside }
      tasks.append(.rest(collection: range.collection, items[...]))
    case (.equal, .none), (.stream, .none), (.items, .none), (.split, .none), (.rest, .some):
      throw SyncError(.outOfOrder, "An answer of another kind than its question")
    }
  }

  private static var outside: SyncError {
    SyncError(.malformed, "An answer names what lies outside its range")
  }

  /// What is held here and was not listed may be known to the sender in a newer state: tell it, or have it tell,
  /// whichever is shorter.
  private mutating func askForOthers(
    _ range: KeyRange, _ mine: Fingerprint, _ items: [DocumentHash], _ others: OtherDocuments,
    _ documents: some ReconcilingSet, _ tuning: SyncTuning
  ) {
    guard !others.isEmpty, mine.count > 0 else { return }
    guard documents.clear(range.collection) != nil else { return askForRest(range) }
    let all = others.total.adding(others.certificates)
    // Deletions of which only certificates are left cannot be listed.
    if others.certificates == 0, others.count < mine.count {
      let price = UInt64(FilterSize(count: all, others: mine.count, tuning).byteCount)
      let notice = Telling.Role.offers.noticeBytes
      let bytes = listedBytes[range.collection, default: 0].adding(others.count.multiplied(by: notice))
      if bytes <= max(price, tuning.freeNotices * notice) {
        listedBytes[range.collection, default: 0] = bytes
        return askForRest(range)
      }
    }
    tasks.append(.leftovers(range, listed: Set(items.map(\.id)), others: all, cursor: range.from))
  }

  // MARK: - Work

  /// Does what waits, as far as the budget of records goes and until so many questions are open.
  mutating func work(_ documents: some ReconcilingSet, mostOpen: Int, budget: inout Int) throws(SyncError) {
    while budget > 0, openCount < mostOpen, let task = tasks.removeFirst() {
      switch task {
      case .fingerprint(let scan, let theirs): try compare(scan, theirs, documents, budget: &budget)
      case .items(let collection, let items):
        let (now, rest) = Self.cut(items, &budget)
        wants += try documents.lacking(now, of: collection)
        if !rest.isEmpty { tasks.prepend(.items(collection: collection, rest)) }
      case .leftovers(let range, let listed, let others, let cursor):
        try tellLeftovers(range, listed, others, from: cursor, documents, budget: &budget)
      case .rest(let collection, let items):
        let (now, rest) = Self.cut(items, &budget)
        wants += try documents.differing(now, of: collection)
        if !rest.isEmpty { tasks.prepend(.rest(collection: collection, rest)) }
      }
    }
  }

  private static func cut(
    _ items: ArraySlice<DocumentHash>, _ budget: inout Int
  ) -> (ArraySlice<DocumentHash>, ArraySlice<DocumentHash>) {
    let now = items.prefix(max(budget, 1))
    budget -= now.count
    return (now, items.dropFirst(now.count))
  }

  /// Adds notices to those that have gathered.
  mutating func tell(_ found: [DocumentHave]) { haves += found }

  /// Hands out what has gathered.
  mutating func takeOutput() -> Output {
    defer { (questions, wants, haves) = ([], [], []) }
    return Output(questions: questions, wants: wants, haves: haves)
  }

  private mutating func compare(
    _ scan: RangeScan, _ theirs: [Fingerprint]?, _ documents: some ReconcilingSet, budget: inout Int
  ) throws(SyncError) {
    let range = scan.range
    let mine: [Fingerprint]
    if theirs != nil, let digest = digests.covering(range) {
      budget -= 1
      mine = digest.fingerprints(of: range, cutAt: scan.bounds)
    } else {
      var scan = scan
      try documents.advance(&scan, budget: &budget)
      guard scan.isDone else { return tasks.prepend(.fingerprint(scan, theirs: theirs)) }
      mine = scan.fingerprints
      digests.keep(scan.digest)
    }
    for (index, part) in zip(0..., range.parts(cutAt: scan.bounds)) where theirs?[index] != mine[index] {
      ask(about: part, holding: mine[index], documents)
    }
  }

  /// Asks about a range of which this is held here, telling as much of it as may be told.
  private mutating func ask(
    about range: KeyRange, holding mine: Fingerprint, _ documents: some ReconcilingSet
  ) {
    if mine.count == 0 {
      guard range.isWhole else { return ask(range, holding: mine, .everything(nextRequest, range)) }
      if documents.hasOtherPeers {
        return ask(range, holding: mine, .tell(nextRequest, range, isSecret: false))
      }
      guard documents.mayAskForAll(of: range.collection, count: nil) else { return }
      return ask(range, holding: mine, .everything(nextRequest, range))
    }
    if let cleared = documents.clear(range.collection) {
      return ask(
        range, holding: mine, RangeQuestion(cleared, request: nextRequest, range: range, holding: mine))
    }
    ask(range, holding: mine, .tell(nextRequest, range, isSecret: true))
  }

  private mutating func askForRest(_ range: KeyRange) {
    ask(range, holding: nil, .rest(nextRequest, range))
  }

  private mutating func ask(_ range: KeyRange, holding mine: Fingerprint?, _ question: RangeQuestion) {
    open[question.request] = OpenQuestion(range: range, fingerprint: mine)
    nextRequest = question.request + 1
    questions.append(question)
  }

  private mutating func tellLeftovers(
    _ range: KeyRange, _ listed: Set<DocumentID>, _ others: UInt64, from cursor: [UInt8],
    _ documents: some ReconcilingSet, budget: inout Int
  ) throws(SyncError) {
    // It is all looked at when the sender's filter is here.
    guard !lookedAt.contains(TextKey(range.collection)) else { return }
    let (found, next) = try documents.leftovers(of: range, without: listed, from: cursor, budget: &budget)
    if !found.isEmpty {
      guard try documents.tellsOneByOne(UInt64(found.count), of: range.collection, facing: others) else {
        lookedAt.insert(TextKey(range.collection))
        return
      }
      haves += found
    }
    if let next { tasks.prepend(.leftovers(range, listed: listed, others: others, cursor: next)) }
  }
}
