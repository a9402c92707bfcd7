import CRDTCore

/// The receiver's documents in a reconciliation: the store under the receiver's interest, or a model of it.
protocol ReconcilingSet {
  /// Continues a scan on the current state.
  func advance(_ scan: inout RangeScan, budget: inout Int) throws(SyncError)
  /// Returns requests for those listed documents that are not held in the listed state.
  func lacking(_ items: ArraySlice<DocumentHash>, of collection: String) throws(SyncError) -> [DocumentWant]
  /// Returns requests for those listed documents that are held under the interest in another state.
  func differing(_ items: ArraySlice<DocumentHash>, of collection: String) throws(SyncError) -> [DocumentWant]
  /// Returns held documents of a range that were not listed, from an id on, until the budget is spent.
  func leftovers(
    of range: KeyRange, without listed: Set<DocumentID>, from start: [UInt8], budget: inout Int
  ) throws(SyncError) -> (haves: [DocumentHave], next: [UInt8]?)
  /// Returns permission to disclose what is held of a collection; `nil` if the sender must not learn it.
  func clear(_ collection: String) -> Cleared?
  /// Whether other peers may have the same documents.
  ///
  /// Then the sender's count must be known before a whole collection is requested.
  var hasOtherPeers: Bool { get }
  /// Returns whether a whole collection may be requested now; `count` is the sender's, if it is known.
  ///
  /// If not, the caller compares the collection again later.
  func mayAskForAll(of collection: String, count: UInt64?) -> Bool
  /// Returns whether to send a notice for each leftover, given how many other documents the sender holds.
  ///
  /// If not, the caller scans all held documents instead.
  func reportsOneByOne(_ leftovers: UInt64, of collection: String, facing others: UInt64) throws(SyncError)
    -> Bool
}

/// The receiver's half of range-based set reconciliation: answers go in, questions and requests come out.
///
/// It terminates whatever the sender answers, since each answer concerns a part of its question. It does not
/// depend on sessions or the store.
struct RangeReconciler {
  /// Work that may take several calls.
  private enum Task {
    /// Compute the fingerprints of adjacent ranges, then send questions about those that may differ.
    ///
    /// `missing` is how many documents the range was expected to lack.
    case fingerprint(RangeScan, theirs: [Fingerprint]?, missing: UInt64)
    /// Compare a listing with what is held; `missing` is how many documents it was expected to lack.
    case items(collection: String, ArraySlice<DocumentHash>, missing: UInt64)
    /// Send notices of held documents that were not listed; the sender holds `others` other documents.
    ///
    /// `found` are those whose notices do not fill a frame yet.
    case leftovers(
      KeyRange, listed: Set<DocumentID>, others: UInt64, start: [UInt8], found: [DocumentHave])
    /// Request listed documents that are held here in another state.
    case rest(collection: String, ArraySlice<DocumentHash>)
  }

  /// A question without an answer.
  private struct OpenQuestion {
    var range: KeyRange
    /// The fingerprint of what is held here, disclosed or not; `nil` for a question about the rest.
    var fingerprint: Fingerprint?
    /// How many documents the range is expected to lack here.
    var missing: UInt64
  }

  /// Whether output ends only where it fills frames or is complete, and not where a call ends.
  ///
  /// A call ends after some work. That would show how many documents are here which the sender may not read.
  private(set) var cutsByContent = false
  private var tasks = WorkQueue<Task>()
  private var open: [UInt64: OpenQuestion] = [:]
  private var nextRequest: UInt64 = 1
  private var digests = RangeDigests()
  /// By collection, the bytes of listings that were requested instead of sending notices.
  private var listedBytes: [TextKey: UInt64] = [:]
  /// Collections in which all held documents are scanned instead of sending notices of leftovers.
  private var lookedAt: Set<TextKey> = []
  /// Output that waits to be sent.
  private var questions: [RangeQuestion] = []
  private(set) var wants: [DocumentWant] = []
  private(set) var haves: [DocumentHave] = []
  /// Output that fills frames.
  private var full: [Output] = []
  /// How many documents are found or expected to be missing here, including those that have arrived since.
  ///
  /// Whole collections that the sender sends without requests are not counted.
  private(set) var missing: UInt64 = 0
  /// Whether the sender sends a whole collection without requests.
  private(set) var isOpenEnded = false

