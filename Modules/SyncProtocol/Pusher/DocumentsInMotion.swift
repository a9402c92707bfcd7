import DocStore
import Failpoints

/// The documents in flight to the peer, and the rule to judge what the peer reports of them meanwhile.
///
/// What a peer reports of a document is judged against what the peer had when it reported it. This is the
/// last transaction of this direction that it had applied. Two peers that judged it against what has been
/// sent by now would send the same documents back and forth, or each rely on the other. This is rule 2 in
/// `Documentation/Sync.md`.
struct DocumentsInMotion {
  /// The state that the peer will have.
  private struct Sent {
    var hash: UInt64
    /// The name of the latest transaction with the document.
    var transaction: UInt64
    /// Whether the peer reaches the state by merging the transaction with its own write.
    var isConverged = false
    /// Whether the peer is sent the full state, which it can use with any local state.
    var isWhole = false
  }

  /// The judgement of what the peer reported of a document, against what is in flight to it.
  enum Verdict: Equatable {
    /// The peer had applied everything that was sent of the document: it lacks what is newer here.
    case lacking
    /// A transaction that the peer had not applied brings it the current state.
    case coming
    /// The peer reaches this state by itself.
    ///
    /// It merges its own write with a transaction that it had not applied.
    ///
    /// If tombstones were forgotten, it may reach another state.
    case converged(hash: UInt64)
  }

  private let tuning: SyncTuning
  private var sent: [DocumentKey: Sent] = [:]
  /// The place of each transaction among the transactions of this direction, from 1.
  ///
  /// For a transaction in segments, it is the place of the first segment.
  private var places: [UInt64: UInt64] = [:]
  /// How many of these transactions the peer has applied.
  private var appliedCount: UInt64 = 0
  /// Documents that both peers write, each with its remaining changes to send as deltas with a base version.
  private var contended: [DocumentKey: Int] = [:]
  /// Converged states that the peer is to verify, and the time of the first.
  private var converged: (offers: [DocumentKey: DocumentOffer], since: Duration) = ([:], .zero)
  /// Documents that the peer may get to hold although they do not match.
  ///
  /// Some left the interest with a change that overtook queued transactions with their earlier state. Others
  /// had waiting changes when the interest changed in their collections.
  private var overtaking: Set<DocumentName> = []

  init(_ tuning: SyncTuning) { self.tuning = tuning }

  // MARK: - What is sent

  /// Whether no document is in flight.
  var isEmpty: Bool { sent.isEmpty }

  func contains(_ key: DocumentKey) -> Bool { sent[key] != nil }

  /// Records that a document is sent in this state.
  mutating func insert(_ key: DocumentKey, hash: UInt64, transaction: UInt64, isWhole: Bool) {
    if sent.count >= tuning.documentsInMotion { makeRoom() }
    sent[key] = Sent(hash: hash, transaction: transaction, isWhole: isWhole)
    let count = sent.count
    check(
      .sync(9), count <= max(tuning.documentsInMotion, 1), phase: "sending",
      "\(count) documents are remembered as on their way")
  }

  /// Advances a document in flight to its next state, or forgets it when the peer is not sent that state.
  mutating func follow(_ key: DocumentKey, from before: UInt64?, to after: UInt64?, transaction: UInt64) {
    guard let state = sent[key] else { return }
    guard let before, let after, state.hash == before else { return sent[key] = nil }
    sent[key] = Sent(hash: after, transaction: transaction)
  }

  /// Records that a document of the peer was merged here.
  ///
  /// The peer computes the same state once it has the data in flight.
  mutating func meet(_ key: DocumentKey, from before: UInt64?, to after: UInt64?) {
    guard let state = sent[key], !(state.isConverged && state.hash == after) else { return }
    guard let before, let after, state.hash == before else { return sent[key] = nil }
    sent[key] = Sent(hash: after, transaction: state.transaction, isConverged: true)
  }

  /// Records transactions that were sent completely; the first has this place among the direction's
  /// transactions.
  ///
  /// The place is known before the peer acknowledges the transaction. So the peer's requests because of the
  /// transaction arrive after the place is known.
  mutating func noteSent(_ transactions: [UInt64], from first: UInt64) {
    guard !sent.isEmpty else { return }
    for (place, transaction) in zip(first..., transactions) where transaction != 0 {
      places[transaction] = places[transaction] ?? place
    }
    if places.count > tuning.documentsInMotion { forgetApplied() }
  }

  /// Records how many transactions the peer has applied.
  mutating func noteApplied(_ count: UInt64) { appliedCount = count }

  /// Whether a document's state is the one that was sent last.
  func holds(_ key: @autoclosure () -> DocumentKey, hash: @autoclosure () -> UInt64) -> Bool {
    !sent.isEmpty && sent[key()]?.hash == hash()
  }

