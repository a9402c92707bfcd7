import CRDTCore
import DocStore
import Failpoints

/// What the sender of a reconciliation has: the store under the receiver's interest, or a model of it.
protocol RespondingSet {
  /// Goes on with a walk, on what there is now.
  func advance(_ scan: inout RangeScan, budget: inout Int) throws(SyncError)
  /// What is known of a whole collection since the reconciliation began, without a walk.
  func digest(of collection: KeyRange) -> RangeDigest?
  /// At least as many documents as a collection has that do not match.
  func documentCount(of collection: String) throws(SyncError) -> UInt64
  /// Deletions of a collection of which only a certificate is left.
  func certificateCount(of collection: String) throws(SyncError) -> UInt64
  /// Documents of a range that do not match, from an id on, as far as the budget goes and one frame has room.
  func rest(
    of range: KeyRange, from cursor: [UInt8], budget: inout Int
  ) throws(SyncError) -> (items: [DocumentHash], next: [UInt8]?)
  /// Leave to show ids and counts of a collection; `nil` where the peer may not see them.
  func clear(_ collection: String) -> Cleared?
}

/// The sender's half of range-based set reconciliation: questions about ranges go in, answers come out.
///
/// It knows no session and no store. Source: Meyer, "Range-Based Set Reconciliation", SRDS 2023.
struct RangeResponder {
  /// A question that is being answered.
  private enum Task {
    /// With what the receiver told of what it holds, if it did.
    case compare(RangeQuestion, Fingerprint?, RangeScan)
    /// A range that is cut at bounds which are known.
    case parts(RangeQuestion, RangeScan)
    case rest(RangeQuestion, cursor: [UInt8])
  }

  private var tasks = WorkQueue<Task>()
  private var answers: [RangeAnswer] = []
  private var digests = RangeDigests()
  /// Certificates of the collections that were asked about, where there are any.
  private var certificates: [TextKey: UInt64] = [:]
  /// Records that were visited, and how many may be: honest questions cut ranges into ever smaller parts, and visit each record
  /// a few times.
  private var visited = 0
  private let mostVisited: Int

  /// Begins a reconciliation of a store that has so many records.
  init(records: Int = 0) {
    mostVisited = (records + SyncLimits.questions) * SyncLimits.visitsOfRecord
  }

  /// How many questions wait.
  var questionCount: Int { tasks.count }
  /// Questions and answers that wait.
  var pendingCount: Int { tasks.count + answers.count }
  /// Documents that are held of what was walked over.
  var heldCount: Int { digests.heldCount }

  /// The number of a document, if a walk over its whole collection has seen it and still holds it.
  func number(of id: DocumentID, in collection: String) -> DocumentNumber? {
    digests.digest(of: KeyRange(collection: collection))?.number(of: id)
  }

  /// Forgets what was walked over.
  mutating func forgetDigests() { digests = RangeDigests() }

  // MARK: - Questions

  /// Takes a question that calls for more than one word.
  mutating func take(_ question: RangeQuestion) {
    switch question.mode {
    case .compare(let theirs): tasks.append(.compare(question, theirs, RangeScan(question.range)))
    case .tell: tasks.append(.compare(question, nil, RangeScan(question.range)))
    case .rest: tasks.append(.rest(question, cursor: question.range.from))
    }
  }

  /// Answers a question about what the peer may not see.
  mutating func refuse(_ question: RangeQuestion) { answers.append(.nothing(for: question)) }

  /// Answers a question by the documents of its range, which follow.
  mutating func stream(_ question: RangeQuestion) { answers.append(.stream(question.request)) }

  // MARK: - Answers

  /// Answers what waits, as far as the budget of records goes, and hands the answers out in frames of about 64 KiB.
  ///
  /// - Throws: `limit` when the peer asks about the same ranges again and again.
  mutating func work(
    _ documents: some RespondingSet, budget: inout Int, send: (ArraySlice<RangeAnswer>) -> Void
  ) throws(SyncError) {
    let before = budget
    defer { visited += before - budget }
    guard visited <= mostVisited else {
      throw SyncError(.limit, "The peer asks about the same ranges again and again")
    }
    while budget > 0, let task = tasks.removeFirst() {
      switch task {
      case .compare(let question, let theirs, let scan):
        try compare(question, theirs, scan, documents, budget: &budget)
      case .parts(let question, let scan): try tellParts(question, scan, documents, budget: &budget)
      case .rest(let question, let cursor):
        try listRest(question, from: cursor, documents, budget: &budget)
      }
      if answers.count >= 32 { flush(send) }
    }
    flush(send)
  }