  /// Collected output.
  struct Output {
    var questions: [RangeQuestion] = []
    var wants: [DocumentWant] = []
    var haves: [DocumentHave] = []
  }

  // MARK: - Status

  /// Whether work is pending here.
  var hasTasks: Bool { !tasks.isEmpty }
  /// Whether answers are expected.
  var isWaiting: Bool { !open.isEmpty }
  /// Whether no work is pending and no answer is expected.
  var isDone: Bool { tasks.isEmpty && open.isEmpty }
  /// The number of questions without an answer, sent or not.
  var openCount: Int { open.count + questions.count }
  /// The number of pending tasks, questions, requests and notices.
  var pendingCount: Int { tasks.count + openCount + wants.count + haves.count }
  /// The number of documents that the digests hold.
  var heldCount: Int { digests.heldCount }

  /// Returns the digest of a scan over exactly this range.
  func digest(of range: KeyRange) -> RangeDigest? { digests.digest(of: range) }

  /// Drops all digests.
  mutating func forgetDigests() { digests = RangeDigests() }

  /// Drops the digests of collections that have changed.
  mutating func forgetDigests(where isChanged: (String) -> Bool) { digests.forget(where: isChanged) }

  /// Drops pending tasks; open questions stay open.
  mutating func removeTasks() { tasks.removeAll() }

  // MARK: - Beginning

  /// Drops all earlier state and starts to compare collections.
  mutating func begin(_ collections: [String], cutsByContent: Bool = false) {
    self = RangeReconciler(nextRequest: nextRequest)
    self.cutsByContent = cutsByContent
    for name in collections { compare(name) }
  }

  init() {}

  private init(nextRequest: UInt64) { self.nextRequest = nextRequest }

  /// Starts to compare a whole collection.
  mutating func compare(_ collection: String) {
    tasks.append(.fingerprint(RangeScan(KeyRange(collection: collection)), theirs: nil, missing: 0))
  }

  /// Asks for a listing of what the sender holds of a collection and does not send.
  mutating func listRest(of collection: String) { askForRest(KeyRange(collection: collection)) }

  // MARK: - Answers

  /// Receives an answer.
  ///
  /// - Throws: `outOfOrder` if there is no such question, `malformed` if the answer lies outside the
  ///   question's range.
  mutating func receive(_ answer: RangeAnswer, _ documents: some ReconcilingSet, _ tuning: SyncTuning)
    throws(SyncError)
  {
    guard let question = open[answer.request] else {
      throw SyncError(.outOfOrder, "An answer to what was not asked")
    }
    if case .rest(_, isLast: false) = answer.body {} else { open[answer.request] = nil }
    let range = question.range
    switch (answer.body, question.fingerprint) {
    case (.equal, .some): replaceMissing(question.missing, by: 0)
    case (.stream, .some): if range.isWhole { isOpenEnded = true }
    case (.items(let items, let others), .some(let mine)):
      guard items.allSatisfy({ range.contains($0.id.bytes) }) else { throw Self.outside }
      let more = UInt64(items.count) - min(mine.count, UInt64(items.count))
      replaceMissing(question.missing, by: more)
      tasks.append(.items(collection: range.collection, items[...], missing: more))
      askForOthers(range, mine, items, others, documents, tuning)
    case (.split(let subranges), .some):
      let bounds = subranges.dropLast().map(\.to)
      guard bounds.allSatisfy({ $0 != range.from && range.contains($0) }) else { throw Self.outside }
      if range.isWhole {
        let count = subranges.reduce(0 as UInt64) { $0.adding($1.fingerprint.count) }
        guard documents.mayAskForAll(of: range.collection, count: count) else {
          replaceMissing(question.missing, by: 0)
          break
        }
      }
      tasks.append(
        .fingerprint(
          RangeScan(range, bounds: bounds), theirs: subranges.map(\.fingerprint), missing: question.missing))
    case (.rest(let items, _), .none):
      guard items.allSatisfy({ range.contains($0.id.bytes) }) else { throw Self.outside }
      tasks.append(.rest(collection: range.collection, items[...]))
    case (.equal, .none), (.stream, .none), (.items, .none), (.split, .none), (.rest, .some):
      throw SyncError(.outOfOrder, "An answer of another kind than its question")
    }
  }