  /// Judges what the peer reported of a document, by the current state here.
  ///
  /// The peer had applied `seen` transactions when it reported it.
  func judge(_ key: DocumentKey, hash: UInt64, seen: UInt64) -> Verdict {
    guard let state = sent[key], isAhead(state, of: seen) || SyncDefect.judgedByNow.isPlanted else {
      return .lacking
    }
    check(
      .sync(2), isAhead(state, of: seen), phase: "judging",
      "a transaction counts as on its way that the peer had applied, with \(seen) others")
    if state.isConverged { return .converged(hash: state.hash) }
    return state.hash == hash ? .coming : .lacking
  }

  /// Returns the transaction that brings the full and current state of a document to the peer; `nil` if none
  /// does.
  ///
  /// The peer had applied `seen` transactions when it requested the document.
  func transaction(with key: DocumentKey, hash: UInt64, seen: UInt64) -> UInt64? {
    guard let state = sent[key], state.isWhole, state.hash == hash, isAhead(state, of: seen) else {
      return nil
    }
    return state.transaction
  }

  private func isAhead(_ state: Sent, of seen: UInt64) -> Bool {
    places[state.transaction].map { seen < $0 } ?? true
  }

  /// Forgets a document of a transaction that is sent in another form, or not at all.
  mutating func remove(_ key: DocumentKey, of transaction: UInt64) {
    if sent[key]?.transaction == transaction { sent[key] = nil }
  }

  /// Forgets what is in flight: everything that the peer reports is answered.
  mutating func removeSent() {
    sent = [:]
    places = [:]
  }

  /// Makes room for at least a quarter of the documents.
  ///
  /// So the average time for each document is constant.
  private mutating func makeRoom() {
    forgetApplied()
    if sent.count > tuning.documentsInMotion / 4 * 3 { removeSent() }
  }

  private mutating func forgetApplied() {
    let last = appliedCount
    sent = sent.filter { (places[$0.value.transaction] ?? .max) > last }
    places = places.filter { $0.value > last }
  }

  // MARK: - Documents that both peers write

  /// The number of changes of a document that are sent as deltas after a request.
  private static let contendedChanges = 16

  /// Records that the peer has requested a live document, and so has another state of it.
  ///
  /// An operation delta applies to one state only, and costs a round trip where the peer has written
  /// meanwhile. So the next changes of the document are sent as deltas with a base version.
  mutating func contend(_ key: DocumentKey) {
    if contended.count >= tuning.contendedDocuments { contended = [:] }
    contended[key] = Self.contendedChanges
  }

  func isContended(_ key: @autoclosure () -> DocumentKey) -> Bool {
    !contended.isEmpty && contended[key()] != nil
  }

  /// Counts one change of a document.
  ///
  /// - Returns: Whether it is to be sent as a delta.
  mutating func countContended(_ key: @autoclosure () -> DocumentKey) -> Bool {
    guard !contended.isEmpty else { return false }
    let key = key()
    guard let left = contended[key] else { return false }
    contended[key] = left > 1 ? left - 1 : nil
    return true
  }

  // MARK: - Converged states

  /// The number of converged states to verify; only the last state of each document counts.
  var convergedCount: Int { converged.offers.count }
  /// When the first of them was recorded.
  var convergedSince: Duration { converged.since }

  /// Records that the peer reaches a state by itself, to be verified later.
  mutating func noteConverged(_ offer: DocumentOffer, of key: DocumentKey, now: Duration) {
    if converged.offers.isEmpty { converged.since = now }
    converged.offers[key] = offer
  }

  /// Removes and returns the converged states, by collection and id.
  mutating func removeConverged() -> [DocumentOffer] {
    defer { converged.offers = [:] }
    return converged.offers.values.sorted { ($0.collection, $0.item.id) < ($1.collection, $1.item.id) }
  }

  // MARK: - Documents that no longer match

  /// Whether a change with which documents leave the interest may be sent before waiting transactions.
  var mayOvertake: Bool { overtaking.count < tuning.contendedDocuments }
  /// Whether the peer may get to hold a document although it does not match.
  var hasOvertaking: Bool { !overtaking.isEmpty }

  /// Records that the peer may get to hold a document although it does not match.
  ///
  /// Requests for the document are answered like those of a holder.
  mutating func noteOvertaking(_ name: DocumentName) { overtaking.insert(name) }

  func isOvertaking(_ name: @autoclosure () -> DocumentName) -> Bool {
    !overtaking.isEmpty && overtaking.contains(name())
  }

  /// Records that the peer has applied everything.
  mutating func noteDrained() { if !overtaking.isEmpty { overtaking = [] } }

  /// Discards conclusions from data in flight, since what the peer has is in doubt.
  mutating func doubt() {
    removeSent()
    converged.offers = [:]
  }
}
