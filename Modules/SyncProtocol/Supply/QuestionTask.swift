import CRDTCore
import DocStore
import Failpoints

/// A question that is being answered.
enum QuestionTask {
  /// With what the receiver told of what it holds, if it did.
  case compare(RangeQuestion, Fingerprint?, RangeScan)
  /// A range that is cut at bounds which are known.
  case parts(RangeQuestion, RangeScan)
  case rest(RangeQuestion, cursor: [UInt8])
}

extension Supply {
  /// Takes a receiver's questions; those of a new reconciliation end the one before.
  func take(_ asked: [RangeQuestion], round: UInt64) throws(SyncError) {
    guard round >= self.round, generation != nil else {
      guard generation != nil else { throw SyncError(.outOfOrder, "Questions before an interest") }
      return
    }
    if round > self.round { try beginRound(round) }
    guard !isAsked else { throw SyncError(.outOfOrder, "Questions after the last one") }
    guard questions.count + asked.count <= SyncLimits.questions else {
      throw SyncError(.limit, "The peer asks about too many ranges at once")
    }
    for question in asked {
      guard !isRoundVoid, concerns(question.range.collection) else {
        answers.append(.nothing(for: question))
        continue
      }
      noteNaming(question)
      switch question.mode {
      case .compare(let theirs) where theirs.count == 0:
        // Nothing to compare with: the documents themselves are the shortest answer.
        guard askedCost < SyncLimits.wantedBytes else {
          throw SyncError(.limit, "The peer asks for too many ranges at once")
        }
        gatheredCost += 32
        answers.append(.stream(question.request))
        stream(question.range)
      case .compare(let theirs): questions.append(.compare(question, theirs, RangeScan(question.range)))
      case .tell: questions.append(.compare(question, nil, RangeScan(question.range)))
      case .rest: questions.append(.rest(question, cursor: question.range.from))
      }
    }
  }

  /// Whether there is room for what the peer asks for when it gets answers.
  var mayAnswerQuestions: Bool { wantedCost < SyncLimits.wantedWhileAnswering }

  /// Takes note whether the peer says what it holds of a collection.
  private func noteNaming(_ question: RangeQuestion) {
    switch question.mode {
    case .tell(isSecret: true): unnamed.insert(TextKey(question.range.collection))
    case .tell(isSecret: false): unnamed.remove(TextKey(question.range.collection))
    case .compare(let theirs) where theirs.count > 0: unnamed.remove(TextKey(question.range.collection))
    case .compare, .rest: break
    }
  }

  func answerQuestions(budget: inout Int) throws(SyncError) {
    let before = budget
    defer { visited += before - budget }
    guard visited <= mostVisited else {
      throw SyncError(.limit, "The peer asks about the same ranges again and again")
    }
    while budget > 0, mayAnswerQuestions, let task = questions.removeFirst() {
      switch task {
      case .compare(let question, let theirs, let scan): try compare(question, theirs, scan, budget: &budget)
      case .parts(let question, let scan): try tellParts(question, scan, budget: &budget)
      case .rest(let question, let cursor): try listRest(question, from: cursor, budget: &budget)
      }
      if answers.count >= 32 { flushAnswers() }
    }
    flushAnswers()
  }

  func flushAnswers() {
    guard !answers.isEmpty else { return }
    let parts = answers.parts(of: 64 << 10) { answer in
      switch answer.body {
      case .equal, .stream: 12
      case .items(let items, _), .rest(let items, _): items.reduce(24) { $0 + $1.id.bytes.count + 11 }
      case .split(let parts): parts.reduce(24) { $0 + $1.to.count + 19 }
      }
    }
    for part in parts {
      context.send(.answer) { out in
        out.writeVarint(round)
        out.writeVarint(part.count)
        for answer in part { answer.encode(to: &out) }
      }
    }
    answers = []
  }

  private func compare(
    _ question: RangeQuestion, _ theirs: Fingerprint?, _ scan: RangeScan, budget: inout Int
  ) throws(SyncError) {
    if let digest = digest(for: question.range) {
      budget -= 1
      return try answer(question, theirs, digest)
    }
    var scan = scan
    try context.advance(&scan, &interest, budget: &budget)
    guard scan.isDone else { return questions.prepend(.compare(question, theirs, scan)) }
    try answer(question, theirs, scan.digest)
  }