  /// Replaces how many documents a part was expected to lack, now that more is known of it.
  private mutating func replaceMissing(_ old: UInt64, by new: UInt64) {
    missing = (missing - min(old, missing)).adding(new)
  }

  private static var outside: SyncError {
    SyncError(.malformed, "An answer names what lies outside its range")
  }

  /// Handles held documents that the sender did not list, of which it may have newer states.
  ///
  /// This peer sends notices of its documents or requests a listing of the sender's, whichever takes fewer
  /// bytes.
  private mutating func askForOthers(
    _ range: KeyRange, _ mine: Fingerprint, _ items: [DocumentHash], _ others: OtherDocuments,
    _ documents: some ReconcilingSet, _ tuning: SyncTuning
  ) {
    guard !others.isEmpty, mine.count > 0 else { return }
    guard documents.clear(range.collection) != nil else { return askForRest(range) }
    let all = others.total.adding(others.certificates)
    // Compacted tombstones cannot be listed.
    if others.certificates == 0, others.count < mine.count {
      let price = UInt64(FilterSize(count: all, others: mine.count, tuning).byteCount)
      let notice = NoticeHalf.Role.offers.noticeBytes
      let bytes = listedBytes[range.collection, default: 0].adding(others.count.multiplied(by: notice))
      if bytes <= max(price, tuning.notices.freeNotices * notice) {
        listedBytes[range.collection, default: 0] = bytes
        return askForRest(range)
      }
    }
    tasks.append(
      .leftovers(range, listed: Set(items.map(\.id)), others: all, start: range.from, found: []))
  }

  // MARK: - Work

  /// Runs pending tasks until the budget of records is spent or `mostOpen` questions are open.
  mutating func work(_ documents: some ReconcilingSet, mostOpen: Int, budget: inout Int) throws(SyncError) {
    while budget > 0, openCount < mostOpen, let task = tasks.removeFirst() {
      switch task {
      case .fingerprint(let scan, let theirs, let missing):
        try compare(scan, theirs, missing, documents, budget: &budget)
      case .items(let collection, let items, let missing):
        let (now, rest) = Self.cut(items, &budget)
        let lacking = try documents.lacking(now, of: collection)
        wants += lacking
        // What is requested counts; what was expected of the others counts until all are compared.
        replaceMissing(rest.isEmpty ? missing : 0, by: UInt64(lacking.count))
        if !rest.isEmpty { tasks.prepend(.items(collection: collection, rest, missing: missing)) }
      case .leftovers(let range, let listed, let others, let start, let found):
        try reportLeftovers(range, listed, others, from: start, after: found, documents, budget: &budget)
      case .rest(let collection, let items):
        let (now, rest) = Self.cut(items, &budget)
        wants += try documents.differing(now, of: collection)
        if !rest.isEmpty { tasks.prepend(.rest(collection: collection, rest)) }
      }
      cutFull()
    }
  }

  private static func cut(
    _ items: ArraySlice<DocumentHash>, _ budget: inout Int
  ) -> (ArraySlice<DocumentHash>, ArraySlice<DocumentHash>) {
    let now = items.prefix(max(budget, 1))
    budget -= now.count
    return (now, items.dropFirst(now.count))
  }

  /// Adds notices to the collected output.
  mutating func report(_ found: [DocumentHave]) {
    haves += found
    cutFull()
  }

  /// Removes and returns the collected output, in the order in which it is to be sent.
  ///
  /// Where frames are cut by content, what does not fill a frame stays while work goes on that does not wait
  /// for answers, of which there are at most `mostOpen`.
  mutating func removeOutput(mostOpen: Int) -> [Output] {
    defer { full = [] }
    guard cutsByContent, hasTasks, openCount < mostOpen else {
      defer { (questions, wants, haves) = ([], [], []) }
      return full + [Output(questions: questions, wants: wants, haves: haves)]
    }
    return full
  }

