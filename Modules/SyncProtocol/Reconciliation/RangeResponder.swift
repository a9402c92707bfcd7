import CRDTCore
import DocStore
import Failpoints

/// The sender's documents in a reconciliation: the store under the receiver's interest, or a model of it.
protocol RespondingSet {
  /// Continues a scan on the current state.
  func advance(_ scan: inout RangeScan, budget: inout Int) throws(SyncError)
  /// Returns an existing digest of a whole collection that is valid for this reconciliation.
  func digest(of collection: KeyRange) -> RangeDigest?
  /// Returns an upper bound on the number of documents of a collection that do not match.
  func documentCount(of collection: String) throws(SyncError) -> UInt64
  /// Returns the number of compacted tombstones of a collection.
  func certificateCount(of collection: String) throws(SyncError) -> UInt64
  /// Returns documents of a range that do not match, from an id on, until the budget or one frame is used up.
  ///
  /// The frame already has `bytes` of them.
  func rest(
    of range: KeyRange, from start: [UInt8], after bytes: Int, budget: inout Int
  ) throws(SyncError) -> RestListing
  /// Returns permission to disclose ids and counts of a collection; `nil` if the peer must not see them.
  func clear(_ collection: String) -> Cleared?
}

/// Some documents of a range that do not match.
struct RestListing {
  var items: [DocumentHash] = []
  /// The id from which the listing goes on; `nil` at the end of the range.
  var next: [UInt8]?
  /// Whether the frame is full, and there is at least one more document to list.
  var isFull = false

  /// The bytes that documents take in a frame.
  static func byteCount(of items: [DocumentHash]) -> Int {
    items.reduce(0) { $0 + $1.id.bytes.count + 11 }
  }
}

/// The sender's half of range-based set reconciliation: questions about ranges go in, answers come out.
///
/// It does not depend on sessions or the store. Source: Meyer, "Range-Based Set Reconciliation", SRDS 2023.
struct RangeResponder {
  /// A question that is being answered.
  private enum Task {
    /// Compare with the receiver's fingerprint, if it sent one.
    case compare(RangeQuestion, Fingerprint?, RangeScan)
    /// Compute the fingerprints of the subranges between known bounds.
    case subranges(RangeQuestion, RangeScan)
    /// List what does not match, from an id on, after what is listed for the next answer.
    case rest(RangeQuestion, start: [UInt8], listed: [DocumentHash])
  }

  private var tasks = WorkQueue<Task>()
  private var answers: [RangeAnswer] = []
  private var digests = RangeDigests()
  /// The number of compacted tombstones by collection, for the collections that have any.
  private var certificates: [TextKey: UInt64] = [:]
  /// The number of visited records, and its limit.
  ///
  /// Honest questions divide ranges into ever smaller ones, and visit each record only a few times.
  private var visited = 0
  private let mostVisited: Int
  /// Whether answers and frames end only where they are full or complete, and not where a call ends.
  ///
  /// A call ends after some work. That would show how many documents there are which the peer may not read.
  private let cutsByContent: Bool

  /// Begins a reconciliation of a store with this number of records.
  init(records: Int = 0, cutsByContent: Bool = false) {
    mostVisited = (records + SyncLimits.questions) * SyncLimits.visitsOfRecord
    self.cutsByContent = cutsByContent
  }

  /// The number of pending questions.
  var questionCount: Int { tasks.count }
  /// The number of pending questions and answers.
  var pendingCount: Int { tasks.count + answers.count }
  /// The number of documents that the digests hold.
  var heldCount: Int { digests.heldCount }

  /// Returns the number of a document, if the digest of its whole collection holds it.
  func number(of id: DocumentID, in collection: String) -> DocumentNumber? {
    digests.digest(of: KeyRange(collection: collection))?.number(of: id)
  }

  /// Drops all digests.
  mutating func forgetDigests() { digests = RangeDigests() }

  // MARK: - Questions

  /// Queues a question that needs a scan or a digest.
  mutating func receive(_ question: RangeQuestion) {
    switch question.mode {
    case .compare(let theirs): tasks.append(.compare(question, theirs, RangeScan(question.range)))
    case .send: tasks.append(.compare(question, nil, RangeScan(question.range)))
    case .rest: tasks.append(.rest(question, start: question.range.from, listed: []))
    }
  }

  /// Answers a question as if nothing were held, since the peer must not see the collection.
  mutating func refuse(_ question: RangeQuestion) { answers.append(.nothing(for: question)) }

  /// Answers a question by announcing that all documents of its range will be sent.
  mutating func stream(_ question: RangeQuestion) { answers.append(.stream(question.request)) }