  /// Hands out the answers that wait.
  mutating func flush(_ send: (ArraySlice<RangeAnswer>) -> Void) {
    guard !answers.isEmpty else { return }
    let parts = answers.parts(of: 64 << 10) { answer in
      switch answer.body {
      case .equal, .stream: 12
      case .items(let items, _), .rest(let items, _): items.reduce(24) { $0 + $1.id.bytes.count + 11 }
      case .split(let parts): parts.reduce(24) { $0 + $1.to.count + 19 }
      }
    }
    for part in parts { send(part) }
    answers = []
  }

  private mutating func compare(
    _ question: RangeQuestion, _ theirs: Fingerprint?, _ scan: RangeScan, _ documents: some RespondingSet,
    budget: inout Int
  ) throws(SyncError) {
    let range = question.range
    if let digest = range.isWhole ? documents.digest(of: range) : digests.covering(range) {
      budget -= 1
      return try answer(question, theirs, digest, documents)
    }
    var scan = scan
    try documents.advance(&scan, budget: &budget)
    guard scan.isDone else { return tasks.prepend(.compare(question, theirs, scan)) }
    try answer(question, theirs, scan.digest, documents)
  }

  private mutating func answer(
    _ question: RangeQuestion, _ theirs: Fingerprint?, _ digest: RangeDigest, _ documents: some RespondingSet
  ) throws(SyncError) {
    let range = question.range
    let isKnown = digest.covers(range)
    let mine = isKnown ? digest.fingerprint(of: range) : digest.whole
    guard mine != theirs else { return answers.append(.equal(question.request)) }
    // Of one difference the place is found with few bytes; of many each would be asked about by itself in the end.
    let differsMuch = tasks.count >= SyncLimits.splitParts
    let listed = differsMuch ? SyncLimits.listedWhereMuchDiffers : SyncLimits.listedDocuments
    guard mine.count <= UInt64(listed) else {
      let bounds = digest.bounds(
        in: range, parts: SyncLimits.splitParts, least: differsMuch ? listed / 2 : 1)
      guard isKnown else { return tasks.prepend(.parts(question, RangeScan(range, bounds: bounds))) }
      digests.keep(digest)
      return tell(digest.fingerprints(of: range, cutAt: bounds), bounds, question, documents)
    }
    guard let cleared = documents.clear(range.collection) else { return refuse(question) }
    let others = try others(
      of: range.collection, in: isKnown ? digest.others(in: range) : digest.others, documents)
    answers.append(
      RangeAnswer(
        cleared, request: question.request, body: .items(digest.matches(in: range), others: others)))
  }

  /// What is held here of a collection, and in a range, that the receiver may hold copies of.
  private mutating func others(
    of collection: String, in range: UInt64, _ documents: some RespondingSet
  ) throws(SyncError) -> OtherDocuments {
    // Only what there are is kept: the first one may come while the peers compare.
    var count = certificates[collection] ?? 0
    if count == 0, !SyncDefect.certificatesNotAskedFor.isPlanted {
      count = try documents.certificateCount(of: collection)
      if count > 0 { certificates[collection] = count }
    }
    guard range > 0 || count > 0 else { return .none }
    return OtherDocuments(
      count: range, certificates: count, total: try documents.documentCount(of: collection))
  }

  private mutating func tellParts(
    _ question: RangeQuestion, _ scan: RangeScan, _ documents: some RespondingSet, budget: inout Int
  ) throws(SyncError) {
    var scan = scan
    try documents.advance(&scan, budget: &budget)
    guard scan.isDone else { return tasks.prepend(.parts(question, scan)) }
    tell(scan.fingerprints, scan.bounds, question, documents)
  }

  private mutating func tell(
    _ fingerprints: [Fingerprint], _ bounds: [[UInt8]], _ question: RangeQuestion,
    _ documents: some RespondingSet
  ) {
    guard let cleared = documents.clear(question.range.collection) else { return refuse(question) }
    let parts = zip(bounds + [[]], fingerprints).map { RangeAnswer.Part(to: $0, fingerprint: $1) }
    answers.append(RangeAnswer(cleared, request: question.request, body: .split(parts)))
  }

  /// Lists what is held here and does not match: the receiver may hold older copies that do.
  private mutating func listRest(
    _ question: RangeQuestion, from cursor: [UInt8], _ documents: some RespondingSet, budget: inout Int
  ) throws(SyncError) {
    let (items, next) = try documents.rest(of: question.range, from: cursor, budget: &budget)
    guard let cleared = documents.clear(question.range.collection) else { return refuse(question) }
    answers.append(RangeAnswer(cleared, request: question.request, body: .rest(items, isLast: next == nil)))
    if let next { tasks.prepend(.rest(question, cursor: next)) }
  }
}