  /// What is known of a range since the reconciliation began: of a whole collection what this peer has just seen as it
  /// compares it, too.
  private func digest(for range: KeyRange) -> RangeDigest? {
    range.isWhole ? ownDigest(range, interest, log.compared) : digests.covering(range)
  }

  private func answer(
    _ question: RangeQuestion, _ theirs: Fingerprint?, _ digest: RangeDigest
  ) throws(SyncError) {
    let range = question.range
    let isKnown = digest.covers(range)
    let mine = isKnown ? digest.fingerprint(of: range) : digest.whole
    guard mine != theirs else { return answers.append(.equal(question.request)) }
    // Of one difference the place is found with few bytes; of many each would be asked about by itself in the end.
    let differsMuch = questions.count >= SyncLimits.splitParts
    let listed = differsMuch ? SyncLimits.listedWhereMuchDiffers : SyncLimits.listedDocuments
    guard mine.count <= UInt64(listed) else {
      let bounds = digest.bounds(
        in: range, parts: SyncLimits.splitParts, least: differsMuch ? listed / 2 : 1)
      guard isKnown else { return questions.prepend(.parts(question, RangeScan(range, bounds: bounds))) }
      digests.keep(digest)
      return tell(digest.fingerprints(of: range, cutAt: bounds), bounds, question)
    }
    guard let cleared = gatekeeper?.clear(range.collection) else {
      return answers.append(.nothing(for: question))
    }
    let others = try others(of: range.collection, in: isKnown ? digest.others(in: range) : digest.others)
    answers.append(
      RangeAnswer(
        cleared, request: question.request, body: .items(digest.matches(in: range), others: others)))
  }

  /// What is held here of a collection, and in a range, that the receiver may hold copies of.
  private func others(of collection: String, in range: UInt64) throws(SyncError) -> OtherDocuments {
    // Only what there are is kept: the first one may come while the peers compare.
    var count = certificates[collection] ?? 0
    if count == 0, !SyncDefect.certificatesNotAskedFor.isPlanted {
      count = try context.certificateCount(of: collection)
      if count > 0 { certificates[collection] = count }
    }
    guard range > 0 || count > 0 else { return .none }
    return OtherDocuments(count: range, certificates: count, total: try context.recordCount(of: collection))
  }

  private func tellParts(_ question: RangeQuestion, _ scan: RangeScan, budget: inout Int) throws(SyncError) {
    var scan = scan
    try context.advance(&scan, &interest, budget: &budget)
    guard scan.isDone else { return questions.prepend(.parts(question, scan)) }
    tell(scan.fingerprints, scan.bounds, question)
  }

  private func tell(_ fingerprints: [Fingerprint], _ bounds: [[UInt8]], _ question: RangeQuestion) {
    guard let cleared = gatekeeper?.clear(question.range.collection) else {
      return answers.append(.nothing(for: question))
    }
    let parts = zip(bounds + [[]], fingerprints).map { RangeAnswer.Part(to: $0, fingerprint: $1) }
    answers.append(RangeAnswer(cleared, request: question.request, body: .split(parts)))
  }

  /// Lists what is held here and does not match: the receiver may hold older copies that do.
  private func listRest(_ question: RangeQuestion, from cursor: [UInt8], budget: inout Int) throws(SyncError)
  {
    var interest = interest
    var items: [DocumentHash] = []
    var bytes = 0
    var left = budget
    var next: [UInt8]?
    let range = question.range
    try context.read { transaction in
      guard let collection = try transaction.collection(range.collection),
        let matcher = interest.matcher(for: collection)
      else { return }
      try transaction.forEachIntactRecord(
        in: collection, from: cursor, to: range.to.isEmpty ? nil : range.to, damaged: context.tellDamaged
      ) { _, id, summary, record in
        guard left > 0, bytes < 48 << 10 else {
          next = id.copied
          return false
        }
        left -= 1
        guard !matcher.matches(id, record) else { return true }
        items.append(
          DocumentHash(id: DocumentID(trusted: id.copied), hash: Fingerprint.hash(id: id, summary: summary)))
        bytes += id.byteCount + 11
        return true
      }
    }
    budget = left
    self.interest = interest
    guard let cleared = gatekeeper?.clear(range.collection) else {
      return answers.append(.nothing(for: question))
    }
    answers.append(RangeAnswer(cleared, request: question.request, body: .rest(items, isLast: next == nil)))
    if let next { questions.prepend(.rest(question, cursor: next)) }
  }
}