  /// Sets aside what fills frames, so that the order does not depend on where a call ends.
  private mutating func cutFull() {
    guard cutsByContent else { return }
    while questions.count >= SyncLimits.cutQuestions {
      full.append(Output(questions: Array(questions.prefix(SyncLimits.cutQuestions))))
      questions.removeFirst(SyncLimits.cutQuestions)
    }
    while wants.count >= SyncLimits.cutNotices {
      full.append(Output(wants: Array(wants.prefix(SyncLimits.cutNotices))))
      wants.removeFirst(SyncLimits.cutNotices)
    }
    while haves.count >= SyncLimits.cutNotices {
      full.append(Output(haves: Array(haves.prefix(SyncLimits.cutNotices))))
      haves.removeFirst(SyncLimits.cutNotices)
    }
  }

  private mutating func compare(
    _ scan: RangeScan, _ theirs: [Fingerprint]?, _ expected: UInt64, _ documents: some ReconcilingSet,
    budget: inout Int
  ) throws(SyncError) {
    let range = scan.range
    let mine: [Fingerprint]
    if theirs != nil, let digest = digests.covering(range) {
      budget -= 1
      mine = digest.fingerprints(of: range, cutAt: scan.bounds)
    } else {
      var scan = scan
      try documents.advance(&scan, budget: &budget)
      guard scan.isDone else {
        return tasks.prepend(.fingerprint(scan, theirs: theirs, missing: expected))
      }
      mine = scan.fingerprints
      digests.keep(scan.digest)
    }
    replaceMissing(expected, by: 0)
    for (index, subrange) in zip(0..., range.subranges(cutAt: scan.bounds))
    where theirs?[index] != mine[index] {
      let (before, count) = (nextRequest, mine[index].count)
      ask(about: subrange, holding: mine[index], documents)
      // Equal counts differ in one document at least.
      guard let theirs, open[before] != nil else { continue }
      let more = max(theirs[index].count - min(count, theirs[index].count), 1)
      open[before]?.missing = more
      replaceMissing(0, by: more)
    }
  }

  /// Adds a question about a range, and discloses as much of what is held as the policy allows.
  private mutating func ask(
    about range: KeyRange, holding mine: Fingerprint, _ documents: some ReconcilingSet
  ) {
    if mine.count == 0 {
      guard range.isWhole else { return ask(range, holding: mine, .everything(nextRequest, range)) }
      if documents.hasOtherPeers {
        return ask(range, holding: mine, .send(nextRequest, range, isSecret: false))
      }
      guard documents.mayAskForAll(of: range.collection, count: nil) else { return }
      return ask(range, holding: mine, .everything(nextRequest, range))
    }
    if let cleared = documents.clear(range.collection) {
      return ask(
        range, holding: mine, RangeQuestion(cleared, request: nextRequest, range: range, holding: mine))
    }
    ask(range, holding: mine, .send(nextRequest, range, isSecret: true))
  }

  private mutating func askForRest(_ range: KeyRange) {
    ask(range, holding: nil, .rest(nextRequest, range))
  }

  private mutating func ask(_ range: KeyRange, holding mine: Fingerprint?, _ question: RangeQuestion) {
    open[question.request] = OpenQuestion(range: range, fingerprint: mine, missing: 0)
    nextRequest = question.request + 1
    questions.append(question)
  }

  private mutating func reportLeftovers(
    _ range: KeyRange, _ listed: Set<DocumentID>, _ others: UInt64, from start: [UInt8],
    after former: [DocumentHave], _ documents: some ReconcilingSet, budget: inout Int
  ) throws(SyncError) {
    // All held documents are scanned when the sender's filter arrives.
    guard !lookedAt.contains(TextKey(range.collection)) else { return }
    let (more, next) = try documents.leftovers(of: range, without: listed, from: start, budget: &budget)
    var found = former + more
    let size = cutsByContent ? SyncLimits.cutNotices : max(found.count, 1)
    while found.count >= size || next == nil && !found.isEmpty {
      let now = found.prefix(size)
      guard try documents.reportsOneByOne(UInt64(now.count), of: range.collection, facing: others) else {
        lookedAt.insert(TextKey(range.collection))
        return
      }
      haves += now
      found.removeFirst(now.count)
    }
    if let next {
      tasks.prepend(.leftovers(range, listed: listed, others: others, start: next, found: found))
    }
  }
}
