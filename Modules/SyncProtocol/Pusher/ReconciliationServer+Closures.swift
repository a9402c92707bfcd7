import CRDTCore
import DocStore
import Failpoints

/// The progress of a reconciliation through the closures, each of which is sent as a whole.
struct ClosurePass {
  /// The next closure to examine.
  var next = 0
  /// Whether the peer has sent its last question and request.
  ///
  /// Until then, only closures are sent that no further request can concern.
  var isLast = false
  /// Requested documents that are sent with their recent transactions once all requests are examined.
  ///
  /// Many of them may be sent together.
  var due = WorkQueue<StoredPlace>()
}

/// Sending the closures of old transactions, and requested documents with what binds them.
extension ReconciliationServer {
  /// Whether closures can be sent before the peer has sent its last question.
  var hasReadyClosures: Bool {
    sender.graph.isReady && reconciliation.pass.next < sender.graph.closureCount
      && !reconciliation.streams.isEmpty
  }

  /// Sends the next closures.
  ///
  /// - Returns: `false` when there are none now.
  func addClosures(budget: inout Int) throws(SyncError) -> Bool {
    guard sender.graph.isReady, reconciliation.pass.next < sender.graph.closureCount else { return false }
    if reconciliation.streams.isEmpty {
      guard reconciliation.pass.isLast else { return false }
      // Requested documents are sent individually, by the steps that follow.
      reconciliation.pass.next = sender.graph.closureCount
      return false
    }
    try sender.readSources { snapshot, sources in
      while budget > 0, sender.hasRoomToAdd, reconciliation.pass.next < sender.graph.closureCount {
        let closure = reconciliation.pass.next
        reconciliation.pass.next += 1
        budget -= 1
        guard !sender.graph.isSent(closure), try isDue(closure, &sources, snapshot) else { continue }
        let boundDocuments = sender.graph.boundDocuments(of: closure)
        guard try isReady(boundDocuments, &sources, snapshot) else { continue }
        try sender.send(boundDocuments, &sources, snapshot, budget: &budget)
      }
    }
    return true
  }

  /// Sends requested documents that recent transactions bind, unless they were sent along with another one.
  func addDue(budget: inout Int) throws(SyncError) {
    try sender.readSources { snapshot, sources in
      while budget > 0, sender.hasRoomToAdd, let place = reconciliation.pass.due.removeFirst() {
        budget -= 1
        guard sender.deferred[place] != nil else { continue }
        try sendBoundDocuments(around: place, &sources, snapshot, budget: &budget)
      }
    }
  }

  /// Sends the requested documents that waited for the peer's last question.
  ///
  /// - Returns: `false` when there is nothing left.
  func addDeferred(budget: inout Int) throws(SyncError) -> Bool {
    guard !sender.deferred.isEmpty else { return false }
    try sender.readSources { snapshot, sources in
      for place in sender.deferred.keys.sorted() where sender.deferred[place] != nil {
        guard budget > 0, sender.hasRoomToAdd else { return }
        budget -= 1
        try sendBoundDocuments(around: place, &sources, snapshot, budget: &budget)
        // Drop the request: the document was evicted.
        sender.deferred[place] = nil
      }
    }
    return true
  }

  /// Sends a document with its closure.
  func sendBoundDocuments(
    around place: StoredPlace, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction
  ) throws {
    var budget = Int.max
    try sendBoundDocuments(around: place, &sources, snapshot, budget: &budget)
  }

  private func sendBoundDocuments(
    around place: StoredPlace, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction,
    budget: inout Int
  ) throws {
    let boundDocuments = sender.graph.boundDocuments(around: [place])
    guard try isReady(boundDocuments, &sources, snapshot) else { return }
    try sender.send(boundDocuments, &sources, snapshot, budget: &budget)
  }

  /// Whether the peer may lack a part of a closure.
  private func isDue(
    _ closure: Int, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    for run in sender.graph.runs(of: closure) {
      if let source = try sources.source(run.collection, snapshot) {
        if case .nothing = source.streamed { continue }
        return true
      }
    }
    return false
  }

  /// Whether no more requests of the peer can concern the closure.
  private func isReady(
    _ boundDocuments: BoundDocuments, _ sources: inout Sources, _ snapshot: borrowing ReadTransaction
  ) throws -> Bool {
    guard !reconciliation.pass.isLast else { return true }
    for closure in boundDocuments.closures {
      for run in sender.graph.runs(of: closure) {
        if let source = try sources.source(run.collection, snapshot) {
          guard case .all = source.streamed else { return false }
        }
      }
    }
    return true
  }
}