  // MARK: - Answers

  /// Answers pending questions until the budget of records is spent, in frames of about 64 KiB.
  ///
  /// - Throws: `limit` if the peer keeps asking about the same ranges.
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
      case .subranges(let question, let scan): try answerSubranges(question, scan, documents, budget: &budget)
      case .rest(let question, let start, let listed):
        try listRest(question, from: start, after: listed, documents, budget: &budget)
      }
      if answers.count >= 32 { flush(send) }
    }
    if !cutsByContent || tasks.isEmpty { flush(send) }
  }

  /// Sends the pending answers.
  mutating func flush(_ send: (ArraySlice<RangeAnswer>) -> Void) {
    guard !answers.isEmpty else { return }
    let chunks = answers.chunks(of: 64 << 10) { answer in
      switch answer.body {
      case .equal, .stream: 12
      case .items(let items, _), .rest(let items, _): items.reduce(24) { $0 + $1.id.bytes.count + 11 }
      case .split(let subranges): subranges.reduce(24) { $0 + $1.to.count + 19 }
      }
    }
    for chunk in chunks { send(chunk) }
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
    // A single difference is located with few bytes. With many differences, each would need a question of its
    // own in the end, so longer listings are cheaper.
    let differsMuch = tasks.count >= SyncLimits.splitRanges
    let listed = differsMuch ? SyncLimits.listedWhereMuchDiffers : SyncLimits.listedDocuments
    guard mine.count <= UInt64(listed) else {
      let bounds = digest.bounds(
        in: range, subranges: SyncLimits.splitRanges, least: differsMuch ? listed / 2 : 1)
      guard isKnown else { return tasks.prepend(.subranges(question, RangeScan(range, bounds: bounds))) }
      digests.keep(digest)
      return appendSplit(digest.fingerprints(of: range, cutAt: bounds), bounds, question, documents)
    }
    guard let cleared = documents.clear(range.collection) else { return refuse(question) }
    let others = try others(
      of: range.collection, in: isKnown ? digest.others(in: range) : digest.others, documents)
    answers.append(
      RangeAnswer(
        cleared, request: question.request, body: .items(digest.matches(in: range), others: others)))
  }

  /// Returns what this peer holds and does not send, of which the receiver may have copies.
  private mutating func others(
    of collection: String, in range: UInt64, _ documents: some RespondingSet
  ) throws(SyncError) -> OtherDocuments {
    // Zero is not cached, since the first compacted tombstone may arrive during the reconciliation.
    var count = certificates[collection] ?? 0
    if count == 0, !SyncDefect.certificatesNotAskedFor.isPlanted {
      count = try documents.certificateCount(of: collection)
      if count > 0 { certificates[collection] = count }
    }
    guard range > 0 || count > 0 else { return .none }
    return OtherDocuments(
      count: range, certificates: count, total: try documents.documentCount(of: collection))
  }

  private mutating func answerSubranges(
    _ question: RangeQuestion, _ scan: RangeScan, _ documents: some RespondingSet, budget: inout Int
  ) throws(SyncError) {
    var scan = scan
    try documents.advance(&scan, budget: &budget)
    guard scan.isDone else { return tasks.prepend(.subranges(question, scan)) }
    appendSplit(scan.fingerprints, scan.bounds, question, documents)
  }

  private mutating func appendSplit(
    _ fingerprints: [Fingerprint], _ bounds: [[UInt8]], _ question: RangeQuestion,
    _ documents: some RespondingSet
  ) {
    guard let cleared = documents.clear(question.range.collection) else { return refuse(question) }
    let subranges = zip(bounds + [[]], fingerprints).map { RangeAnswer.Subrange(to: $0, fingerprint: $1) }
    answers.append(RangeAnswer(cleared, request: question.request, body: .split(subranges)))
  }

  /// Lists documents that do not match here; the receiver may hold older states that match.
  private mutating func listRest(
    _ question: RangeQuestion, from start: [UInt8], after listed: [DocumentHash],
    _ documents: some RespondingSet, budget: inout Int
  ) throws(SyncError) {
    let found = try documents.rest(
      of: question.range, from: start, after: RestListing.byteCount(of: listed), budget: &budget)
    let items = listed + found.items
    if cutsByContent, let next = found.next, !found.isFull {
      return tasks.prepend(.rest(question, start: next, listed: items))
    }
    guard let cleared = documents.clear(question.range.collection) else { return refuse(question) }
    answers.append(
      RangeAnswer(cleared, request: question.request, body: .rest(items, isLast: found.next == nil)))
    if let next = found.next { tasks.prepend(.rest(question, start: next, listed: [])) }
  }
}
