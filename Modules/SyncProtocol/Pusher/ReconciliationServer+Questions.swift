import CRDTCore
import DocStore

/// Answering questions.
extension ReconciliationServer {
  /// Receives questions of the current reconciliation.
  func receive(_ asked: [RangeQuestion]) throws(SyncError) {
    guard !reconciliation.isAsked else { throw SyncError(.outOfOrder, "Questions after the last one") }
    guard reconciliation.responder.questionCount + asked.count <= SyncLimits.questions else {
      throw SyncError(.limit, "The peer asks about too many ranges at once")
    }
    var isForecast = false
    for question in asked {
      guard !reconciliation.isVoid, peer.concerns(question.range.collection) else {
        reconciliation.responder.refuse(question)
        continue
      }
      noteNaming(question)
      guard case .compare(let theirs) = question.mode, theirs.count == 0 else {
        reconciliation.responder.receive(question)
        continue
      }
      // The receiver has nothing in this range, so the documents themselves are the shortest answer.
      guard askedCost < SyncLimits.wantedBytes else {
        throw SyncError(.limit, "The peer asks for too many ranges at once")
      }
      reconciliation.gatheredCost += 32
      reconciliation.responder.stream(question)
      let before = reconciliation.forecast.documents
      try stream(question.range)
      isForecast = isForecast || reconciliation.forecast.documents != before
    }
    if isForecast { sendForecast() }
  }

  /// Whether there is room for the requests that answers lead to.
  var mayAnswerQuestions: Bool { reconciliation.wantedCost < SyncLimits.wantedWhileAnswering }

  /// Records whether the peer may disclose the ids that it holds of a collection.
  private func noteNaming(_ question: RangeQuestion) {
    switch question.mode {
    case .send(isSecret: true): peer.unnamed.insert(TextKey(question.range.collection))
    case .send(isSecret: false): peer.unnamed.remove(TextKey(question.range.collection))
    case .compare(let theirs) where theirs.count > 0: peer.unnamed.remove(TextKey(question.range.collection))
    case .compare, .rest: break
    }
  }

  func answerQuestions(budget: inout Int) throws(SyncError) {
    let (number, context) = (reconciliation.number, context)
    func send(_ answers: ArraySlice<RangeAnswer>) {
      context.send(.answer) { out in
        out.writeVarint(number)
        out.writeVarint(answers.count)
        for answer in answers { answer.encode(to: &out) }
      }
    }
    guard mayAnswerQuestions else { return reconciliation.responder.flush(send) }
    try reconciliation.responder.work(InterestingDocuments(self), budget: &budget, send: send)
  }
}

/// The documents of the store under the receiver's interest.
private struct InterestingDocuments: RespondingSet {
  private let server: ReconciliationServer
  /// The last commit when the reconciliation began.
  private let start: UInt64

  init(_ server: ReconciliationServer) {
    self.server = server
    start = server.reconciliation.start
  }

  func advance(_ scan: inout RangeScan, budget: inout Int) throws(SyncError) {
    try server.context.advance(&scan, server.peer.interest, budget: &budget)
  }

  /// The digest from this peer's own reconciliation of the collection, if that is recent enough.
  func digest(of collection: KeyRange) -> RangeDigest? {
    server.ownDigest(collection, server.peer.interest, start)
  }

  func documentCount(of collection: String) throws(SyncError) -> UInt64 {
    guard server.context.access.partialRule(of: collection) == nil else { return ReadRule.statedCount }
    return try server.context.recordCount(of: collection)
  }

  func certificateCount(of collection: String) throws(SyncError) -> UInt64 {
    // One is told where the peer may not read all: the ids of compacted tombstones are not known.
    guard server.context.access.partialRule(of: collection) == nil else { return 1 }
    return try server.context.certificateCount(of: collection)
  }

  func rest(
    of range: KeyRange, from start: [UInt8], after heldBytes: Int, budget: inout Int
  ) throws(SyncError) -> RestListing {
    var found = RestListing()
    var (bytes, left) = (heldBytes, budget)
    try server.context.read { snapshot in
      guard let collection = try snapshot.collection(range.collection),
        let matcher = server.peer.interest.matcher(for: collection)
      else { return }
      try snapshot.forEachIntactRecord(
        in: collection, from: start, to: range.to.isEmpty ? nil : range.to,
        damaged: server.context.reportDamaged
      ) { _, id, summary, record in
        guard left > 0 else {
          found.next = id.copied
          return false
        }
        left -= 1
        guard !matcher.hides(id, record), !matcher.matches(id, record) else { return true }
        // It ends before a document that it lists, so that its end does not depend on any other.
        guard bytes < 48 << 10 else {
          (found.next, found.isFull) = (id.copied, true)
          return false
        }
        found.items.append(
          DocumentHash(id: DocumentID(trusted: id.copied), hash: Fingerprint.hash(id: id, summary: summary)))
        bytes += id.byteCount + 11
        return true
      }
    }
    budget = left
    return found
  }

  func clear(_ collection: String) -> Cleared? { server.context.gatekeeper?.clear(gathered: collection) }
}
